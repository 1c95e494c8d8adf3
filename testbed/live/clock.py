"""The live clock: model time *t* is due at wall time ``start + t * factor``.

    100 Gb/s at factor 1000 is 100 Mb/s to whoever looks at a watch, and 500 ns of cable are 500 us.

The event loop's events run in the order of their model times, as ever; here each waits until its wall time has come.
Meanwhile the process sleeps in `select`, and takes in what the world sends: a frame from a host's kernel, an answer of
Open vSwitch, a line typed by the user. What comes in at wall time *w* happens at model time ``(w - start) / factor``.

An event that runs late still has its model time, so what the models do among themselves does not depend on the machine:
a workload of the models alone gives on both clocks the same results. What lateness spoils is the meeting of models and
real applications: a frame reaches a host's kernel late, and the kernel's answer comes late. `lateness` tells how late
events ran, `busy_ns` for how long the process did anything but sleep.
"""

import select
import time
from collections.abc import Callable
from typing import Protocol

from testbed.engine.loop import EventLoop
from testbed.live.lateness import Lateness


class Wall(Protocol):
    """Wall time."""

    def now_ns(self) -> int:
        """Return the time in ns, from any beginning."""

    def sleep(self, file: int, longest_ns: int) -> None:
        """Sleep until `file` has something to read, or for `longest_ns`."""


class _RealWall:
    """The machine's wall time."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def sleep(self, file: int, longest_ns: int) -> None:
        # A poll counts in whole milliseconds, which is longer than a packet; `select` in microseconds.
        select.select((file,), (), (), longest_ns / 1e9)


REAL_WALL: Wall = _RealWall()

_PS_PER_NS = 1000
_EVENTS_A_LOOK = 64
"""Events that may run, when many are due, before the inputs are looked at again."""


class LiveClock:
    """Drives `loop` in wall time, `factor` times slower than the model.

    Attributes:
        factor: wall time over model time, a whole number. lateness: of the events so far.
        busy_ns: wall time spent on anything but sleeping. inputs: how often something came in.
        held_ns: wall time for which the clock was held.
    """

    def __init__(self, loop: EventLoop, factor: int, wall: Wall = REAL_WALL) -> None:
        if factor < 1:
            raise ValueError(f"expected a factor of 1 or more, found {factor}")
        self.factor = factor
        self.lateness = Lateness()
        self.busy_ns = self.inputs = self.held_ns = 0
        self._loop = loop
        self._wall = wall.now_ns
        self._sleep = wall.sleep
        self._started_ns = wall.now_ns() - loop.now * factor // _PS_PER_NS
        self._poll = select.epoll()
        self._handlers: dict[int, Callable[[], None]] = {}

    # --- times --------------------------------------------------------------------------------------------------------

    def model_ps(self) -> int:
        """Return the model time that it is now by the wall clock."""
        return (self._wall() - self._started_ns) * _PS_PER_NS // self.factor

    def due_ns(self, time_ps: int) -> int:
        """Return the wall time at which a model time is due, rounded up."""
        return self._started_ns + -(-time_ps * self.factor // _PS_PER_NS)

    @property
    def elapsed_ns(self) -> int:
        """Wall time since the clock was started."""
        return self._wall() - self._started_ns

    def restart(self) -> None:
        """Go on from the model time that has been reached, as of now: what was late stays behind."""
        self._started_ns = self._wall() - self._loop.now * self.factor // _PS_PER_NS

    def catch_up(self) -> None:
        """Bring the model's clock to the present, as far as no event lies in between: what begins now, begins now."""
        now_ps, due = self.model_ps(), self._loop.next_time()
        self._loop.run(until_ps=now_ps if due is None else min(now_ps, due - 1))

    def held(self, since_ns: int) -> None:
        """Model time has stood still since a wall time, for something that is no part of the fabric: go on from there.

        Real applications notice: to them the whole fabric paused for so long.
        """
        gone_ns = self._wall() - since_ns
        self._started_ns += gone_ns
        self.held_ns += gone_ns

    # --- the world ----------------------------------------------------------------------------------------------------

    def watch(self, file: int, handler: Callable[[], None]) -> None:
        """Call `handler` whenever `file` has something to read."""
        self._handlers[file] = handler
        self._poll.register(file, select.EPOLLIN)

    def forget(self, file: int) -> None:
        """Do not watch `file` any more."""
        if self._handlers.pop(file, None) is not None:
            self._poll.unregister(file)

    def close(self) -> None:
        """Watch nothing any more."""
        self._handlers.clear()
        self._poll.close()

    # --- running ------------------------------------------------------------------------------------------------------

    def turn(self, longest_ns: int) -> None:
        """Sleep until an event is due or something comes in, at most `longest_ns`; then handle what there is."""
        before_ns, held_ns = self._wall(), self.held_ns
        due = self._loop.next_time()
        sleep_ns = longest_ns if due is None else min(longest_ns, self.due_ns(due) - before_ns)
        slept_ns = 0
        if sleep_ns > 0:
            self._sleep(self._poll.fileno(), sleep_ns)
            slept_ns = self._wall() - before_ns
        self._run_due()
        self._take_in()
        self.busy_ns += self._wall() - before_ns - slept_ns - (self.held_ns - held_ns)

    def run_for(self, wall_ns: int, done: Callable[[], bool]) -> None:
        """Go on for `wall_ns`, or until `done` says so."""
        until_ns = self._wall() + wall_ns
        while not done() and (left_ns := until_ns - self._wall()) > 0:
            self.turn(left_ns)

    def _run_due(self) -> None:
        loop, wall = self._loop, self._wall
        for _ in range(_EVENTS_A_LOOK):
            due = loop.next_time()
            if due is None:
                break
            late_ns = wall() - self.due_ns(due)
            if late_ns < 0:
                break
            self.lateness.add(late_ns)
            loop.run_events(1)

    def _take_in(self) -> None:
        for file, _ in self._poll.poll(0):
            self.inputs += 1
            self._handlers[file]()

    def now_ps(self) -> int:
        """Return when something that comes in now happens: never before what has happened already."""
        return max(self.model_ps(), self._loop.now)
