"""A plan as a picture of text: tiers from the top to the hosts, the links between them, then the addresses.

`layout` says where the switches stand; this draws them. Between two tiers, switches that are all linked with each other
hang on one bus. Several buses lie on levels, and a line that only passes a bus interrupts it: ``─│─``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testbed.fabric.address_table import address_table
from testbed.fabric.canvas import Canvas
from testbed.fabric.layout import DOTS, Layout, components, speed
from testbed.fabric.plan import FabricPlan
from testbed.units import format_size, format_time

WIDTH = 100
_BOX_ROWS = 3
_NOUNS = {
    "leaf-spine": (("leaf", "leaves"), ("spine", "spines")),
    "fat-tree": (("edge", "edges"), ("aggregation", "aggregations"), ("core", "cores")),
}
"""What the switches of each tier are called, one and many; elsewhere they are switches."""


def draw(plan: FabricPlan, width: int = WIDTH) -> str:
    """Return the picture, `width` columns wide at most, if that is 80 or more."""
    return "\n\n".join([_headline(plan), "\n".join(_Drawing(Layout(plan, width)).lines()), address_table(plan)])


def _headline(plan: FabricPlan) -> str:
    switch, nics = plan.switches[0], len(plan.hosts[0].nics)
    shape = [
        plan.topology,
        _count(len(plan.hosts), "host") + (f" with {nics} NICs each" if nics > 1 else ""),
        _count(len(plan.switches), "switch", "switches"),
        _count(len(plan.links), "link"),
    ]
    properties = [
        f"switch latency {format_time(switch.latency_ps)}, buffer {format_size(switch.buffer_bytes)}",
        *_oversubscription(plan),
        f"RoCE over IPv{plan.ip_version}",
    ]
    return " · ".join(shape) + "\n" + " · ".join(properties)


def _oversubscription(plan: FabricPlan) -> list[str]:
    """What the hosts of the first leaf can send, over what its other links can take."""
    down = up = 0
    for port in plan.switches[0].ports:
        rate_bps = plan.link_at[port.name].rate_bps
        if plan.far_end(port.name).node in plan.host_by_name:
            down += rate_bps
        else:
            up += rate_bps
    return [f"oversubscription {down / up:.3g}:1"] if up else []


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


_ARCH_ROWS = 2
"""What the link that closes a ring takes above the switches."""


class _Drawing:
    """Draws a layout, from the top tier down."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._canvas = Canvas()

    def lines(self) -> list[str]:
        row = _ARCH_ROWS if self._is_ring else 0
        for tier in reversed(range(len(self._layout.tiers))):
            self._tier(tier, row)
            row += _BOX_ROWS
            if tier:
                row += self._links_below(tier, row)
        self._hosts(row)
        return self._canvas.lines()

    def _tier(self, tier: int, row: int) -> None:
        layout = self._layout
        nouns = _NOUNS.get(layout.plan.topology)
        self._canvas.text(
            row + 1, 1, _count(len(layout.tiers[tier]), *(nouns[tier] if nouns else ("switch", "switches")))
        )
        for name in layout.tiers[tier]:
            if name in layout.boxes:
                self._canvas.box(row, layout.boxes[name].left, layout.boxes[name].width, layout.ranges.get(name, name))
        for column in layout.dots.get(tier, ()):
            self._canvas.text(row + 1, column, DOTS)
        self._peer_links(tier, row)

    @property
    def _is_ring(self) -> bool:
        return len(self._layout.between.get((0, 0), ())) > 1

    def _peer_links(self, tier: int, row: int) -> None:
        """Draw the links within a tier from box to box: one with its speed on it, those of a ring with it beside."""
        layout = self._layout
        links = layout.between.get((tier, tier), ())
        for link in links:
            boxes = [layout.boxes[end.node] for end in (link.a, link.b) if end.node in layout.boxes]
            if len(boxes) < 2:
                continue
            first, second = sorted(boxes, key=lambda box: box.left)
            if layout.are_neighbours(first, second):
                self._canvas.horizontal(row + 1, first.right - 1, second.left)
            else:
                self._arch(first.middle, second.middle, row)
            if len(links) == 1:
                label = speed(links)
                self._canvas.text(row, first.right + (second.left - first.right - len(label)) // 2, label)
        if self._is_ring and tier == 0:
            self._caption(row - _ARCH_ROWS, len(links), speed(links))

    def _arch(self, left: int, right: int, row: int) -> None:
        """Draw the link that closes a ring, above the boxes."""
        self._canvas.horizontal(row - _ARCH_ROWS, left, right)
        for column in (left, right):
            self._canvas.vertical(column, row - _ARCH_ROWS, row)

    def _links_below(self, tier: int, row: int) -> int:
        """Draw the links between `tier` and the one below it, from `row` on; return how many rows they take."""
        links = self._layout.between[(tier - 1, tier)]
        nodes = [*self._layout.tiers[tier], *self._layout.tiers[tier - 1]]
        groups = [
            [node for node in nodes if node in group and node in self._layout.boxes]
            for group in components(nodes, links)
        ]
        groups = [group for group in groups if len(group) > 1]
        columns = self._attachments(groups, tier)
        levels = _levels([_extent(group, columns) for group in groups])
        for group, level in zip(groups, levels, strict=True):
            self._canvas.horizontal(row + 1 + level, *_extent(group, columns))
        for group, level in zip(groups, levels, strict=True):
            for node in group:
                self._hang(columns[node], self._layout.tier_of[node] == tier, row, level, max(levels) + 1)
        self._caption(row, len(links), speed(links))
        return max(levels) + 3

    def _attachments(self, groups: Sequence[Sequence[str]], tier: int) -> dict[str, int]:
        """The column in which each switch hangs on its bus. Where buses have levels, a lower switch steps aside from
        the column of an upper one, as their lines would run into each other."""
        columns = {node: self._layout.boxes[node].middle for group in groups for node in group}
        if max(_levels([_extent(group, columns) for group in groups])) == 0:
            return columns
        uppers = {column for node, column in columns.items() if self._layout.tier_of[node] == tier}
        return {
            node: column + 1 if self._layout.tier_of[node] != tier and column in uppers else column
            for node, column in columns.items()
        }

    def _hang(self, column: int, is_upper: bool, row: int, level: int, depth: int) -> None:
        """Draw the line from a switch to its bus; it bridges the levels between."""
        bus = row + 1 + level
        top, bottom = (row - 1, bus) if is_upper else (bus, row + depth + 2)
        self._canvas.vertical(column, top, bottom)
        for crossed in range(row + 1, bus) if is_upper else range(bus + 1, row + 1 + depth):
            self._canvas.bridge(crossed, column)

    def _hosts(self, row: int) -> None:
        for leaf in self._layout.leaves:
            box = self._layout.boxes[leaf.name]
            left = box.left + (box.width - leaf.step * len(leaf.labels)) // 2
            for index, label in enumerate(leaf.labels):
                middle = left + index * leaf.step + leaf.step // 2
                self._canvas.vertical(middle, row - 1, row)
                self._canvas.text(row + 1, middle - len(label) // 2, label)
        links = self._layout.between[(-1, 0)]
        self._caption(row, len(links), speed(links))

    def _caption(self, row: int, links: int, links_speed: str) -> None:
        self._canvas.text(row, 1, _count(links, "link"))
        self._canvas.text(row + 1, 1, links_speed)


def _extent(group: Iterable[str], columns: dict[str, int]) -> tuple[int, int]:
    """The first and the last column of a bus."""
    known = [columns[node] for node in group]
    return min(known), max(known)


def _levels(buses: Sequence[tuple[int, int]]) -> list[int]:
    """Give each bus the first level on which it touches no other."""
    taken: list[list[tuple[int, int]]] = []
    levels = []
    for left, right in buses:
        level = next((i for i, row in enumerate(taken) if all(right < a or b < left for a, b in row)), len(taken))
        if level == len(taken):
            taken.append([])
        taken[level].append((left, right))
        levels.append(level)
    return levels
