"""When a port was held: paused, or without credit. The exact times, which an idle wire is explained from.

Kept by whoever sets and clears the bits of the transmitter's `paused_mask`, and only where somebody wants to know.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from testbed.scenario.qos import PRIORITIES

NEVER = (1 << 63) - 1
"""The end of what has not ended."""


class Span(NamedTuple):
    """Held from `first_ps` to `last_ps`, as part of what began at `since_ps`."""

    since_ps: int
    first_ps: int
    last_ps: int


class Holds:
    """By priority, from when to when a port was held, in the order of time; the latest may last still."""

    __slots__ = ("_begins", "_ends")

    def __init__(self) -> None:
        self._begins = [array("q") for _ in range(PRIORITIES)]
        self._ends = [array("q") for _ in range(PRIORITIES)]

    def begin(self, priority: int, time_ps: int) -> None:
        """`priority` is held from `time_ps` on (not before the end of the last time)."""
        self._begins[priority].append(time_ps)
        self._ends[priority].append(NEVER)

    def end(self, priority: int, time_ps: int) -> None:
        """`priority`, which is held, may go on; where that is no later than the beginning, it never was."""
        if time_ps > self._begins[priority][-1]:
            self._ends[priority][-1] = time_ps
        else:
            self._begins[priority].pop()
            self._ends[priority].pop()

    def within(self, priority: int, since_ps: int, until_ps: int) -> Iterator[Span]:
        """Yield the times between `since_ps` and `until_ps` in which `priority` was held, the latest first."""
        begins, ends = self._begins[priority], self._ends[priority]
        for index in range(bisect_left(begins, until_ps) - 1, -1, -1):
            if ends[index] <= since_ps:
                break
            yield Span(begins[index], max(begins[index], since_ps), min(ends[index], until_ps))

    def forget_before(self, time_ps: int) -> None:
        """Forget what was over before `time_ps`."""
        for begins, ends in zip(self._begins, self._ends, strict=True):
            count = bisect_left(ends, time_ps)
            del begins[:count], ends[:count]

    def spans(self) -> tuple[tuple[int, int], ...]:
        """Return from when to when the port was held, whatever the priority: in the order of time, none touching."""
        found: list[tuple[int, int]] = []
        every = (zip(begins, ends, strict=True) for begins, ends in zip(self._begins, self._ends, strict=True))
        for begin, end in sorted(pair for pairs in every for pair in pairs):
            if found and begin <= found[-1][1]:
                found[-1] = found[-1][0], max(found[-1][1], end)
            else:
                found.append((begin, end))
        return tuple(found)
