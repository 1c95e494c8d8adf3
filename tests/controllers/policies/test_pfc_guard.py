"""``pfc-guard``: it acts after `patience` pausing intervals in a row, and takes it back after `calm` quiet ones."""

from controllers.policy import Action, Policy, SetLossless, SetPfc
from tests.controllers.policies.kit import INTERVAL_PS, acts, make, plan_of, port, queue, seen

PLAN = plan_of()
PORT = "leaf0-eth1"


def after(policy: Policy, shares: list[float]) -> list[list[Action]]:
    """Return what the policy does in each of the intervals, in which the port paused its neighbour for `shares`."""
    queues = [queue(tx_pause_ps=int(share * INTERVAL_PS), ingress_alpha=0.125) for share in shares]
    return [acts(policy.on_interval(seen(port(PLAN, PORT, each)))) for each in queues]


def test_acts_after_patience_intervals_in_a_row() -> None:
    assert after(make("pfc-guard", patience=3), [0.5, 0.9, 0.5]) == [[], [], [SetLossless(PORT, 3, False)]]


def test_an_interval_with_fewer_pauses_begins_the_count_anew() -> None:
    assert after(make("pfc-guard", patience=3), [0.9, 0.9, 0.49, 0.9, 0.9]) == [[]] * 5


def test_turns_lossy_once_and_gives_protection_back_after_calm() -> None:
    done = after(make("pfc-guard", patience=1, calm=3), [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert done == [[SetLossless(PORT, 3, False)], [], [], [], [SetLossless(PORT, 3, True)], []]


def test_raises_the_threshold_step_by_step_and_back() -> None:
    done = after(make("pfc-guard", action="raise", patience=1, calm=2, alpha_max=0.5), [1.0, 1.0, 1.0, 0.0, 0.0])
    assert done == [[SetPfc(PORT, 3, 0.25)], [SetPfc(PORT, 3, 0.5)], [], [], [SetPfc(PORT, 3, 0.125)]]


def test_a_port_that_drops_is_not_calm() -> None:
    policy = make("pfc-guard", patience=1, calm=1)
    after(policy, [1.0])
    dropping = port(PLAN, PORT, queue(dropped_packets=1))
    assert acts(policy.on_interval(seen(dropping))) == []


def test_raise_starts_from_the_port_s_own_factor() -> None:
    policy = make("pfc-guard", action="raise", patience=1, calm=1)
    pausing = queue(tx_pause_ps=INTERVAL_PS, ingress_alpha=2.0)
    assert acts(policy.on_interval(seen(port(PLAN, PORT, pausing)))) == [SetPfc(PORT, 3, 4.0)]
    calm = queue(ingress_alpha=4.0)
    assert acts(policy.on_interval(seen(port(PLAN, PORT, calm)))) == [SetPfc(PORT, 3, 2.0)]


def test_raise_never_lowers() -> None:
    policy = make("pfc-guard", action="raise", patience=1, alpha_max=8.0)
    pausing = queue(tx_pause_ps=INTERVAL_PS, ingress_alpha=16.0)
    assert acts(policy.on_interval(seen(port(PLAN, PORT, pausing)))) == []
