"""What tests of the control loop share: a modelled fabric under traffic, a policy that is a function, fake switches."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from controllers.channel import Decision, Exchanged, PacketIn
from controllers.policy.actions import EngineAction, as_json
from testbed.engine.fabric import ModelFabric
from testbed.engine.loop import EventLoop
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan
from testbed.outside.ovs_forwarder import Emission
from testbed.scenario.model import FabricOptions
from tests.engine.fabric_kit import PlannedForwarder, TestNic, mark
from tests.engine.kit import frame_of

DATA_BYTES = 4200
"""A frame's bytes on the wire."""


def plan_of(**fabric: Any) -> FabricPlan:
    topology = fabric.pop("topology", {"kind": "single-switch", "hosts": 4})
    return build_plan(FabricOptions.model_validate({"topology": topology, **fabric}))


class Fabric:
    """A modelled fabric with test NICs; `send` puts frames on the way."""

    def __init__(self, qos: dict[str, Any] | None = None, **fabric: Any) -> None:
        options = FabricOptions.model_validate(
            {"topology": {"kind": "single-switch", "hosts": 4}, **fabric, **({} if qos is None else {"qos": qos})}
        )
        self.plan = build_plan(options)
        self.loop = EventLoop()
        self.drops: list[tuple[str, str]] = []
        self.nics = {nic.name: TestNic(self.loop) for nic in self.plan.nics}
        forwarders = {switch.name: PlannedForwarder(self.plan, switch.name) for switch in self.plan.switches}
        self.model = ModelFabric(
            self.plan, self.loop, forwarders, self.nics, lambda where, reason, _: self.drops.append((where, reason)),
            options.qos,
        )  # fmt: skip

    def send(self, source: int, to: int, frames: int, time_ps: int = 0) -> None:
        """Let NIC number `source` send `frames` frames to NIC `to`."""
        nic = list(self.nics.values())[source]
        for number in range(frames):
            self.loop.at(time_ps, nic.send, frame_of(DATA_BYTES, mark(source, to, number)))


@dataclass
class FakePolicy:
    """A policy in this process: `answer` is called with (hook, time, argument) and returns actions on the model and how
    many OpenFlow actions it keeps. `asked` are the hooks and times so far."""

    answer: Callable[[str, int, Any], tuple[Iterable[EngineAction], int]] = lambda _hook, _time, _argument: ((), 0)
    asked: list[tuple[str, int]] = field(default_factory=list)
    _answers: deque[Decision] = field(default_factory=deque)

    def ask_policy(self, hook: str, time_ps: int, argument: Any = None) -> int:
        self.asked.append((hook, time_ps))
        actions, kept = self.answer(hook, time_ps, argument)
        self._answers.append(Decision(len(self.asked), [as_json(action) for action in actions], kept))
        return len(self.asked)

    def decision(self) -> Decision:
        return self._answers.popleft()


@dataclass
class FakeSwitches:
    """Real switches and a controller, played by hand: what is put out in each exchange, and what was asked for.

    `emissions` has a list for each exchange to come; `log` notes what happened in which order.
    """

    emissions: deque[list[Emission]] = field(default_factory=deque)
    again: deque[list[PacketIn]] = field(default_factory=deque)
    answer: Exchanged = field(default_factory=lambda: Exchanged(False, [], []))
    log: list[tuple[Any, ...]] = field(default_factory=list)

    def settle(self) -> None:
        self.log.append(("settle",))

    def open_to_emissions(self) -> None:
        self.log.append(("open",))

    def exchange(self, time_ps: int, packet_ins: Sequence[int], decision: int | None) -> Exchanged:
        self.log.append(("exchange", time_ps, list(packet_ins), decision))
        return self.answer

    def collect(self, emitting: Iterable[str]) -> tuple[list[Emission], list[PacketIn]]:
        self.log.append(("collect", list(emitting)))
        found = self.emissions.popleft() if self.emissions else []
        return found, self.again.popleft() if self.again else []

    def forget(self) -> None:
        self.log.append(("forget",))

    def protect(self, switch: str) -> None:
        self.log.append(("protect", switch))

    @property
    def steps(self) -> list[str]:
        return [entry[0] for entry in self.log]
