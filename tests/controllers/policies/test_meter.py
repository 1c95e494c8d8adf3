"""``meter``: fast hosts of a congested switch, and no others."""

from controllers.policy import Action, Policy, SetMeter
from tests.controllers.policies.kit import acts, make, plan_of, port, queue, seen

PLAN = plan_of()


def interval(policy: Policy, watermark: int, **received: float) -> list[Action]:
    ports = [
        port(PLAN, f"leaf0-{name}", queue(watermark_bytes=watermark if name == "eth1" else 0), received=share)
        for name, share in received.items()
    ]
    return acts(policy.on_interval(seen(*ports)))


def policy(**options: object) -> Policy:
    made = make("meter", rate="25Gbps", burst="10KB", high="500KB", low="50KB", **options)
    made.on_start(PLAN)
    return made


def test_only_fast_hosts_are_metered_and_only_while_congested() -> None:
    made = policy()
    assert interval(made, 500_000, eth1=0.0, eth2=0.9) == []
    done = interval(made, 500_001, eth1=0.2, eth2=0.9, eth3=0.9)  # eth3 leads to a spine
    assert done == [SetMeter("leaf0-eth2", 26, 25 * 10**9, 10_000, 0)]
    assert interval(made, 600_000, eth1=0.2, eth2=0.9) == []  # it has its meter


def test_meters_go_when_all_queues_are_short() -> None:
    made = policy(remark=None)
    interval(made, 600_000, eth1=0.0, eth2=0.9)
    assert interval(made, 50_000, eth1=0.0, eth2=0.9) == []
    assert interval(made, 49_999, eth1=0.0, eth2=0.9) == [SetMeter("leaf0-eth2", 26, None)]
