"""The graph of a whole trace: what must come before what over all ranks, and how long that takes at the least.

Each node starts, and ends. A receive ends after its send. Collectives of a group come one after the other at each rank,
as on the one stream that a group has there. What is left of time with a network that takes none is the longest way
through the calculations: the critical path.

A collective counts twice. Whether all ranks can go on must not depend on how it is carried out: for that, nobody ends
it before everyone has come to it. For the length, a rank waits for those alone whose data it needs (`waiting`), so that
no replay can be faster.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from traffic.traces.matching import At, Matching, Together
from traffic.traces.model import Compute, Trace
from traffic.traces.places import mistake
from traffic.traces.waiting import waits


@dataclass(frozen=True, slots=True)
class Order:
    """`critical_path_ps`: the longest way through the calculations; the rank and node in which it ends."""

    critical_path_ps: int
    ends_at: At | None


class _Graph:
    """Vertices, each with those that come after it: the start (2 k) and the end (2 k + 1) of the k-th node of all, then
    those where members of a collective meet. Some of these hold nobody up: they are `timeless`."""

    def __init__(self, trace: Trace, matching: Matching, bytes_factor: Fraction) -> None:
        self._trace = trace
        self._first = [0, *accumulate(len(rank.nodes) for rank in trace.ranks)]
        self.nodes = self._first[-1]
        self.after: list[list[int]] = [[] for _ in range(2 * self.nodes)]
        self.timeless: set[int] = set()
        self._connect(matching)
        for together in matching.collectives:
            self._join(together, bytes_factor)

    def end_of(self, vertex: int) -> int | None:
        """Return the end of the node whose start a vertex is; None if it is no start."""
        return vertex + 1 if vertex < 2 * self.nodes and vertex % 2 == 0 else None

    def node(self, vertex: int) -> At:
        """Return whose start or end a vertex is."""
        rank = bisect_right(self._first, vertex // 2) - 1
        return rank, vertex // 2 - self._first[rank]

    def _start(self, rank: int, position: int) -> int:
        return 2 * (self._first[rank] + position)

    def _end(self, rank: int, position: int) -> int:
        return self._start(rank, position) + 1

    def _connect(self, matching: Matching) -> None:
        for rank in self._trace.ranks:
            for position, node in enumerate(rank.nodes):
                start = self._start(rank.rank, position)
                self.after[start].append(start + 1)
                for before in node.after:
                    self.after[self._end(rank.rank, before)].append(start)
                for before in node.after_start:
                    self.after[self._start(rank.rank, before)].append(start)
        for message in matching.messages:
            self.after[self._end(*message.send)].append(self._end(*message.receive))
        for earlier, later in zip(matching.collectives, matching.collectives[1:], strict=False):
            if earlier.work.group == later.work.group:
                for one, two in zip(self._nodes_of(earlier), self._nodes_of(later), strict=True):
                    self.after[self._end(*one)].append(self._start(*two))

    def _nodes_of(self, together: Together) -> list[At]:
        return list(zip(together.members, together.positions, strict=True))

    def _join(self, together: Together, bytes_factor: Fraction) -> None:
        nodes = self._nodes_of(together)
        for sources, destinations in waits(self._trace, together, bytes_factor):
            if len(sources) == len(destinations) == len(nodes):
                self._meet(nodes, nodes)
                return
            self._meet([nodes[index] for index in sources], [nodes[index] for index in destinations])
        self.timeless.add(self._meet(nodes, nodes))

    def _meet(self, sources: Sequence[At], destinations: Sequence[At]) -> int:
        """Add the vertex that lets `destinations` end when all `sources` have started."""
        vertex = len(self.after)
        self.after.append([self._end(*each) for each in destinations])
        for each in sources:
            self.after[self._start(*each)].append(vertex)
        return vertex


def order(
    trace: Trace,
    matching: Matching,
    durations_ps: Sequence[Sequence[int]] | None = None,
    bytes_factor: Fraction = Fraction(1),
) -> Order:
    """Return how long the calculations take; `durations_ps`: of each rank's nodes, none: as in the trace; the sizes of
    collectives are scaled by `bytes_factor`.

    Raises TraceError when ranks wait for each other in a circle.
    """
    graph = _Graph(trace, matching, bytes_factor)
    durations = _durations(trace) if durations_ps is None else [each for rank in durations_ps for each in rank]
    waiting = [0] * len(graph.after)
    for followers in graph.after:
        for follower in followers:
            waiting[follower] += 1
    times = [0] * len(graph.after)
    free = [vertex for vertex, count in enumerate(waiting) if not count]
    latest, last = 0, -1
    while free:
        vertex = free.pop()
        time = 0 if vertex in graph.timeless else times[vertex]
        if time > latest:
            latest, last = time, vertex
        own_end = graph.end_of(vertex)
        for follower in graph.after[vertex]:
            comes = time + durations[vertex // 2] if follower == own_end else time
            times[follower] = max(times[follower], comes)
            waiting[follower] -= 1
            if not waiting[follower]:
                free.append(follower)
    stuck = {graph.node(vertex) for vertex, count in enumerate(waiting[: 2 * graph.nodes]) if count}
    if stuck:
        raise _circle(trace, stuck)
    return Order(latest, None if last < 0 else graph.node(last))


def _durations(trace: Trace) -> list[int]:
    works = (node.work for rank in trace.ranks for node in rank.nodes)
    return [work.duration_ps if isinstance(work, Compute) else 0 for work in works]


def _circle(trace: Trace, stuck: set[At]) -> Exception:
    rank, position = min(stuck)
    node = trace.ranks[rank].nodes[position]
    others = sorted({other for other, _ in stuck} - {rank})
    with_whom = f"ranks {', '.join(str(other) for other in others[:8])}" if others else "itself"
    text = (
        f"rank {rank}, {node}: expected ranks that can all go on, found a circle of waiting with {with_whom}: "
        f"{len(stuck)} nodes can never end, this is the first of them"
    )
    return mistake(trace.ranks[rank].file, node.place, text)
