"""``adaptive-ecn``: its three rules, port by port, and its limits."""

import pytest

from controllers.policy import SetEcn
from tests.controllers.policies.kit import acts, make, plan_of, port, queue, seen

PLAN = plan_of()
PORT = "leaf0-eth1"


def answers(watermark: int, marks: int, sent: float, **options: object) -> list[object]:
    policy = make("adaptive-ecn", **options)
    acts(policy.on_start(PLAN))
    return list(
        acts(
            policy.on_interval(
                seen(port(PLAN, PORT, queue(watermark_bytes=watermark, ecn_marked_packets=marks), sent=sent))
            )
        )
    )


def test_starts_with_the_options_on_every_port() -> None:
    first = acts(make("adaptive-ecn").on_start(PLAN))
    assert {(action.kmin, action.kmax) for action in first if isinstance(action, SetEcn)} == {(100_000, 400_000)}
    assert len(first) == sum(len(switch.ports) for switch in PLAN.switches)


def test_a_queue_beyond_kmax_halves_the_thresholds() -> None:
    assert answers(400_001, 5, 1.0) == [SetEcn(PORT, 3, 50_000, 200_000, 0.2)]


@pytest.mark.parametrize(("watermark", "marks", "sent"), [(400_000, 5, 1.0), (200_000, 0, 0.5), (0, 0, 0.0)])
def test_a_queue_within_kmax_is_left_alone_unless_marks_idle_the_link(watermark: int, marks: int, sent: float) -> None:
    assert answers(watermark, marks, sent) == []


def test_marks_on_a_link_that_is_not_busy_raise_the_thresholds() -> None:
    assert answers(200_000, 1, 0.94) == [SetEcn(PORT, 3, 125_000, 500_000, 0.2)]


def test_the_floor_and_the_ceiling_hold() -> None:
    assert answers(10**7, 1, 1.0, kmin="25KB", kmax="100KB") == [SetEcn(PORT, 3, 20_000, 80_000, 0.2)]
    assert answers(0, 1, 0.1, kmin="900KB", kmax="1800KB") == [SetEcn(PORT, 3, 10**6, 2 * 10**6, 0.2)]
    assert answers(10**7, 1, 1.0, kmin="20KB", kmax="80KB") == []


def test_each_port_has_thresholds_of_its_own() -> None:
    policy = make("adaptive-ecn")
    acts(policy.on_start(PLAN))
    long = queue(watermark_bytes=10**6)
    for kmin in (50_000, 25_000):
        (action,) = acts(policy.on_interval(seen(port(PLAN, PORT, long), port(PLAN, "leaf0-eth2"))))
        assert action == SetEcn(PORT, 3, kmin, 4 * kmin, 0.2)
