"""Where the nodes of a plan stand in its picture: a column for each switch, and what is left out.

Leaves stand side by side in the order of the plan, each with its hosts below. A *unit* is a set of leaves that share
the switches above them: a pod of a fat tree, all leaves of a leaf-spine. Switches of tier 1 are spread over their unit,
those of higher tiers over everything. What does not fit is folded: first each leaf's hosts into one range, then whole
units, or leaves of a single unit, into ``...``; of the tiers above, switches that lead to the same ones into one box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from testbed.fabric.plan import FabricPlan, Link
from testbed.units import format_rate, format_time

GUTTER = 18
DOTS = "..."
_GAP = 2


@dataclass(frozen=True)
class Leaf:
    """A leaf, the `labels` of its hosts (each host, or one range), the `step` of columns from label to label, and the
    `least` width of its box."""

    name: str
    labels: tuple[str, ...]
    step: int
    least: int

    @property
    def width(self) -> int:
        return max(self.least, self.step * len(self.labels) + 1)


@dataclass(frozen=True)
class Box:
    """Where a switch is drawn."""

    left: int
    width: int

    @property
    def middle(self) -> int:
        return self.left + self.width // 2

    @property
    def right(self) -> int:
        """The column after the box's last."""
        return self.left + self.width


class Layout:
    """The places of a plan's nodes on a sheet `width` columns wide.

    Attributes:
        tiers: all switches, by tier.
        between: the links, by the tiers of their ends (lower first; hosts are tier -1).
        leaves: the leaves that are shown; boxes: the place of every switch that is shown.
        dots: by tier, the columns at which switches are left out.
        ranges: the text in a box that stands for several switches, by the first of them.
    """

    def __init__(self, plan: FabricPlan, width: int) -> None:
        self.plan = plan
        self.tier_of = {switch.name: switch.tier for switch in plan.switches}
        top = max(self.tier_of.values())
        self.tiers = [[name for name, its in self.tier_of.items() if its == tier] for tier in range(top + 1)]
        self.between: dict[tuple[int, int], list[Link]] = {}
        for link in plan.links:
            lower, upper = sorted(self.tier_of.get(end.node, -1) for end in (link.a, link.b))
            self.between.setdefault((lower, upper), []).append(link)
        self.leaves: list[Leaf] = []
        self.boxes: dict[str, Box] = {}
        self.dots: dict[int, list[int]] = {}
        self.ranges: dict[str, str] = {}
        self._area = width - GUTTER
        self._pods = components(self.tiers[0], self.between.get((0, 1), ()))
        self._place_leaves()
        for tier in range(1, len(self.tiers)):
            self._place_tier(tier)

    # --- leaves

    def _place_leaves(self) -> None:
        units, left_out_before = self._fitting_units()
        column = GUTTER
        for index in range(len(units) + 1):
            if index == left_out_before:
                self.dots[0] = [column]
                column += len(DOTS) + self._unit_gap()
            if index < len(units):
                width = self._unit_width(units[index])
                self._place_unit(units[index], column + (width - _row_width(units[index])) // 2)
                column += width + self._unit_gap()

    def _place_unit(self, unit: Sequence[Leaf], column: int) -> None:
        for leaf in unit:
            self.boxes[leaf.name] = Box(column, leaf.width)
            self.leaves.append(leaf)
            column += leaf.width + _GAP

    def _fitting_units(self) -> tuple[list[list[Leaf]], int | None]:
        """Return the units to show, and before which of them some are left out (their number: after the last)."""
        for fold_hosts in (False, True):
            units = self._units(fold_hosts)
            if self._total(units) <= self._area:
                return units, None
        area = self._area - len(DOTS) - self._unit_gap()
        if self._total(units[:1]) > area:
            units = [[leaf] for leaf in units[0]]
        for number in range(len(units) - 1, 1, -1):
            chosen = [*units[: number - 1], units[-1]]
            if self._total(chosen) <= area:
                return chosen, number - 1
        return units[:1], 1

    def _units(self, fold_hosts: bool) -> list[list[Leaf]]:
        labels = {name: self._labels(name, fold_hosts) for name in self.tiers[0]}
        step = max((len(label) for row in labels.values() for label in row), default=0) + 1
        least = max(box_width(name) for name in self.tiers[0])
        return [[Leaf(name, labels[name], step, least) for name in self.tiers[0] if name in pod] for pod in self._pods]

    def _labels(self, leaf: str, fold_hosts: bool) -> tuple[str, ...]:
        hosts = tuple(dict.fromkeys(nic.host for nic in self.plan.nics_of.get(leaf, ())))
        return (f"{hosts[0]}-{hosts[-1]}",) if fold_hosts and len(hosts) > 1 else hosts

    def _unit_width(self, unit: Sequence[Leaf]) -> int:
        """What a unit needs: its leaves, or its own switches of tier 1 where it has such."""
        pod = next(pod for pod in self._pods if unit[0].name in pod)
        is_whole = {leaf.name for leaf in unit} == pod & set(self.tiers[0])
        above = [box_width(name) + _GAP for name in pod if self.tier_of[name] == 1 and len(self._pods) > 1 and is_whole]
        return max(_row_width(unit), sum(above) - _GAP)

    def _unit_gap(self) -> int:
        """The room between units: for the text on a link between leaves, or for the bare links of a ring."""
        peers = self.between.get((0, 0), ())
        return _GAP + 2 * bool(peers) if len(peers) != 1 else len(speed(peers)) + 6

    def are_neighbours(self, first: Box, second: Box) -> bool:
        """Whether nothing stands between two boxes of one tier, from left to right."""
        others = [box.left for box in self.boxes.values()] + [column for row in self.dots.values() for column in row]
        return not any(first.left < column < second.left for column in others)

    def _total(self, units: Sequence[Sequence[Leaf]]) -> int:
        return sum(self._unit_width(unit) + self._unit_gap() for unit in units) - self._unit_gap()

    # --- tiers above

    def _place_tier(self, tier: int) -> None:
        below = [name for name in self.boxes if self.tier_of[name] == tier - 1]
        if tier > 1 or len(self._pods) == 1:
            self._spread(tier, self.tiers[tier], below)
            return
        for pod in self._pods:
            leaves = [name for name in below if name in pod]
            if leaves:
                self._spread(tier, [name for name in self.tiers[tier] if name in pod], leaves)

    def _spread(self, tier: int, names: Sequence[str], below: Sequence[str]) -> None:
        """Spread `names` evenly over the boxes `below`; where there are too many for the sheet, leave some out."""
        width = max(box_width(name) for name in names)
        fitting = max(self._area // (width + 1), 3)
        if len(names) > fitting and tier > 1:
            names, width = self._ranged(tier)
            fitting = max(self._area // (width + 1), 3)
        shown = list(names) if len(names) <= fitting else [*names[: fitting - 2], DOTS, names[-1]]
        left = min(self.boxes[name].left for name in below)
        right = max(self.boxes[name].right for name in below)
        room = max(right - left, len(shown) * (width + 1))
        left = max(GUTTER, left - (room - (right - left)) // 2)
        for index, name in enumerate(shown):
            middle = left + (2 * index + 1) * room // (2 * len(shown))
            if name == DOTS:
                self.dots.setdefault(tier, []).append(middle - 1)
            else:
                self.boxes[name] = Box(middle - width // 2, width)

    def _ranged(self, tier: int) -> tuple[list[str], int]:
        """Fold switches of a tier that lead to the same ones into one box each; return their first ones and a width."""
        groups = components([*self.tiers[tier], *self.tiers[tier - 1]], self.between[(tier - 1, tier)])
        rows = [[name for name in self.tiers[tier] if name in group] for group in groups]
        self.ranges = {row[0]: f"{row[0]}-{_number(row[-1])}" for row in rows if len(row) > 1}
        firsts = [row[0] for row in rows if row]
        return firsts, max(box_width(self.ranges.get(name, name)) for name in firsts)


def _number(name: str) -> str:
    """``core7`` -> ``7``"""
    return name[len(name.rstrip("0123456789")) :]


def _row_width(unit: Sequence[Leaf]) -> int:
    return sum(leaf.width + _GAP for leaf in unit) - _GAP


def box_width(name: str) -> int:
    """The width of a box around `name`."""
    return len(name) + 4


def speed(links: Iterable[Link]) -> str:
    """Return ``100Gbps, 500ns`` if all `links` are so."""
    speeds = {(link.rate_bps, link.delay_ps) for link in links}
    if len(speeds) > 1:
        return "different rates"
    rate_bps, delay_ps = speeds.pop()
    return f"{format_rate(rate_bps)}, {format_time(delay_ps)}"


def components(names: Sequence[str], links: Iterable[Link]) -> list[set[str]]:
    """Group nodes that links join, in the order of `names`; a node without links is a group of its own."""
    group_of = {name: {name} for name in names}
    for link in links:
        first, second = (group_of.setdefault(end.node, {end.node}) for end in (link.a, link.b))
        if first is not second:
            first |= second
            group_of.update(dict.fromkeys(second, first))
    return list({id(group): group for group in group_of.values()}.values())
