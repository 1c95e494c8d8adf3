"""``openflow-pause``: who is paused, that it is repeated, and when it ends."""

from controllers.policy import Action, Policy, SendPause
from tests.controllers.policies.kit import acts, make, plan_of, port, queue, seen

PLAN = plan_of()


def level(policy: Policy, queued: int, *held: int) -> list[Action]:
    """`queued` bytes wait at the first port of leaf0; its other ports hold `held` bytes of what arrived."""
    ports = [port(PLAN, "leaf0-eth1", queue(queue_bytes=queued))]
    ports += [port(PLAN, f"leaf0-eth{number}", queue(ingress_bytes=each)) for number, each in enumerate(held, start=2)]
    return acts(policy.on_interval(seen(*ports)))


def test_contributors_are_paused_and_others_not() -> None:
    policy = make("openflow-pause", xoff="500KB", share=0.1)
    assert level(policy, 500_000, 300_000, 200_000, 0) == []
    paused = level(policy, 500_001, 460_000, 56_000, 40_000)
    assert paused == [SendPause(f"leaf0-eth{number}", 3, 0xFFFF) for number in (2, 3)]  # eth4 holds less than a tenth


def test_a_pause_is_refreshed_while_the_queue_is_long_and_ended_when_it_is_short() -> None:
    policy = make("openflow-pause", xoff="500KB", xon="100KB", quanta=100)
    assert level(policy, 600_000, 600_000) == [SendPause("leaf0-eth2", 3, 100)]
    assert level(policy, 600_000, 0) == [SendPause("leaf0-eth2", 3, 100)]
    assert level(policy, 300_000, 0) == []
    assert level(policy, 99_999, 0) == [SendPause("leaf0-eth2", 3, 0)]
    assert level(policy, 0, 0) == []
