"""The model clock: events in the order of their time, and of their cause where times are equal.

A handler is a bound method that an object keeps, and its argument one object, so that an event is one tuple and
makes no closure. Events of one time run in the order in which they were scheduled. That order is itself a fact of the
model: nothing outside (the order in which Open vSwitch answers, above all) ever schedules an event, see `forwarding`.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Handler = Callable[[Any], None]
Observer = Callable[[int], int]

_NEVER = 1 << 63
"""Later than any event: the largest time that the tables of a run can hold."""


def _see_nothing(_time_ps: int) -> int:
    return _NEVER


class EventLoop:
    """Runs handlers at their model times. `now` is the time of the running one, in picoseconds.

    An event may be *upkeep*: it would come again and again although nothing happens (a pause is refreshed, a watchdog
    looks). `only_upkeep` says that no other is left.

    An *observer* reads the model between two events and is no event itself: a run that is observed is the run that is
    not.
    """

    __slots__ = ("_heap", "_look_at_ps", "_observer", "_run_upkeep_handler", "_scheduled", "_upkeep", "now")

    def __init__(self) -> None:
        self.now = 0
        self._upkeep = 0
        self._run_upkeep_handler: Handler = self._run_upkeep
        self._scheduled = 0
        self._heap: list[tuple[int, int, Handler, Any]] = []
        self._look_at_ps = _NEVER
        self._observer: Observer = _see_nothing

    def observe(self, time_ps: int, observer: Observer) -> None:
        """Call ``observer(time)`` before the first event at `time_ps` or later; it returns when to be called again.

        `time` is that event's, and all events before it have run.
        """
        self._look_at_ps, self._observer = time_ps, observer

    def at(self, time_ps: int, handler: Handler, argument: Any = None) -> None:
        """Run ``handler(argument)`` at `time_ps`, which must not be in the past."""
        if time_ps < self.now:
            raise ValueError(f"event at {time_ps} ps is before now, {self.now} ps")
        self._scheduled += 1
        heappush(self._heap, (time_ps, self._scheduled, handler, argument))

    def upkeep_at(self, time_ps: int, handler: Handler, argument: Any = None) -> None:
        """Run ``handler(argument)`` at `time_ps` as an event of upkeep."""
        self.at(time_ps, self._run_upkeep_handler, (handler, argument))
        self._upkeep += 1

    def _run_upkeep(self, event: tuple[Handler, Any]) -> None:
        self._upkeep -= 1
        handler, argument = event
        handler(argument)

    @property
    def only_upkeep(self) -> bool:
        """Whether the events that are left, if any, are all upkeep."""
        return len(self._heap) == self._upkeep

    def run(self, until_ps: int | None = None) -> None:
        """Run events up to and including `until_ps`, or until none is left."""
        heap = self._heap
        while heap and (until_ps is None or heap[0][0] <= until_ps):
            time_ps, _, handler, argument = heappop(heap)
            if time_ps >= self._look_at_ps:
                self._look_at_ps = self._observer(time_ps)
            self.now = time_ps
            handler(argument)
        if until_ps is not None and until_ps > self.now:
            self.now = until_ps

    def run_events(self, limit: int) -> bool:
        """Run at most `limit` events; return whether any is left."""
        heap = self._heap
        for _ in range(min(limit, len(heap))):
            time_ps, _, handler, argument = heappop(heap)
            if time_ps >= self._look_at_ps:
                self._look_at_ps = self._observer(time_ps)
            self.now = time_ps
            handler(argument)
        return bool(heap)

    def next_time(self) -> int | None:
        """Return the time of the next event, None when there is none."""
        return self._heap[0][0] if self._heap else None

    def next_work_time(self) -> int | None:
        """Return the time of the next event that is not upkeep, None when there is none. It looks at every event."""
        upkeep = self._run_upkeep_handler
        return min((time_ps for time_ps, _, handler, _ in self._heap if handler is not upkeep), default=None)
