"""``static``: every switch port once, nothing afterwards."""

from controllers.policy import SetEcn
from tests.controllers.policies.kit import acts, make, plan_of, port, queue, seen


def test_every_switch_port_is_set_once() -> None:
    plan, policy = plan_of(), make("static", kmin="10KB", kmax="40KB", pmax=0.5)
    ports = [port.name for switch in plan.switches for port in switch.ports]
    assert acts(policy.on_start(plan)) == [SetEcn(name, 3, 10_000, 40_000, 0.5) for name in ports]


def test_nothing_changes_afterwards() -> None:
    plan, policy = plan_of(), make("static")
    congested = port(plan, "leaf0-eth1", queue(watermark_bytes=10**7, ecn_marked_packets=9), sent=1.0)
    assert acts(policy.on_interval(seen(congested))) == []
