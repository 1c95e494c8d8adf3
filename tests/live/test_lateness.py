from hypothesis import given
from hypothesis import strategies as st

from testbed.live.lateness import Lateness
from tests.engine.kit import STEADY


def of(*late_ns: int) -> Lateness:
    lateness = Lateness()
    for each in late_ns:
        lateness.add(each)
    return lateness


def test_nothing_has_run_yet() -> None:
    assert of().percentile_ns(0.99) == 0


def test_an_early_event_is_on_time() -> None:
    lateness = of(-5)
    assert (lateness.events, lateness.worst_ns, lateness.percentile_ns(1)) == (1, 0, 0)


def test_the_worst_is_exact() -> None:
    assert of(1, 1_234_567, 3).worst_ns == 1_234_567


@STEADY
@given(st.lists(st.integers(0, 10**11), min_size=1, max_size=300), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_percentile_is_at_most_an_eighth_too_high_and_never_too_low(late_ns: list[int], share: float) -> None:
    found = of(*late_ns).percentile_ns(share)
    within = sum(each <= found for each in late_ns)
    assert within >= share * len(late_ns)
    ranked = sorted(late_ns)
    true = ranked[max(0, -(-int(share * 1000) * len(late_ns) // 1000) - 1)]
    assert true <= found <= true * 9 / 8 + 1
