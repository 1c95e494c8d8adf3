"""Looks at a fabric while it is paused: is it deadlocked, and is there anything left to happen but pauses?

Pauses are refreshed and a watchdog looks again for ever, so a run in which nothing else happens would not end by
itself. The monitor looks whenever a pause is refreshed. It calls the run stopped when

    nothing is to be done       only upkeep is left, no frame waits, and the work is done
    nothing has moved           only upkeep is left, and no frame was sent, for `patience`
    there is a deadlock         the same one for `patience`, and no watchdog that would break it
"""

from collections.abc import Sequence

from testbed.engine.loop import EventLoop
from testbed.engine.pause.deadlock import Deadlock, DeadlockSearch
from testbed.engine.qos_switch import QosPort
from testbed.engine.transmitter import Transmitter
from testbed.units import format_time


class PauseMonitor:
    """Watches one fabric.

    Attributes:
        deadlock: what was found at the last look, with the time at which it was found first. deadlocks: all so far.
        patience_ps: how long nothing may move; a control loop that may yet act can lengthen it.
    """

    def __init__(
        self,
        loop: EventLoop,
        search: DeadlockSearch,
        transmitters: Sequence[Transmitter],
        ports: Sequence[QosPort],
        patience_ps: int,
        *,
        breaks_deadlocks: bool,
    ) -> None:
        """`breaks_deadlocks`: whether a watchdog drops or forwards what is stuck."""
        self.deadlock: Deadlock | None = None
        self.deadlocks: list[Deadlock] = []
        self.patience_ps = patience_ps
        self._loop = loop
        self._search = search
        self._transmitters = tuple(transmitters)
        self._ports = tuple(ports)
        self._breaks_deadlocks = breaks_deadlocks
        self._next_search_ps = 0
        self._sent_frames = -1
        self._quiet_since_ps: int | None = None
        self._last_quiet_ps = 0

    def look(self) -> None:
        """A pause is refreshed: look at the fabric."""
        now = self._loop.now
        if now >= self._next_search_ps:
            self._next_search_ps = now + self.patience_ps // 16
            self._note(self._search.find(now))
        sent = sum(wire.sent_frames - wire.sent_control_frames for wire in self._transmitters)
        if sent != self._sent_frames:
            self._sent_frames = sent
            self._quiet_since_ps = None
        if self._loop.only_upkeep:
            self._last_quiet_ps = now
            if self._quiet_since_ps is None:
                self._quiet_since_ps = now

    def _note(self, found: Deadlock | None) -> None:
        if found is None or self.deadlock is None or found.queues != self.deadlock.queues:
            self.deadlock = found
            if found is not None and all(found.queues != known.queues for known in self.deadlocks):
                self.deadlocks.append(found)

    def stopped(self, work_left: bool) -> str | None:
        """Return why nothing more will happen: a text, empty when all is done; None while something may."""
        deadlock = self._lasting_deadlock()
        if deadlock is not None:
            return deadlock.text()
        if self._quiet_since_ps is None:
            return None
        if not work_left and not any(len(port.queue) for port in self._ports):
            return self._after_upkeep("")
        if self._last_quiet_ps - self._quiet_since_ps >= self.patience_ps:
            return self._after_upkeep(self._held_up())
        return None

    def _lasting_deadlock(self) -> Deadlock | None:
        """Return the deadlock that has lasted for `patience`, unless a watchdog is there to break it.

        Whatever ended its pauses, a policy say, ended the looks too: so it is looked at once more.
        """
        suspect, now = self.deadlock, self._loop.now
        if suspect is None or self._breaks_deadlocks or now - suspect.time_ps < self.patience_ps:
            return None
        self._note(self._search.find(now))
        return suspect if self.deadlock is suspect else None

    def _after_upkeep(self, reason: str) -> str:
        """Let what upkeep has put on wires arrive, so that the books are balanced."""
        while not self._loop.only_upkeep:
            self._loop.run_events(1)
        return reason

    def _held_up(self) -> str:
        """Name who pauses whom, where frames wait for it."""
        assert self._quiet_since_ps is not None
        held = [
            f"{port.name} priority {queue.priority} {self._search.held_by} {port.far_end}"
            for port in self._ports
            for queue in port.scheduler.queues
            if queue.frames and port.transmitter.paused_mask & port.scheduler.obeyed_mask & queue.bit
        ]
        return (
            f"nothing has moved since {format_time(self._quiet_since_ps)}: {', '.join(held) or 'every NIC is held up'}"
        )
