"""What the tests of policies share: telemetry made by hand, and a policy with its options as a scenario gives them."""

from collections.abc import Iterable, Mapping
from typing import Any

from controllers.policy import Action, FlowTelemetry, Policy, PortTelemetry, QueueTelemetry, Telemetry
from controllers.policy.catalogue import builtin_policy
from controllers.policy.options import read_options
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import FabricOptions

INTERVAL_PS = 50_000_000
RATE_BPS = 100_000_000_000
FULL_BYTES = RATE_BPS * INTERVAL_PS // (8 * 10**12)
"""What a 100 Gb/s wire carries in an interval of 50 us."""

LEAF_SPINE: Mapping[str, Any] = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}


def plan_of(topology: Mapping[str, Any] = LEAF_SPINE, ip: str = "ipv4") -> FabricPlan:
    return build_plan(FabricOptions.model_validate({"topology": topology, "ip": ip}))


def make(kind: str, **given: Any) -> Policy:
    """Return the policy `kind` with options as they stand in a scenario."""
    policy = builtin_policy(kind)
    values, mistakes = read_options(policy, kind, given)
    assert mistakes == []
    return policy(**values)


def queue(priority: int = 3, **counters: Any) -> QueueTelemetry:
    return QueueTelemetry(priority, **counters)


def port(
    plan: FabricPlan,
    name: str,
    *queues: QueueTelemetry,
    sent: float = 0.0,
    received: float = 0.0,
    flows: Iterable[FlowTelemetry] = (),
) -> PortTelemetry:
    """Return telemetry of one port; `sent` and `received` are shares of what the wire carries in an interval."""
    given = {each.priority: each for each in queues}
    switch, number = next(
        (switch, port.number) for switch in plan.switches for port in switch.ports if port.name == name
    )
    return PortTelemetry(
        name=name,
        switch=switch.name,
        number=number,
        peer=plan.far_end(name).node,
        rate_bps=RATE_BPS,
        sent_bytes=int(FULL_BYTES * sent),
        received_bytes=int(FULL_BYTES * received),
        utilisation=sent,
        dropped={},
        queues=tuple(given.get(priority, QueueTelemetry(priority)) for priority in range(8)),
        flows=tuple(flows),
    )


def seen(*ports: PortTelemetry, intervals: int = 1) -> Telemetry:
    return Telemetry(intervals * INTERVAL_PS, INTERVAL_PS, ports)


def acts(answer: Iterable[Action] | None) -> list[Action]:
    return [] if answer is None else list(answer)
