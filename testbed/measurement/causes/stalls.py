"""What the waits of one rank saw of its stall: of each, by which parts the rank was later after it than before.

    a wait ends         the message that ended it may be later than the rank: by that much, but by no more than it took,
                        the rank stalled. Is it less late, the rank made up for time, and stalled so much less.
    the rank posts      how late it is now is known exactly; what it lost since its last wait is its own doing

At the end all is fitted to the stall, which is known: what was lost last is taken off, or a wait saw more than was put
down to it (since how late the rank was is only a bound until it posts). A rank with several branches may see the same
delay by more than one of them; it has it once.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from testbed.measurement.causes.lateness import PASSED_ON, Lateness, Part, total_ps, walk

_LONGEST_WAY = 64
"""Ranks that a delay has come through are told up to this many."""


class Seen(NamedTuple):
    """What one wait saw of a stall: `parts`, in the order of time, of `lateness`, that of what ended the wait."""

    parts: tuple[Part, ...]
    lateness: Lateness

    def way(self, part: Part) -> tuple[tuple[int, int], ...]:
        """Return the first of the ranks that the delay of `part` had reached, in their order, with the time."""
        passed: list[tuple[int, int]] = []
        for link in walk(self.lateness):
            if link.part.event == part.event:
                break
            if link.part.cause == PASSED_ON:
                passed.append((link.rank, link.part.last_ps))
        return tuple(reversed(passed[-_LONGEST_WAY:]))


@dataclass(slots=True)
class _Wait:
    """`saw`: how late what ended it was; `most_ps`: what it took; `parts`, `stall_ps` in all, are put down to it."""

    saw: Lateness
    most_ps: int
    parts: list[Part] = field(default_factory=list)
    stall_ps: int = 0


class RankStall:
    """The stall of one rank; `own` is the cause of its own doing, which is no part of it."""

    def __init__(self, own: int) -> None:
        self._own = own
        self._late_ps = 0
        self._waits: list[_Wait] = []
        self._stalled: list[_Wait] = []
        """Those that something is put down to."""
        self._known: Counter[tuple[int, int]] = Counter()
        """By event, how much of it is put down to waits: no later one has it again."""

    def waited(self, lateness: Lateness, duration_ps: int) -> None:
        """A wait of `duration_ps` was ended by what is as late as `lateness`."""
        later_ps = total_ps(lateness) - self._late_ps
        stalled_ps = min(later_ps, duration_ps)
        if later_ps < 0:
            self._take_off(-later_ps)
        if min(total_ps(lateness), duration_ps) > 0:
            self._waits.append(_Wait(lateness, duration_ps))
            if stalled_ps > 0:
                self._put_down(self._waits[-1], self._lost_last(lateness, later_ps, stalled_ps))
        self._late_ps += stalled_ps

    def waited_for_nothing(self, lost: Part) -> None:
        """A wait was ended by no message: all of it is `lost`."""
        self._waits.append(_Wait(None, lost.duration_ps))
        self._put_down(self._waits[-1], [lost])
        self._late_ps += lost.duration_ps

    def posts(self, late_ps: int) -> None:
        """The rank is `late_ps` late, exactly (below 0: early)."""
        if late_ps < self._late_ps:
            self._take_off(self._late_ps - late_ps)
        self._late_ps = late_ps

    def fitted(self, stall_ps: int, rest: int) -> tuple[Seen, ...]:
        """Return what the waits saw, `stall_ps` in all; `rest` is the cause of what none of them did."""
        missing_ps = stall_ps - sum(wait.stall_ps for wait in self._stalled)
        if missing_ps < 0:
            self._take_off(-missing_ps)
        for wait in self._waits:
            if missing_ps <= 0:
                break
            had_ps = wait.stall_ps
            self._put_down(wait, self._lost_last(wait.saw, wait.most_ps, min(missing_ps, wait.most_ps - had_ps)))
            missing_ps -= wait.stall_ps - had_ps
        seen = [Seen(tuple(wait.parts), wait.saw) for wait in self._waits if wait.parts]
        return (*seen, Seen((Part(rest, missing_ps, 0, 0),), None)) if missing_ps > 0 else tuple(seen)

    def _lost_last(self, lateness: Lateness, later_ps: int, stalled_ps: int) -> list[Part]:
        """Return `stalled_ps` at most of the `later_ps` of `lateness` that were lost last, in the order of time: those
        that nothing has made up for, and no wait before has seen."""
        found: list[Part] = []
        found_ps, own, known = 0, self._own, self._known
        while lateness is not None and later_ps > 0:
            part = lateness.part
            cause, duration_ps = part[:2]
            if duration_ps and cause != own:
                new_ps = min(duration_ps - known.get(part.event, 0), later_ps)
                later_ps -= duration_ps
                if new_ps > 0:
                    found.append(part if new_ps == duration_ps else part._replace(duration_ps=new_ps))
                    found_ps += new_ps
            lateness = lateness.before
        found.reverse()
        _cut(found, found_ps - stalled_ps)
        return found

    def _put_down(self, wait: _Wait, parts: list[Part]) -> None:
        if parts and not wait.parts:
            self._stalled.append(wait)
        wait.parts += parts
        for part in parts:
            wait.stall_ps += part.duration_ps
            self._known[part.event] += part.duration_ps

    def _take_off(self, duration_ps: int) -> None:
        while duration_ps > 0 and self._stalled:
            wait = self._stalled[-1]
            for event, off_ps in _cut(wait.parts, duration_ps):
                self._known[event] -= off_ps
                wait.stall_ps -= off_ps
                duration_ps -= off_ps
            if not wait.parts:
                self._stalled.pop()


def _cut(parts: list[Part], duration_ps: int) -> list[tuple[tuple[int, int], int]]:
    """Take the last `duration_ps` (all at most) off `parts`; return what is gone, by event."""
    gone = []
    while parts and duration_ps > 0:
        part = parts.pop()
        off_ps = min(part.duration_ps, duration_ps)
        if off_ps < part.duration_ps:
            parts.append(part._replace(duration_ps=part.duration_ps - off_ps))
        gone.append((part.event, off_ps))
        duration_ps -= off_ps
    return gone
