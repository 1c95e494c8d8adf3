"""The three verdicts at their limits, and the factor that would have been safe."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from testbed.live.verdict import Pace, Verdict, judge, safe_factor
from tests.engine.kit import STEADY

GOOD = Pace(factor=1000, late_ns=99_999, packet_ns=100_000, busy=0.8, model_ps=10**9, wall_ns=10**9)


def test_less_than_a_packet_late_and_a_fifth_asleep_is_ok() -> None:
    assert judge(GOOD) is Verdict.OK
    assert safe_factor(GOOD) == 1000


def test_a_packet_late_is_degraded() -> None:
    assert judge(replace(GOOD, late_ns=100_000)) is Verdict.DEGRADED


def test_never_asleep_is_degraded_though_nothing_was_late() -> None:
    assert judge(replace(GOOD, busy=0.81)) is Verdict.DEGRADED


def test_ten_packets_late_is_invalid() -> None:
    assert judge(replace(GOOD, late_ns=999_999)) is Verdict.DEGRADED
    assert judge(replace(GOOD, late_ns=1_000_000)) is Verdict.INVALID


def test_a_process_that_fell_behind_needs_its_own_pace_and_half_the_time_asleep() -> None:
    """It took 4 s for 1 ms of model time: a factor of 4000, of which it was always busy: 4000 * 1.0 / 0.5."""
    behind = Pace(factor=1000, late_ns=3 * 10**9, packet_ns=100_000, busy=1.0, model_ps=10**9, wall_ns=4 * 10**9)
    assert safe_factor(behind) == 8000


def test_late_but_seldom_busy_needs_longer_packets() -> None:
    """The machine wakes late: 0.5 ms must be less than a packet's time, which is 0.1 ms at 1000."""
    assert safe_factor(replace(GOOD, late_ns=500_000, busy=0.1)) == 5000


@STEADY
@given(
    st.builds(
        Pace,
        factor=st.integers(1, 10**6),
        late_ns=st.integers(0, 10**10),
        packet_ns=st.integers(1, 10**8),
        busy=st.floats(0, 1),
        model_ps=st.integers(0, 10**12),
        wall_ns=st.integers(1, 10**12),
    )
)
def test_what_was_not_ok_asks_for_more(pace: Pace) -> None:
    assert (safe_factor(pace) > pace.factor) == (judge(pace) is not Verdict.OK)
