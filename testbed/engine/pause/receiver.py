"""A port that is told to pause: `paused_mask` of its transmitter, for how long, and how often that was.

A pause begins `response_ps` after the last bit of its frame and lasts its quanta, unless another frame changes it
first: more quanta prolong it, 0 ends it. A port that has begun to send a frame finishes it. When a priority may go on,
the transmitter is kicked.

Only priorities with flow control obey (`enabled_mask`); the others' frames are counted.
References: IEEE 802.1Q clause 36.
"""

from typing import Protocol

from testbed.engine.frame import Frame
from testbed.engine.holds import Holds
from testbed.engine.loop import EventLoop, Handler
from testbed.engine.pause.frames import ALL_PRIORITIES, GLOBAL, read_pause, read_pfc
from testbed.engine.transmitter import Transmitter
from testbed.fabric.buffers import pause_ps
from testbed.scenario.qos import PRIORITIES

_NONE = -1


class Watcher(Protocol):
    """Who wants to know when a pause begins (the watchdog)."""

    def on_pause(self, priority: int) -> None:
        """`priority` has just been paused."""


class PauseReceiver:
    """Obeys the pause frames that arrive at one port, for the port's own transmitter.

    Attributes, by priority:
        xoff_frames, xon_frames: frames received that pause it, and that let it go on (PAUSE frames: under `GLOBAL`).
        transitions: how often it went from running to paused.
        last_xoff_ps: when the last frame came that pauses it.
        holds: when the port was paused, exactly, for whoever wants to know; None: nobody does.
    """

    __slots__ = (
        "_apply_handler", "_duration_ps", "_enabled_mask", "_expire_handler", "_expiry_ps", "_loop", "_response_ps",
        "_since_ps", "_until_ps", "holds", "last_xoff_ps", "transitions", "transmitter", "watcher", "xoff_frames",
        "xon_frames",
    )  # fmt: skip

    def __init__(self, loop: EventLoop, transmitter: Transmitter, enabled_mask: int, response_ps: int) -> None:
        self.transmitter = transmitter
        self.xoff_frames = [0] * (GLOBAL + 1)
        self.xon_frames = [0] * (GLOBAL + 1)
        self.transitions = [0] * PRIORITIES
        self.last_xoff_ps = [0] * PRIORITIES
        self.watcher: Watcher | None = None
        self.holds: Holds | None = None
        self._loop = loop
        self._enabled_mask = enabled_mask
        self._response_ps = response_ps
        self._since_ps = [0] * PRIORITIES
        self._until_ps = [0] * PRIORITIES
        self._duration_ps = [0] * PRIORITIES
        self._expiry_ps = [_NONE] * PRIORITIES
        self._apply_handler: Handler = self._apply
        self._expire_handler: Handler = self._expire

    def receive(self, frame: Frame) -> None:
        """A MAC control frame's last bit has arrived. Kinds other than PFC and PAUSE are ignored."""
        quanta = read_pfc(frame.data)
        if quanta is not None:
            for priority, time in quanta.items():
                (self.xoff_frames if time else self.xon_frames)[priority] += 1
        else:
            for_all = read_pause(frame.data)
            if for_all is None:
                return
            (self.xoff_frames if for_all else self.xon_frames)[GLOBAL] += 1
            quanta = dict.fromkeys(range(PRIORITIES), for_all)
        for priority, time in quanta.items():
            if time:
                self.last_xoff_ps[priority] = self._loop.now
        self._loop.at(self._loop.now + self._response_ps, self._apply_handler, quanta)

    def paused(self, priority: int) -> bool:
        """Whether `priority` must not be sent now."""
        return bool(self.transmitter.paused_mask >> priority & 1)

    def duration_ps(self, priority: int) -> int:
        """Return for how long `priority` has been paused so far, in all."""
        return self.duration_until_ps(self._loop.now, priority)

    def duration_until_ps(self, time_ps: int, priority: int) -> int:
        """Return the same as of `time_ps`, between now and the next event."""
        running = time_ps - self._since_ps[priority] if self.paused(priority) else 0
        return self._duration_ps[priority] + running

    @property
    def enabled(self) -> tuple[int, ...]:
        """The priorities that obey."""
        return tuple(priority for priority in range(PRIORITIES) if self._enabled_mask >> priority & 1)

    def _apply(self, quanta: dict[int, int]) -> None:
        resumed = False
        for priority, time in quanta.items():
            if not self._enabled_mask >> priority & 1:
                continue
            if time:
                self._pause(priority, pause_ps(time, self.transmitter.rate_bps))
            elif self.paused(priority):
                self._resume(priority)
                resumed = True
        if resumed:
            self.transmitter.kick()

    def _pause(self, priority: int, duration_ps: int) -> None:
        now = self._loop.now
        self._until_ps[priority] = until = now + duration_ps
        if not self.paused(priority):
            self.transmitter.paused_mask |= 1 << priority
            self._since_ps[priority] = now
            self.transitions[priority] += 1
            if self.holds is not None:
                self.holds.begin(priority, now)
            if self.watcher is not None:
                self.watcher.on_pause(priority)
        if self._expiry_ps[priority] == _NONE or until < self._expiry_ps[priority]:
            self._expire_at(until, priority)

    def _expire_at(self, time_ps: int, priority: int) -> None:
        self._expiry_ps[priority] = time_ps
        self._loop.upkeep_at(time_ps, self._expire_handler, priority)

    def _resume(self, priority: int) -> None:
        self.transmitter.paused_mask &= ALL_PRIORITIES ^ 1 << priority
        self._duration_ps[priority] += self._loop.now - self._since_ps[priority]
        if self.holds is not None:
            self.holds.end(priority, self._loop.now)

    def _expire(self, priority: int) -> None:
        """The time of a pause may be over; if it was prolonged, look again then."""
        now = self._loop.now
        if self._expiry_ps[priority] == now:
            self._expiry_ps[priority] = _NONE
        if not self.paused(priority):
            return
        if now >= self._until_ps[priority]:
            self._resume(priority)
            self.transmitter.kick()
        elif self._expiry_ps[priority] == _NONE:
            self._expire_at(self._until_ps[priority], priority)
