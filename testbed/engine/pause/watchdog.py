"""The PFC watchdog of a port's lossless egress queues: what SONiC's pfcwd does, on the model clock.

At every multiple of `poll` it looks at each queue. One that is paused, was so at the last look without a change in
between, has frames and has sent none has been stuck for one more `poll`; stuck for `detect`, it is in a storm. Then:

    drop      its frames are dropped, and so is what comes for it (`pfc_watchdog`)
    forward   its frames are sent in spite of the pause
    alert     nothing is done but to record it

until at a look it is not paused and no pause frame has come for `restore`. Looks are scheduled only while there is
something to look at.

References: SONiC, sonic-swss orchagent/pfcwdorch and pfc_detect_broadcom.lua.
Known limits: with `drop`, frames of the priority that arrive by the stormed port are not dropped, as some chips do.
"""

from collections.abc import Callable, Sequence

from testbed.engine.buffer.scheduler import PortScheduler
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop, Handler
from testbed.engine.pause.journal import Journal, StormEvent
from testbed.engine.pause.receiver import PauseReceiver
from testbed.scenario.qos import WatchdogOptions


class _Watched:
    """One queue: what the last look saw, for how long it has been stuck, the storm that it is in."""

    __slots__ = ("left_frames", "paused", "priority", "storm", "stuck_ps", "transitions")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self.paused = False
        self.left_frames = self.transitions = self.stuck_ps = 0
        self.storm: StormEvent | None = None


class Watchdog:
    """Watches the queues of one port that have `priorities`; `on_drop` is called with each frame that it drops.

    Attributes:
        detected, restored: storms found and ended so far.
    """

    __slots__ = (
        "_journal", "_loop", "_on_drop", "_options", "_poll_handler", "_polling", "_receiver", "_scheduler",
        "_watched", "detected", "restored",
    )  # fmt: skip

    def __init__(
        self,
        loop: EventLoop,
        options: WatchdogOptions,
        receiver: PauseReceiver,
        scheduler: PortScheduler,
        priorities: Sequence[int],
        journal: Journal,
        on_drop: Callable[[Frame], None],
    ) -> None:
        self.detected = self.restored = 0
        self._loop = loop
        self._options = options
        self._receiver = receiver
        self._scheduler = scheduler
        self._watched = [_Watched(priority) for priority in priorities]
        self._journal = journal
        self._on_drop = on_drop
        self._polling = False
        self._poll_handler: Handler = self._poll
        receiver.watcher = self

    def on_pause(self, priority: int) -> None:  # noqa: ARG002 - a watcher's signature
        """A pause has begun: look from now on."""
        if not self._polling:
            self._polling = True
            self._poll_later()

    def in_storm(self, priority: int) -> bool:
        """Whether the queue of `priority` is held to be in a storm now."""
        return any(watched.storm is not None for watched in self._watched if watched.priority == priority)

    def _poll_later(self) -> None:
        period = self._options.poll
        self._loop.upkeep_at((self._loop.now // period + 1) * period, self._poll_handler)

    def _poll(self, _nothing: None) -> None:
        for watched in self._watched:
            if watched.storm is None:
                self._look(watched)
            elif self._has_ended(watched):
                self._restore(watched)
            watched.paused = self._receiver.paused(watched.priority)
            watched.left_frames = self._scheduler.queues[watched.priority].left_frames
            watched.transitions = self._receiver.transitions[watched.priority]
        self._polling = any(watched.paused or watched.storm is not None for watched in self._watched)
        if self._polling:
            self._poll_later()

    def _look(self, watched: _Watched) -> None:
        priority, queue = watched.priority, self._scheduler.queues[watched.priority]
        is_stuck = (
            watched.paused
            and self._receiver.paused(priority)
            and self._receiver.transitions[priority] == watched.transitions
            and queue.left_frames == watched.left_frames
            and bool(queue.frames)
        )
        watched.stuck_ps = watched.stuck_ps + self._options.poll if is_stuck else 0
        if watched.stuck_ps >= self._options.detect:
            self._detect(watched)

    def _detect(self, watched: _Watched) -> None:
        self.detected += 1
        priority, action = watched.priority, self._options.action
        watched.stuck_ps = 0
        port = self._receiver.transmitter.name
        watched.storm = StormEvent(self._loop.now, port, priority, action)
        self._journal.storms.append(watched.storm)
        if action == "drop":
            self._scheduler.queues[priority].discarding = True
            self._scheduler.flush(priority, self._on_drop)
        elif action == "forward":
            self._scheduler.obeyed_mask &= ~(1 << priority)
            self._receiver.transmitter.kick()

    def _has_ended(self, watched: _Watched) -> bool:
        priority = watched.priority
        quiet_ps = self._loop.now - self._receiver.last_xoff_ps[priority]
        return not self._receiver.paused(priority) and quiet_ps >= self._options.restore

    def _restore(self, watched: _Watched) -> None:
        assert watched.storm is not None
        self.restored += 1
        watched.storm.restored_ps = self._loop.now
        watched.storm = None
        self._scheduler.queues[watched.priority].discarding = False
        self._scheduler.obeyed_mask |= 1 << watched.priority
