"""A rank's trace while it is read: nodes by their identity in the file, which may depend on nodes that come later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from traffic.traces.limits import MAXIMUM_DEPENDENCIES, MAXIMUM_NODES, NAME_CHARACTERS
from traffic.traces.model import Node, RankTrace, Work
from traffic.traces.places import mistake, shorten


class RankDraft:
    """Collects the nodes of one rank. Errors have the node's place.

    Attributes:
        left_out: what the file has and the trace has not, counted.
    """

    def __init__(self, rank: int, file: str) -> None:
        self.rank = rank
        self.file = file
        self.left_out: Counter[str] = Counter()
        self._nodes: list[tuple[str, str, str, Work]] = []
        self._position: dict[str, int] = {}
        self._after: list[list[str]] = []
        self._after_start: list[list[str]] = []
        self._optional: dict[int, Sequence[str]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def add(
        self,
        identity: str,
        name: str,
        place: str,
        work: Work,
        after: Sequence[str] = (),
        after_start: Sequence[str] = (),
        optional: Sequence[str] = (),
    ) -> None:
        """Add a node. `optional`: nodes that it comes after if the file has them."""
        if identity in self._position:
            raise mistake(self.file, place, f"expected one node {identity}, found a second one")
        if len(self._nodes) >= MAXIMUM_NODES:
            raise mistake(self.file, place, f"expected at most {MAXIMUM_NODES} nodes, found more")
        self._check_dependencies(len(after) + len(after_start) + len(optional), place)
        if optional:
            self._optional[len(self._nodes)] = optional
        self._position[identity] = len(self._nodes)
        self._nodes.append((identity, name[:NAME_CHARACTERS], place, work))
        self._after.append(list(after))
        self._after_start.append(list(after_start))

    def depend(self, identity: str, on: str, place: str, *, start: bool) -> None:
        """Let a node that is there come after another, as is said at `place`: after its end, or after its start."""
        position = self._position[identity]
        (self._after_start if start else self._after)[position].append(on)
        self._check_dependencies(len(self._after[position]) + len(self._after_start[position]), place)

    def _check_dependencies(self, count: int, place: str) -> None:
        if count > MAXIMUM_DEPENDENCIES:
            text = f"expected at most {MAXIMUM_DEPENDENCIES} dependencies of a node, found more"
            raise mistake(self.file, place, text)

    def __contains__(self, identity: str) -> bool:
        return identity in self._position

    def finish(self) -> RankTrace:
        """Return the trace. Raises TraceError for a dependency on a node that is not there, and for a circle."""
        nodes = tuple(self._node(position) for position in range(len(self._nodes)))
        trace = RankTrace(self.rank, self.file, nodes, dict(sorted(self.left_out.items())))
        _refuse_circles(trace)
        return trace

    def _node(self, position: int) -> Node:
        identity, name, place, work = self._nodes[position]
        after = dict.fromkeys(self._find(position, each) for each in self._after[position])
        for each in self._optional.get(position, ()):
            if each in self._position:
                after[self._position[each]] = None
            else:
                self.left_out["dependencies on calls that the file does not have"] += 1
        after_start = tuple(dict.fromkeys(self._find(position, each) for each in self._after_start[position]))
        return Node(identity, name, place, work, tuple(after), after_start)

    def _find(self, position: int, identity: str) -> int:
        found = self._position.get(identity)
        if found is None:
            name, _, place, _ = self._nodes[position]
            text = f"expected node {name} to depend on nodes of this file, found {shorten(identity)}, which is none"
            raise mistake(self.file, place, text)
        return found


def _refuse_circles(trace: RankTrace) -> None:
    """Take away nodes that nothing holds up, again and again; what is left waits for itself."""
    waiting = [len(node.after) + len(node.after_start) for node in trace.nodes]
    followers: list[list[int]] = [[] for _ in trace.nodes]
    for position, node in enumerate(trace.nodes):
        for before in (*node.after, *node.after_start):
            followers[before].append(position)
    free = [position for position, count in enumerate(waiting) if not count]
    while free:
        for follower in followers[free.pop()]:
            waiting[follower] -= 1
            if not waiting[follower]:
                free.append(follower)
    if any(waiting):
        circle = _circle(trace, {position for position, count in enumerate(waiting) if count})
        names = " after ".join(trace.nodes[position].identity for position in circle[:8])
        text = f"expected dependencies without a circle, found {names}{' after ...' if len(circle) > 8 else ''}"
        raise mistake(trace.file, trace.nodes[circle[0]].place, text)


def _circle(trace: RankTrace, stuck: set[int]) -> list[int]:
    """Return a way from a node back to itself: each of `stuck` comes after another of them."""
    position, seen = min(stuck), dict[int, int]()
    way: list[int] = []
    while position not in seen:
        seen[position] = len(way)
        way.append(position)
        node = trace.nodes[position]
        position = next(before for before in (*node.after, *node.after_start) if before in stuck)
    return [*way[seen[position] :], position]
