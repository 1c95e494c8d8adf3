"""``reroute``: which flow moves, where to, and when none does."""

import pytest

from controllers.policy import Action, AddFlow, FlowTelemetry, Output, Policy
from tests.controllers.policies.kit import FULL_BYTES, acts, make, plan_of, port, seen

PLAN = plan_of()


def flow(port_number: int, share: float, ip: str = "10.1.0.2") -> FlowTelemetry:
    return FlowTelemetry("10.0.0.1", ip, port_number, int(share * FULL_BYTES))


FLOWS = (flow(50_000, 0.6), flow(50_001, 0.3))


def interval(policy: Policy, hot: float, cool: float, flows: tuple[FlowTelemetry, ...] = FLOWS) -> list[Action]:
    uplinks = port(PLAN, "leaf0-eth3", sent=hot, flows=flows), port(PLAN, "leaf0-eth4", sent=cool)
    return acts(policy.on_interval(seen(*uplinks)))


def policy(**options: object) -> Policy:
    made = make("reroute", **options)
    made.on_start(PLAN)
    return made


def test_the_largest_flow_moves_to_the_coolest_uplink() -> None:
    (action,) = interval(policy(), 0.9, 0.0)
    assert isinstance(action, AddFlow)
    assert action.switch == "leaf0"
    assert dict(action.flow.match) == {
        "eth_type": 0x0800,
        "ipv4_src": "10.0.0.1",
        "ipv4_dst": "10.1.0.2",
        "ip_proto": 17,
        "udp_src": 50_000,
    }
    assert action.flow.actions[-1] == Output(4)


def test_a_flow_that_the_cool_uplink_has_no_room_for_stays_and_a_smaller_one_moves() -> None:
    (action,) = interval(policy(), 0.95, 0.5)
    assert isinstance(action, AddFlow)
    assert dict(action.flow.match)["udp_src"] == 50_001


@pytest.mark.parametrize(("hot", "cool"), [(0.89, 0.0), (0.95, 0.7)])
def test_nothing_moves_off_a_link_that_is_not_hot_or_to_one_that_is_not_cool(hot: float, cool: float) -> None:
    assert interval(policy(), hot, cool) == []


def test_a_flow_that_is_alone_stays() -> None:
    assert interval(policy(), 1.0, 0.0, FLOWS[:1]) == []


def test_a_moved_flow_stays_for_a_while() -> None:
    made = policy(hold=3)
    moved = [len(interval(made, 1.0, 0.0, (*FLOWS[:1], flow(1, 2.0)))) for _ in range(5)]
    assert moved == [1, 0, 0, 1, 0]  # the other flow is larger than a link


def test_ipv6() -> None:
    made = make("reroute")
    made.on_start(plan_of(ip="ipv6"))
    six = tuple(FlowTelemetry("fd00::1", "fd00:1::2", number, 10) for number in (1, 2))
    (action,) = interval(made, 1.0, 0.0, six)
    assert isinstance(action, AddFlow)
    assert dict(action.flow.match)["ipv6_dst"] == "fd00:1::2"
