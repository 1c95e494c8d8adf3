"""``pfc-guard``: stops a port from spreading pauses.

A switch port that pauses its neighbour for most of the time hands its congestion on, to flows that have no part in it.
When a port has done so for `patience` intervals in a row, one of two things happens to its priority, by `action`:

    lossy    flow control no longer protects it: what does not fit is dropped, and the neighbour may send
    raise    its threshold (alpha) is doubled, up to `alpha_max`: more is taken in before the neighbour is paused

After `calm` intervals without a pause, the port gets back what it had.

References: turning the priority lossy is what SONiC's PFC watchdog (action drop) does to a queue; here it happens at
the port that pauses, and by a controller.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from controllers.policy import Action, Actions, Policy, PortTelemetry, Priority, SetLossless, SetPfc, Share, Telemetry


@dataclass
class _Guard:
    """What is known of one port: intervals with and without pauses in a row, and what has been done.

    `alpha`: the threshold's factor now; `start`: before the guard touched it.
    """

    pausing: int = 0
    quiet: int = 0
    acted: bool = False
    start: float = 0.0
    alpha: float = 0.0


@dataclass
class PfcGuard(Policy):
    """Turns a priority lossy, or raises its threshold, on a port that spreads pauses.

    Options:
        priority: the lossless priority that is guarded.
        action: what is done, lossy or raise.
        share: a port spreads pauses when it paused its neighbour for this share of an interval.
        patience: after so many such intervals in a row the guard acts.
        calm: after so many intervals without a pause it takes that back.
        alpha: the threshold's factor that raise starts from and comes back to; null takes the port's own.
        alpha_max: raise goes no further; a port that is there already keeps what it has.
    """

    needs_section: ClassVar[str | None] = "fabric.qos.pfc"

    priority: Priority = 3
    action: Literal["lossy", "raise"] = "lossy"
    share: Share = 0.5
    patience: int = 4
    calm: int = 20
    alpha: float | None = None
    alpha_max: float = 8.0
    _guards: dict[str, _Guard] = field(default_factory=dict, init=False)

    def on_interval(self, seen: Telemetry) -> Actions:
        for port in seen.ports:
            guard = self._guard_of(port)
            self._note(guard, port, seen.interval_ps)
            if guard.pausing >= self.patience:
                guard.pausing = 0
                yield from self._act(guard, port.name)
            elif guard.acted and guard.quiet >= self.calm:
                guard.acted = False
                yield from self._restore(guard, port.name)

    def _guard_of(self, port: PortTelemetry) -> _Guard:
        if port.name not in self._guards:
            start = self.alpha if self.alpha is not None else port.queues[self.priority].ingress_alpha or 0.0
            self._guards[port.name] = _Guard(start=start, alpha=start)
        return self._guards[port.name]

    def _note(self, guard: _Guard, port: PortTelemetry, interval_ps: int) -> None:
        queue = port.queues[self.priority]
        guard.pausing = guard.pausing + 1 if queue.tx_pause_ps >= self.share * interval_ps else 0
        guard.quiet = 0 if queue.tx_pause_ps or queue.dropped_packets else guard.quiet + 1

    def _act(self, guard: _Guard, port: str) -> list[Action]:
        if self.action == "lossy":
            if guard.acted:
                return []
            guard.acted = True
            return [SetLossless(port, self.priority, False)]
        higher = min(guard.alpha * 2, self.alpha_max)
        if higher <= guard.alpha:
            return []
        guard.alpha, guard.acted = higher, True
        return [SetPfc(port, self.priority, higher)]

    def _restore(self, guard: _Guard, port: str) -> list[Action]:
        if self.action == "lossy":
            return [SetLossless(port, self.priority, True)]
        guard.alpha = guard.start
        return [SetPfc(port, self.priority, guard.start)]
