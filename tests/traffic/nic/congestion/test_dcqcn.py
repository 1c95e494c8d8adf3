"""DCQCN's regimes against the equations of its paper, step by step.

a CNP:      Rt = Rc;  Rc = Rc (1 - alpha / 2);  alpha = (1 - g) alpha + g
no CNP:     alpha = (1 - g) alpha
increase:   max(T, BC) < F:  Rc = (Rt + Rc) / 2
            min(T, BC) > F:  Rt = Rt + i R_HAI;  Rc = (Rt + Rc) / 2
            otherwise:       Rt = Rt + R_AI;     Rc = (Rt + Rc) / 2
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.scenario.congestion import DcqcnOptions
from testbed.units import MICROSECOND
from tests.traffic.nic.pair import Pair
from traffic.nic.congestion import CongestionSample
from traffic.nic.congestion.dcqcn import Dcqcn
from traffic.nic.congestion.dcqcn_parameters import ALPHA_ONE
from traffic.nic.requester import Requester

LINE = 40_000_000_000
GIGABIT = 10**9
MEGABIT = 10**6
TIMER = 55 * MICROSECOND
START = 1000 * MICROSECOND
"""When the first CNP comes."""


def dcqcn(line_rate_bps: int = LINE, **options: Any) -> Dcqcn:
    text = {"kind": "dcqcn", **options}
    return Dcqcn.make(DcqcnOptions.model_validate(text), line_rate_bps)


def requester() -> Requester:
    return Pair().qp_a.requester


def alpha(control: Dcqcn) -> float:
    return control.log_data()["alpha"]


def cut(**options: Any) -> Dcqcn:
    """A QP that got one CNP, at START: Rc is 20 Gb/s, Rt 40 Gb/s, alpha 1."""
    control = dcqcn(**options)
    control.on_cnp(requester(), START)
    return control


# --- a CNP -----------------------------------------------------------------------------------------------------------


def test_starts_at_line_rate_without_a_limiter() -> None:
    control, sender = dcqcn(), requester()
    control.on_bytes_sent(sender, 4170, START)
    assert control.rate_bps == LINE
    assert sender.not_before_ps == 0


def test_cnp_cut() -> None:
    """alpha begins at 1, so the first CNP halves the rate, and leaves alpha at (1 - g) + g = 1."""
    control = cut()
    assert (control.rate_bps, control.target_bps, alpha(control)) == (20 * GIGABIT, LINE, 1.0)
    control.on_cnp(requester(), START + 50 * MICROSECOND)
    assert (control.rate_bps, control.target_bps) == (10 * GIGABIT, 20 * GIGABIT)
    assert control.cnps == 2


def test_a_cut_takes_half_of_alpha() -> None:
    control = cut(initial_alpha=0.25)
    assert control.rate_bps == LINE - LINE // 8
    g = Fraction(1, 256)
    assert Fraction(control.alpha, ALPHA_ONE) == (1 - g) * Fraction(1, 4) + g


def test_alpha_decay() -> None:
    """(1 - g)^n after n timers without a CNP; each step rounds down by less than 2^-32."""
    control = cut()
    for periods in (1, 2, 10, 100):
        control.catch_up(START + periods * TIMER)
        exact = Fraction(255, 256) ** periods
        assert 0 <= exact - Fraction(control.alpha, ALPHA_ONE) < Fraction(periods, ALPHA_ONE)


def test_alpha_timer_restarts_with_each_cnp() -> None:
    control = cut()
    control.on_cnp(requester(), START + TIMER - 1)
    control.catch_up(START + 2 * TIMER - 2)
    assert alpha(control) == 1.0
    control.catch_up(START + 2 * TIMER - 1)
    assert alpha(control) == 255 / 256


# --- increase --------------------------------------------------------------------------------------------------------


def test_fast_recovery() -> None:
    """F = 5 rounds, each half of the way back to the rate before the cut."""
    control = cut()
    for periods, rate in enumerate((30.0, 35.0, 37.5, 38.75, 39.375), 1):
        control.catch_up(START + periods * TIMER)
        assert (control.rate_bps, control.target_bps) == (rate * GIGABIT, LINE)
    assert control.time_stage == 5


def test_additive_increase() -> None:
    """After F rounds the target rises by R_AI each time, as long as only one of timer and bytes is beyond F."""
    control = cut()
    second = START + 50 * MICROSECOND
    control.on_cnp(requester(), second)  # target 20, rate 10 Gb/s
    control.catch_up(second + 5 * TIMER)
    rate, target = Fraction(control.rate_bps), 20 * GIGABIT
    for periods in range(6, 30):
        control.catch_up(second + periods * TIMER)
        target += 40 * MEGABIT
        rate = (target + rate) / 2
        assert control.target_bps == target
        assert 0 <= control.rate_bps - rate < 1  # rounded up


def test_hyper_increase() -> None:
    """Both beyond F: the i-th event adds i * R_HAI, i = min(T, BC) - F."""
    control, sender = cut(byte_counter="1MB", fast_recovery=2), requester()
    second = START + 50 * MICROSECOND
    control.on_cnp(sender, second)
    for number in range(1, 4):  # timer and bytes in turn: T and BC become 1, 2, 3
        control.catch_up(second + number * TIMER)
        control.on_bytes_sent(sender, 1_000_000, second + number * TIMER)
    assert (control.time_stage, control.byte_stage) == (3, 3)
    target, rate = control.target_bps, Fraction(control.rate_bps)
    # T counts to 4, then BC to 4, then T to 5, ...: min(T, BC) - F before each event is 1, 1, 2, 2, 3, 3
    for number, rounds in ((4, 1), (5, 2), (6, 3)):
        control.catch_up(second + number * TIMER)
        target, rate = target + rounds * 200 * MEGABIT, (target + rounds * 200 * MEGABIT + rate) / 2
        assert control.target_bps == target
        control.on_bytes_sent(sender, 1_000_000, second + number * TIMER)
        target, rate = target + rounds * 200 * MEGABIT, (target + rounds * 200 * MEGABIT + rate) / 2
        assert control.target_bps == target
        assert 0 <= control.rate_bps - rate < 2


def test_byte_counter() -> None:
    """Every 10 MB sent is an increase event; a CNP begins the count anew."""
    control, sender = cut(), requester()
    control.on_bytes_sent(sender, 9_999_999, START + 1)
    assert control.rate_bps == 20 * GIGABIT
    control.on_bytes_sent(sender, 1, START + 2)
    assert (control.rate_bps, control.byte_stage, control.time_stage) == (30 * GIGABIT, 1, 0)
    control.on_bytes_sent(sender, 9_999_999, START + 3)
    control.on_cnp(sender, START + 4)
    assert control.byte_stage == 0
    rate = control.rate_bps
    control.on_bytes_sent(sender, 1, START + 5)
    assert control.rate_bps == rate


def test_a_cnp_restarts_the_increase_timer() -> None:
    control = cut()
    control.on_cnp(requester(), START + TIMER - 1)
    control.catch_up(START + 2 * TIMER - 2)
    assert (control.rate_bps, control.time_stage) == (10 * GIGABIT, 0)
    control.catch_up(START + 2 * TIMER - 1)
    assert control.rate_bps == 15 * GIGABIT


# --- clamps ----------------------------------------------------------------------------------------------------------


def test_the_rate_stays_between_its_bounds() -> None:
    control = dcqcn()
    for number in range(100):
        control.on_cnp(requester(), START + number)
    assert control.rate_bps == 100 * MEGABIT == control.minimum
    control.catch_up(START + 10**13)
    assert control.rate_bps == control.target_bps == LINE


def test_a_queue_pair_at_line_rate_again_has_no_limiter() -> None:
    control, sender = cut(), requester()
    control.on_bytes_sent(sender, 4170, START + 1)
    limited_until = sender.not_before_ps
    assert limited_until == START + 1 + 2 * (4170 + 24) * 8 * 25  # 25 ps a bit at 40 Gb/s, half of that rate
    control.on_bytes_sent(sender, 4170, START + 10**12)
    assert not control.limited
    assert sender.not_before_ps == limited_until


def test_after_a_long_time_nothing_is_left_to_do() -> None:
    control = cut()
    control.catch_up(START + 10**13)
    assert control.alpha == 0
    control.on_cnp(requester(), START + 10**15)
    assert control.rate_bps == LINE  # alpha is 0: this CNP cuts nothing, and brings alpha to g
    assert alpha(control) == 1 / 256


# --- the firmware's differences --------------------------------------------------------------------------------------


def test_cuts_closer_than_the_interval_wait_for_it() -> None:
    control = cut(cut_interval="4us")
    control.on_cnp(requester(), START + MICROSECOND)
    assert control.rate_bps == 20 * GIGABIT
    control.catch_up(START + 4 * MICROSECOND - 1)
    assert control.rate_bps == 20 * GIGABIT
    control.catch_up(START + 4 * MICROSECOND)
    assert control.rate_bps == 10 * GIGABIT


def test_alpha_once_in_a_period() -> None:
    """However many CNPs a period has, alpha rises once, at its end; in a period without one it falls."""
    control = cut(alpha_update="period", alpha_timer="1us", initial_alpha=0.5)
    control.on_cnp(requester(), START + 1)
    assert alpha(control) == 0.5
    control.catch_up(START + MICROSECOND)
    assert alpha(control) == pytest.approx(255 / 256 * 0.5 + 1 / 256, abs=2**-31)
    risen = alpha(control)
    control.catch_up(START + 2 * MICROSECOND)
    assert alpha(control) == pytest.approx(255 / 256 * risen, abs=2**-31)


@pytest.mark.parametrize(
    ("rule", "by_timer", "by_bytes", "target"),
    [
        ("always", False, False, 20), ("always", True, False, 30), ("after-increase", False, False, 40),
        ("after-increase", True, False, 30), ("after-increase", False, True, 40), ("after-bytes", True, False, 40),
        ("after-bytes", False, True, 30),
    ],
)  # fmt: skip
def test_when_a_cut_lowers_the_target(rule: str, by_timer: bool, by_bytes: bool, target: int) -> None:
    control, sender = cut(clamp_target=rule, byte_counter="1MB"), requester()
    if by_bytes:
        control.on_bytes_sent(sender, 1_000_000, START + 1)
    control.on_cnp(sender, START + TIMER if by_timer else START + 2)
    assert control.target_bps == target * GIGABIT


def test_no_cut_takes_more_than_its_bound() -> None:
    assert cut(max_cut=0.25).rate_bps == 30 * GIGABIT


# --- against an independent reckoning --------------------------------------------------------------------------------


@dataclass
class Eager:
    """The equations, with every timer looked at in every microsecond."""

    rate: int = LINE
    target: int = LINE
    alpha: int = ALPHA_ONE
    bytes: int = 0
    times: int = 0
    byte_rounds: int = 0
    since_alpha: int | None = None
    since_increase: int | None = None

    G = ALPHA_ONE // 256
    F, AI, HAI, MINIMUM, BYTES, PERIOD = 5, 40 * MEGABIT, 200 * MEGABIT, 100 * MEGABIT, 100_000, 55

    def microsecond(self) -> None:
        if self.since_alpha is not None:
            self.since_alpha += 1
            if self.since_alpha == self.PERIOD:
                self.since_alpha = 0
                self.alpha = self.alpha * (ALPHA_ONE - self.G) // ALPHA_ONE
        if self.since_increase is not None:
            self.since_increase += 1
            if self.since_increase == self.PERIOD:
                self.since_increase = 0
                self.increase()
                self.times += 1

    def cnp(self) -> None:
        self.target = self.rate
        self.rate = max(self.MINIMUM, self.rate * (ALPHA_ONE - self.alpha // 2) // ALPHA_ONE)
        self.alpha = self.alpha * (ALPHA_ONE - self.G) // ALPHA_ONE + self.G
        self.times = self.byte_rounds = self.bytes = self.since_alpha = 0
        self.since_increase = 0 if self.rate < LINE else None

    def sent(self, size: int) -> None:
        if self.rate == LINE:
            return
        self.bytes += size
        while self.bytes >= self.BYTES and self.rate < LINE:
            self.bytes -= self.BYTES
            self.increase()
            self.byte_rounds += 1

    def increase(self) -> None:
        if max(self.times, self.byte_rounds) >= self.F:
            least = min(self.times, self.byte_rounds)
            self.target += (least - self.F) * self.HAI if least > self.F else self.AI
        self.target = min(self.target, LINE)
        self.rate = -(-(self.target + self.rate) // 2)
        if self.rate == LINE:
            self.since_increase = None


events = st.lists(
    st.tuples(
        st.sampled_from(["cnp", "sent", "sent", "look"]),
        st.sampled_from([0, 1, 7, 54, 55, 56, 200, 700]),
        st.sampled_from([1_082, 33_000, 150_000]),
    ),
    max_size=60,
)


@given(events=events)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_lazy_timers_do_what_eager_ones_do(events: list[tuple[str, int, int]]) -> None:
    control, eager, sender = dcqcn(byte_counter="100kB"), Eager(), requester()
    now = START
    for kind, wait, size in events:
        for _ in range(wait):
            eager.microsecond()
        now += wait * MICROSECOND
        if kind == "cnp":
            control.on_cnp(sender, now)
            eager.cnp()
        elif kind == "sent":
            control.on_bytes_sent(sender, size, now)
            eager.sent(size)
        else:
            control.statistics(now)
    control.catch_up(now)
    assert (control.rate_bps, control.target_bps, control.alpha) == (eager.rate, eager.target, eager.alpha)


# --- what is recorded ------------------------------------------------------------------------------------------------


def test_samples_are_of_the_times_of_the_changes() -> None:
    control, samples = dcqcn(), list[CongestionSample]()
    control.record("h0-eth0", 17, samples)
    control.on_cnp(requester(), START)
    control.on_bytes_sent(requester(), 4170, START + 3 * TIMER + 5)
    assert [(sample.time_ps, sample.values["rate_bps"]) for sample in samples] == [
        (START, 20 * GIGABIT),
        (START + TIMER, 30 * GIGABIT),
        (START + 2 * TIMER, 35 * GIGABIT),
        (START + 3 * TIMER, 37_500_000_000),
    ]
    assert {(sample.nic, sample.queue_pair) for sample in samples} == {("h0-eth0", 17)}
    assert samples[1].values == {"rate_bps": 30 * GIGABIT, "target_bps": LINE, "alpha": 255 / 256}


def test_statistics() -> None:
    control = cut()
    control.record("h0-eth0", 17, None)
    found = control.statistics(START + TIMER)
    assert (found.kind, found.nic, found.queue_pair, found.cnps) == ("dcqcn", "h0-eth0", 17, 1)
    assert (found.minimum, found.values["rate_bps"]) == (20 * GIGABIT, 30 * GIGABIT)
