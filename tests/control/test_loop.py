"""The control loop: when it looks, when its actions take effect, and when it ends."""

from typing import Any

import pytest

from controllers.channel import Exchanged
from controllers.policy import SetEcn, SetLossless, SetMeter, Telemetry
from testbed.control.actions import EngineActions
from testbed.control.exchange import ControlExchange, Maintenance
from testbed.control.loop import ControlLoop, Timing
from testbed.control.meters import MeteredForwarder
from testbed.control.observer import Observer
from testbed.errors import TestbedError
from testbed.scenario.model import LinkDown
from testbed.units import MICROSECOND
from tests.control.kit import Fabric, FakePolicy, FakeSwitches
from tests.engine.fabric_kit import PlannedForwarder

INTERVAL, LATENCY = 50 * MICROSECOND, 10 * MICROSECOND
TIMING = Timing(INTERVAL, LATENCY)


class Bench:
    """A fabric under a fake policy; its workload is done at the model time `done_ps`."""

    def __init__(self, policy: FakePolicy, done_ps: int, timing: Timing = TIMING) -> None:
        self.fabric = Fabric(qos={"pfc": {}})
        self.switches = FakeSwitches()
        self.policy = policy
        loop, model = self.fabric.loop, self.fabric.model
        self.metered = {"leaf0": MeteredForwarder(PlannedForwarder(self.fabric.plan, "leaf0"), loop)}
        maintenance = Maintenance(self.switches.forget, self.switches.protect)
        self.exchange = ControlExchange(loop, model, self.switches, self.switches, maintenance, timing.latency_ps)
        actions = EngineActions(model, self.metered)
        observer = Observer(self.fabric.plan, model, actions.ramps, actions.alphas, flows=False)
        self.loop = ControlLoop("mine", loop, policy, observer, actions, self.exchange, timing)
        self.done_ps = done_ps
        loop.at(done_ps, lambda _nothing: None)

    def run(self, *faults: LinkDown) -> None:
        self.loop.start(lambda: self.fabric.loop.now >= self.done_ps, faults)
        self.fabric.loop.run()

    def keep_busy(self) -> None:
        """Have an event in every interval."""
        for at in range(0, self.done_ps, INTERVAL // 2):
            self.fabric.loop.at(at, lambda _nothing: None)

    def kmin(self) -> int | None:
        ramp = self.loop._actions.ramps.get(("leaf0-eth1", 3))
        return ramp.kmin if ramp else None


def test_it_looks_once_every_interval_until_the_workload_is_done() -> None:
    bench = Bench(FakePolicy(), done_ps=170 * MICROSECOND)
    bench.keep_busy()
    bench.run()
    hooks = [("on_start", 0), *(("on_interval", number * INTERVAL) for number in (1, 2, 3))]
    assert bench.policy.asked == hooks
    assert bench.loop.looks == 3
    assert bench.fabric.loop.now == 200 * MICROSECOND  # the look that finds the workload done


def test_telemetry_is_of_the_time_of_the_look() -> None:
    times = []

    def note(hook: str, _time: int, argument: Any) -> tuple[Any, int]:
        if hook == "on_interval":
            seen = Telemetry.from_json(argument)
            times.append((seen.time_ps, seen.interval_ps, len(seen.ports)))
        return (), 0

    Bench(FakePolicy(note), done_ps=110 * MICROSECOND).run()
    assert times == [(INTERVAL, INTERVAL, 4), (2 * INTERVAL, INTERVAL, 4)]


def test_actions_take_effect_one_latency_later_and_those_of_the_start_at_once() -> None:
    def answer(hook: str, time_ps: int, _argument: Any) -> tuple[Any, int]:
        return [SetEcn("leaf0-eth1", 3, 1 + time_ps // INTERVAL, 100, 0.5)] if hook != "on_link_up" else (), 0

    bench = Bench(FakePolicy(answer), done_ps=120 * MICROSECOND)
    found: list[tuple[int, int | None]] = []
    for at in (0, 59, 60, 109, 110):
        bench.fabric.loop.at(at * MICROSECOND + 1, lambda at: found.append((at, bench.kmin())), at)
    bench.run()
    assert found == [(0, 1), (59, 1), (60, 2), (109, 2), (110, 3)]
    assert bench.loop.actions == 3


def test_a_latency_beyond_the_interval_keeps_the_answers_in_their_order() -> None:
    def answer(_hook: str, time_ps: int, _argument: Any) -> tuple[Any, int]:
        return [SetEcn("leaf0-eth1", 3, time_ps // MICROSECOND, 10**6, 0.5)], 0

    bench = Bench(FakePolicy(answer), 300 * MICROSECOND, Timing(INTERVAL, 120 * MICROSECOND))
    bench.keep_busy()
    found: list[int | None] = []
    for at in (169, 171, 221, 271):
        bench.fabric.loop.at(at * MICROSECOND, lambda _nothing: found.append(bench.kmin()))
    bench.run()
    assert found == [0, 50, 100, 150]


def test_openflow_actions_take_an_exchange_at_their_time() -> None:
    bench = Bench(FakePolicy(lambda hook, _time, _argument: ((), int(hook == "on_interval"))), 60 * MICROSECOND)
    bench.switches.answer = Exchanged(changed=True, cleared=[], emitting=["leaf0"])
    bench.run()
    assert bench.switches.log == [
        ("settle",), ("open",), ("exchange", INTERVAL + LATENCY, [], 2), ("forget",), ("collect", ["leaf0"]),
    ]  # fmt: skip


def test_links_are_told_of_when_they_fail_and_return() -> None:
    bench = Bench(FakePolicy(), done_ps=45 * MICROSECOND)
    bench.run(LinkDown.model_construct(kind="link-down", link="h0-leaf0", at=7 * MICROSECOND, until=30 * MICROSECOND))
    assert bench.policy.asked[1:] == [("on_link_down", 7 * MICROSECOND), ("on_link_up", 30 * MICROSECOND)]


def test_meters_are_set_and_taken_away() -> None:
    def answer(hook: str, time_ps: int, _argument: Any) -> tuple[Any, int]:
        rate = 10**9 if time_ps < 2 * INTERVAL else None
        return [SetMeter("leaf0-eth2", 26, rate, 1000)] if hook == "on_interval" else (), 0

    bench = Bench(FakePolicy(answer), done_ps=130 * MICROSECOND)
    found: list[list[int]] = []
    for at in (61, 111):
        bench.fabric.loop.at(at * MICROSECOND, lambda _nothing: found.append(list(bench.metered["leaf0"].meters)))
    bench.run()
    assert found == [[2], []]


def test_an_action_that_the_fabric_has_no_use_for_names_policy_and_time() -> None:
    bench = Bench(
        FakePolicy(lambda hook, _time, _argument: ([SetLossless("leaf0-eth1", 2, True)] * (hook == "on_interval"), 0)),
        done_ps=100 * MICROSECOND,
    )
    with pytest.raises(TestbedError, match=r"^policy mine, on_interval at 50us: .*; the action was SetLossless\("):
        bench.run()


def test_when_nothing_moves_any_more_it_gives_up_after_a_while() -> None:
    bench = Bench(FakePolicy(), done_ps=0)
    bench.loop.start(lambda: False)
    bench.fabric.loop.run()
    assert bench.loop.looks == 100


def test_a_policy_that_still_acts_is_waited_for() -> None:
    def answer(_hook: str, time_ps: int, _argument: Any) -> tuple[Any, int]:
        return [SetEcn("leaf0-eth1", 3, 1, 2, 0.5)] if time_ps == 80 * INTERVAL else (), 0

    bench = Bench(FakePolicy(answer), done_ps=0)
    bench.loop.start(lambda: False)
    bench.fabric.loop.run()
    assert bench.loop.looks == 180


def test_an_idle_gap_is_one_look_that_covers_it() -> None:
    seen = []

    def note(hook: str, _time: int, argument: Any) -> tuple[Any, int]:
        if hook == "on_interval":
            telemetry = Telemetry.from_json(argument)
            seen.append((telemetry.time_ps // INTERVAL, telemetry.interval_ps // INTERVAL))
        return (), 0

    bench = Bench(FakePolicy(note), done_ps=90_001 * INTERVAL + 1)
    bench.fabric.loop.at(80_000 * INTERVAL + 1, lambda _nothing: None)
    bench.run()
    assert seen == [(1, 1), (80_000, 79_999), (80_001, 1), (90_001, 10_000)]


def test_a_policy_that_sends_something_into_an_idle_fabric_sees_what_comes_of_it() -> None:
    def answer(_hook: str, time_ps: int, _argument: Any) -> tuple[Any, int]:
        return (), int(time_ps in (INTERVAL, 2 * INTERVAL))

    bench = Bench(FakePolicy(answer), done_ps=1000 * INTERVAL + 1)
    bench.switches.answer = Exchanged(changed=False, cleared=[], emitting=[])
    bench.run()
    assert [time_ps // INTERVAL for _, time_ps in bench.policy.asked] == [0, 1, 2, 3, 1000]
