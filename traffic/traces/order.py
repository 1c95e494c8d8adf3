"""The graph of a whole trace: what must come before what over all ranks, and how long that takes at the least.

A collective is one vertex for all its ranks: nobody ends it before everyone has come to it. A receive comes after its
send. Collectives of a group come one after the other, as on the one stream that a group has at each rank. What is left
of time with a network that takes none is the longest way through the calculations: the critical path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from traffic.traces.matching import Matching
from traffic.traces.model import Compute, Trace
from traffic.traces.places import mistake


@dataclass(frozen=True, slots=True)
class Order:
    """`critical_path_ps`: the longest way through the calculations; the rank and node in which it ends."""

    critical_path_ps: int
    ends_at: tuple[int, int] | None


class _Graph:
    """Vertices with what follows each: after its end, or after its start."""

    def __init__(self, trace: Trace, matching: Matching, durations_ps: Sequence[Sequence[int]] | None) -> None:
        self.trace = trace
        self._durations_ps = durations_ps
        self.first: list[tuple[int, int]] = []
        self.duration: list[int] = []
        self.vertex: list[list[int]] = [[-1] * len(rank.nodes) for rank in trace.ranks]
        self._merge(matching)
        self.after_end: list[list[int]] = [[] for _ in self.first]
        self.after_start: list[list[int]] = [[] for _ in self.first]
        self._connect(matching)

    def _merge(self, matching: Matching) -> None:
        """Number the vertices: one for each collective, one for each other node."""
        for together in matching.collectives:
            for member, position in zip(together.members, together.positions, strict=True):
                self.vertex[member][position] = len(self.first)
            self.first.append((together.members[0], together.positions[0]))
            self.duration.append(0)
        for rank in self.trace.ranks:
            for position in range(len(rank.nodes)):
                if self.vertex[rank.rank][position] < 0:
                    self.vertex[rank.rank][position] = len(self.first)
                    self.first.append((rank.rank, position))
                    self.duration.append(self._duration_ps(rank.rank, position))

    def _duration_ps(self, rank: int, position: int) -> int:
        if self._durations_ps is not None:
            return self._durations_ps[rank][position]
        work = self.trace.ranks[rank].nodes[position].work
        return work.duration_ps if isinstance(work, Compute) else 0

    def _connect(self, matching: Matching) -> None:
        for rank in self.trace.ranks:
            vertex = self.vertex[rank.rank]
            for position, node in enumerate(rank.nodes):
                for before in node.after:
                    self.after_end[vertex[before]].append(vertex[position])
                for before in node.after_start:
                    self.after_start[vertex[before]].append(vertex[position])
        for message in matching.messages:
            send, receive = message.send, message.receive
            self.after_end[self.vertex[send[0]][send[1]]].append(self.vertex[receive[0]][receive[1]])
        for earlier, later in zip(matching.collectives, matching.collectives[1:], strict=False):
            if earlier.work.group == later.work.group:
                one, two = (self.vertex[each.members[0]][each.positions[0]] for each in (earlier, later))
                self.after_end[one].append(two)


def order(trace: Trace, matching: Matching, durations_ps: Sequence[Sequence[int]] | None = None) -> Order:
    """Return how long the calculations take; `durations_ps`: of each rank's nodes, none: as in the trace.

    Raises TraceError when ranks wait for each other in a circle.
    """
    graph = _Graph(trace, matching, durations_ps)
    waiting = [0] * len(graph.first)
    for table in (graph.after_end, graph.after_start):
        for followers in table:
            for follower in followers:
                waiting[follower] += 1
    starts = [0] * len(graph.first)
    free = [vertex for vertex, count in enumerate(waiting) if not count]
    latest, last = 0, None
    while free:
        vertex = free.pop()
        end = starts[vertex] + graph.duration[vertex]
        if end > latest:
            latest, last = end, graph.first[vertex]
        for followers, time in ((graph.after_end[vertex], end), (graph.after_start[vertex], starts[vertex])):
            for follower in followers:
                starts[follower] = max(starts[follower], time)
                waiting[follower] -= 1
                if not waiting[follower]:
                    free.append(follower)
    stuck = [graph.first[vertex] for vertex, count in enumerate(waiting) if count]
    if stuck:
        raise _circle(trace, stuck)
    return Order(latest, last)


def _circle(trace: Trace, stuck: list[tuple[int, int]]) -> Exception:
    rank, position = min(stuck)
    node = trace.ranks[rank].nodes[position]
    others = sorted({other for other, _ in stuck} - {rank})
    with_whom = f"ranks {', '.join(str(other) for other in others[:8])}" if others else "itself"
    text = (
        f"rank {rank}, {node}: expected ranks that can all go on, found a circle of waiting with {with_whom}: "
        f"{len(stuck)} nodes can never start, this is the first of them"
    )
    return mistake(trace.ranks[rank].file, node.place, text)
