"""The control loop on the model clock: look, ask, act, one latency later.

    every `interval`:     a look at all switches goes to the policy, in the controller's process
    `latency` later:      its answer is waited for, if it is not here yet, and takes effect

In between the engine goes on: nothing can depend on the answer before its time, so policy and engine run at once, and
how long the policy takes changes no result. An action on the model takes effect by itself; OpenFlow actions take an
exchange (`testbed.control.exchange`), at the same model time.

While nothing moves but something will (a NIC waits for a timer), the looks in between are left out: the next one is at
the end of the last whole interval before the model's next event, and its telemetry covers the whole gap. So the
interval in which traffic returns is one of the usual length.

The loop ends with the workload. If nothing moves any more though work is left (a deadlock), it goes on for
`_PATIENCE_INTERVALS`: a policy may yet resolve it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from controllers.channel import Decision
from controllers.policy.actions import from_json
from controllers.policy.telemetry import PortTelemetry, Telemetry
from testbed.control.actions import EngineActions, ImpossibleAction
from testbed.control.exchange import ControlExchange
from testbed.control.observer import Observer
from testbed.engine.loop import EventLoop
from testbed.errors import TestbedError
from testbed.scenario.model import Fault, LinkDown
from testbed.units import format_time

_PATIENCE_INTERVALS = 100


class PolicyProcess(Protocol):
    """The policy, in another process: answers come in the order of the questions."""

    def ask_policy(self, hook: str, time_ps: int, argument: Any = None) -> int: ...

    def decision(self) -> Decision: ...


@dataclass(frozen=True, slots=True)
class Timing:
    """How often the policy looks, and how much later it takes effect."""

    interval_ps: int
    latency_ps: int


class ControlLoop:
    """Runs the policy called `name` on the clock of `loop`.

    Attributes:
        name: the policy's. looks: so far. actions: that took effect, those on the model and those by OpenFlow.
        gives_up: it ends when nothing has moved for long, though work is left.
    """

    def __init__(
        self,
        name: str,
        loop: EventLoop,
        policy: PolicyProcess,
        observer: Observer,
        actions: EngineActions,
        exchange: ControlExchange,
        timing: Timing,
    ) -> None:
        self.looks = self.actions = 0
        self.name = name
        self.gives_up = True
        self._stopped = False
        self._loop = loop
        self._policy = policy
        self._observer = observer
        self._actions = actions
        self._exchange = exchange
        self._timing = timing
        self._done: Callable[[], bool] = _never
        self._asked: deque[tuple[str, int]] = deque()
        self._idle = 0
        self._next_look_ps = 0

    def start(self, done: Callable[[], bool], faults: Sequence[Fault] = ()) -> None:
        """Let the policy set up the fabric, at once, and schedule its first look; links that will fail are told of.

        The loop ends when `done` says that the workload is.
        """
        self._done = done
        self._ask("on_start")
        self._act(None)
        self._look_at(self._loop.now + self._timing.interval_ps)
        for fault in faults:
            if isinstance(fault, LinkDown):
                self._loop.upkeep_at(fault.at, self._on_link_down, fault.link)
                if fault.until is not None:
                    self._loop.upkeep_at(fault.until, self._on_link_up, fault.link)

    def stop(self) -> None:
        """End the loop: another policy takes over. Answers that have not been taken are thrown away."""
        self._stopped = True
        for _ in self._asked:
            self._policy.decision()

    def tell_of_link(self, link: str, *, up: bool) -> None:
        """Tell the policy of a link that has just failed or come back."""
        self._ask_and_act("on_link_up" if up else "on_link_down", link)

    def _look_at(self, time_ps: int) -> None:
        self._next_look_ps = time_ps
        self._loop.upkeep_at(time_ps, self._tick)

    def _tick(self, _nothing: None) -> None:
        """An interval is over, or several in which nothing moved."""
        if self._stopped or self._loop.now != self._next_look_ps:
            return  # it has ended; or a later look was planned, and an earlier one took its place
        self._idle = self._idle + 1 if self._loop.only_upkeep else 0
        if self._done() or (self.gives_up and self._idle > _PATIENCE_INTERVALS):
            return
        self.looks += 1
        seen = self._observer.look()
        self._ask_and_act("on_interval", seen.as_json())
        self._look_at(self._loop.now + self._timing.interval_ps * self._intervals_to_wait(seen))

    def _intervals_to_wait(self, seen: Telemetry) -> int:
        """Return after how many intervals to look again: one, or all that end before anything moves again."""
        work_ps = self._loop.next_work_time() if _nothing_moves(seen) else None
        return 1 if work_ps is None else max(1, (work_ps - self._loop.now) // self._timing.interval_ps)

    def _look_soon(self) -> None:
        """What was just done may move frames: look at the end of this interval, not when the model alone would move."""
        planned_ps, interval_ps = self._next_look_ps, self._timing.interval_ps
        intervals = (planned_ps - self._loop.now - 1) // interval_ps
        if intervals > 0:
            self._look_at(planned_ps - intervals * interval_ps)

    def _on_link_down(self, link: str) -> None:
        self.tell_of_link(link, up=False)

    def _on_link_up(self, link: str) -> None:
        self.tell_of_link(link, up=True)

    def _ask_and_act(self, hook: str, argument: Any) -> None:
        if self._stopped or self._done():
            return
        self._ask(hook, argument)
        self._loop.upkeep_at(self._loop.now + self._timing.latency_ps, self._act)

    def _ask(self, hook: str, argument: Any = None) -> None:
        self._policy.ask_policy(hook, self._loop.now, argument)
        self._asked.append((hook, self._loop.now))

    def _act(self, _nothing: None) -> None:
        """The time of the oldest question's answer has come."""
        if self._stopped:
            return
        hook, asked_ps = self._asked.popleft()
        decision = self._policy.decision()
        for value in decision.actions:
            try:
                self._actions.apply(from_json(value))
            except ImpossibleAction as error:
                raise TestbedError(f"policy {self.name}, {hook} at {format_time(asked_ps)}: {error}") from None
        if decision.kept:
            self._exchange.perform(decision=decision.serial)
            self._look_soon()
        done = len(decision.actions) + decision.kept
        self.actions += done
        if done:
            self._idle = 0


def _nothing_moves(seen: Telemetry) -> bool:
    return all(map(_is_still, seen.ports))


def _is_still(port: PortTelemetry) -> bool:
    """Whether nothing crossed a port in an interval, nothing waits there, and no pause holds anything back."""
    return not (port.sent_bytes or port.received_bytes) and not any(
        queue.queue_bytes or queue.ingress_bytes or queue.rx_pause_ps or queue.tx_pause_ps for queue in port.queues
    )


def _never() -> bool:
    return False
