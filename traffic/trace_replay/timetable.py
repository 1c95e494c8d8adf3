"""When each node of each rank started and ended, and what follows from it: how long a rank only waited for others."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from traffic.traces.model import Compute, Node


class Timetable:
    """Start and end of every node of one rank, in ps from the replay's start; None: not yet, or never."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.starts_ps: list[int | None] = [None] * len(nodes)
        self.ends_ps: list[int | None] = [None] * len(nodes)
        self._nodes = nodes
        self._started: dict[int, int] = {}

    def start(self, position: int, time_ps: int) -> None:
        """A node starts."""
        self._started[position] = len(self._started)
        self.starts_ps[position] = time_ps

    @property
    def end_ps(self) -> int:
        """When the last node ended that has."""
        return max((end for end in self.ends_ps if end is not None), default=0)

    def in_order(self, positions: Sequence[int]) -> list[int]:
        """Return `positions` in the order in which they started: of two at one time, too, which may follow from each
        other."""
        return sorted(positions, key=lambda position: self._started[position])

    def busy(self) -> list[tuple[int, int]]:
        """Return when the rank computed on any stream: (start, end), in order, apart from each other."""
        spans = sorted(
            (start, self._end(position))
            for position, start in enumerate(self.starts_ps)
            if start is not None and isinstance(self._nodes[position].work, Compute)
        )
        return list(_joined(spans))

    def waits(self) -> Iterator[tuple[int, int]]:
        """Yield when the rank had something left to do and computed nothing: (start, end)."""
        at = 0
        for start, end in self.busy():
            if start > at:
                yield at, start
            at = max(at, end)
        if self.end_ps > at:
            yield at, self.end_ps

    def waited_ps(self) -> int:
        """Return the whole of `waits`: what communication added to the rank's own calculations."""
        return sum(end - start for start, end in self.waits())

    def busy_ps(self) -> int:
        """Return how long the rank computed, on one stream or several."""
        return sum(end - start for start, end in self.busy())

    def awaited(self, times_ps: Sequence[int]) -> Iterator[int | None]:
        """Yield, for each time, the node that a wait which ends then was for: the last that ended by then and is not a
        calculation; None when there is none."""
        ended = sorted(
            (end, -position)
            for position, end in enumerate(self.ends_ps)
            if end is not None and not isinstance(self._nodes[position].work, Compute)
        )
        for time_ps in times_ps:
            after = bisect_left(ended, (time_ps + 1, -len(self._nodes)))
            yield -ended[after - 1][1] if after else None

    def _end(self, position: int) -> int:
        end = self.ends_ps[position]
        return self.end_ps if end is None else end


def _joined(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans with those that overlap or touch made one; empty ones are left out."""
    current: tuple[int, int] | None = None
    for start, end in spans:
        if start == end:
            continue
        if current is None or start > current[1]:
            if current is not None:
                yield current
            current = start, end
        else:
            current = current[0], max(current[1], end)
    if current is not None:
        yield current
