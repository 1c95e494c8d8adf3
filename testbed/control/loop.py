"""The control loop on the model clock: look, ask, act, one latency later.

    every `interval`:     a look at all switches goes to the policy, in the controller's process
    `latency` later:      its answer is waited for, if it is not here yet, and takes effect

In between the engine goes on: nothing can depend on the answer before its time, so policy and engine run at once, and
how long the policy takes changes no result. An action on the model takes effect by itself; OpenFlow actions take an
exchange (`testbed.control.exchange`), at the same model time.

The loop ends with the workload. If nothing moves any more though work is left (a deadlock), it goes on for
`_PATIENCE_INTERVALS`: a policy may yet resolve it.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from controllers.channel import Decision
from controllers.policy.actions import from_json
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
        looks: so far. actions: that took effect, those on the model and those by OpenFlow.
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
        self._name = name
        self._loop = loop
        self._policy = policy
        self._observer = observer
        self._actions = actions
        self._exchange = exchange
        self._timing = timing
        self._done: Callable[[], bool] = _never
        self._asked: deque[tuple[str, int]] = deque()
        self._idle = 0

    def start(self, done: Callable[[], bool], faults: Sequence[Fault] = ()) -> None:
        """Let the policy set up the fabric, at once, and schedule its first look; links that will fail are told of.

        The loop ends when `done` says that the workload is.
        """
        self._done = done
        self._ask("on_start")
        self._act(None)
        self._loop.upkeep_at(self._loop.now + self._timing.interval_ps, self._tick)
        for fault in faults:
            if isinstance(fault, LinkDown):
                self._loop.upkeep_at(fault.at, self._on_link_down, fault.link)
                if fault.until is not None:
                    self._loop.upkeep_at(fault.until, self._on_link_up, fault.link)

    def _tick(self, _nothing: None) -> None:
        """An interval is over."""
        self._idle = self._idle + 1 if self._loop.only_upkeep else 0
        if self._done() or self._idle > _PATIENCE_INTERVALS:
            return
        self.looks += 1
        self._ask_and_act("on_interval", self._observer.look().as_json())
        self._loop.upkeep_at(self._loop.now + self._timing.interval_ps, self._tick)

    def _on_link_down(self, link: str) -> None:
        self._ask_and_act("on_link_down", link)

    def _on_link_up(self, link: str) -> None:
        self._ask_and_act("on_link_up", link)

    def _ask_and_act(self, hook: str, argument: Any) -> None:
        if self._done():
            return
        self._ask(hook, argument)
        self._loop.upkeep_at(self._loop.now + self._timing.latency_ps, self._act)

    def _ask(self, hook: str, argument: Any = None) -> None:
        self._policy.ask_policy(hook, self._loop.now, argument)
        self._asked.append((hook, self._loop.now))

    def _act(self, _nothing: None) -> None:
        """The time of the oldest question's answer has come."""
        hook, asked_ps = self._asked.popleft()
        decision = self._policy.decision()
        for value in decision.actions:
            try:
                self._actions.apply(from_json(value))
            except ImpossibleAction as error:
                raise TestbedError(f"policy {self._name}, {hook} at {format_time(asked_ps)}: {error}") from None
        if decision.kept:
            self._exchange.perform(decision=decision.serial)
        done = len(decision.actions) + decision.kept
        self.actions += done
        if done:
            self._idle = 0


def _never() -> bool:
    return False
