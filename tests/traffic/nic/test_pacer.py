"""The rate limiter: exact in the long run, nothing saved up, no slower for a busy wire."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.engine.frame import wire_bytes
from testbed.units import SECOND
from traffic.nic.pacer import Pacer

sizes = st.lists(st.integers(62, 9000), min_size=1, max_size=200)
rates = st.integers(1_000_000, 800_000_000_000)


def exact_ps(frame_bytes: int, rate_bps: int) -> Fraction:
    """What the rate asks for: wire bits / rate."""
    return Fraction(wire_bytes(frame_bytes) * 8 * SECOND, rate_bps)


@given(rate=rates, frames=sizes, start=st.integers(0, 10**15))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_number_of_packets_start_within_a_picosecond_of_the_rate(rate: int, frames: list[int], start: int) -> None:
    pacer = Pacer(rate)
    now = start + 10**15  # long after anything before
    first, ideal = now, Fraction(now)
    for size in frames:
        now = pacer.next_start_ps(size, now)
        ideal += exact_ps(size, rate)
        assert 0 <= ideal - now < 1
    assert now > first


@given(steps=st.lists(st.tuples(rates, st.integers(62, 9000)), min_size=1, max_size=100))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_change_of_rate_costs_less_than_a_picosecond(steps: list[tuple[int, int]]) -> None:
    pacer = Pacer(10**9)
    now = 10**15
    ideal = Fraction(now)
    for changes, (rate, size) in enumerate(steps, 1):
        pacer.set_rate(rate)
        now = pacer.next_start_ps(size, now)
        ideal += exact_ps(size, rate)
        assert 0 <= ideal - now < 1 + changes


def test_the_gap_is_the_serialisation_at_the_rate() -> None:
    pacer = Pacer(1_000_000_000)
    assert pacer.next_start_ps(1226, 10**15) == 10**15 + 1250 * 8 * 1000  # 1226 B and 24 B more, 1 ns a bit


def test_a_busy_wire_costs_the_queue_pair_nothing() -> None:
    """Each packet starts late by less than a gap; the next are due as if it had been on time."""
    pacer = Pacer(1_000_000_000)
    gap = 1250 * 8 * 1000
    due = 10**15
    for number in range(50):  # the first one on time
        due_next = pacer.next_start_ps(1226, due + (gap - 1) * (number % 2))
        assert due_next == due + gap
        due = due_next


def test_nothing_is_saved_up_while_nothing_is_sent() -> None:
    pacer = Pacer(1_000_000_000)
    gap = 1250 * 8 * 1000
    now = pacer.next_start_ps(1226, 10**15) + gap  # late by a whole gap
    assert pacer.next_start_ps(1226, now) == now + gap
