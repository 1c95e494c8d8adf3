"""Calibration on a wall that the test moves."""

from testbed.engine.loop import EventLoop
from testbed.live.calibrate import (
    Trial,
    calibrated,
    factor_for_lateness,
    factor_for_work,
    packet_cost_ns,
    rounded_up,
)


class Wall:
    """Wall time that moves by `step_ns` with each look, and by what events cost."""

    def __init__(self, step_ns: int) -> None:
        self.time_ns = 0
        self.step_ns = step_ns

    def now_ns(self) -> int:
        self.time_ns += self.step_ns
        return self.time_ns

    def sleep(self, _file: int, longest_ns: int) -> None:
        self.time_ns += longest_ns


class Sender:
    """A trial that sends a packet every `gap_ps`, which costs `cost_ns` of wall time, `packets` times."""

    def __init__(self, wall: Wall, cost_ns: int, packets: int = 10**9, gap_ps: int = 1_000_000) -> None:
        self.loop = EventLoop()
        self.sent = 0
        self._wall, self._cost_ns, self._packets, self._gap_ps = wall, cost_ns, packets, gap_ps
        self.loop.at(0, self._send)

    def _send(self, _nothing: object) -> None:
        self.sent += 1
        self._wall.time_ns += self._cost_ns
        if self.sent < self._packets:
            self.loop.at(self.loop.now + self._gap_ps, self._send)

    def trial(self) -> Trial:
        return Trial(self.loop, lambda: self.sent)


def test_what_a_packet_costs() -> None:
    wall = Wall(step_ns=100)
    cost = packet_cost_ns(Sender(wall, cost_ns=50_000).trial(), wall)
    assert 50_000 <= cost <= 52_000  # a few looks at the clock for each event


def test_a_trial_that_ends_early_still_tells() -> None:
    wall = Wall(step_ns=100)
    assert 50_000 <= packet_cost_ns(Sender(wall, cost_ns=50_000, packets=20).trial(), wall) <= 60_000


def test_a_trial_without_packets_costs_nothing() -> None:
    wall = Wall(step_ns=100)
    assert packet_cost_ns(Trial(EventLoop(), lambda: 0), wall) == 0.0


def test_work_of_all_nics_takes_half_of_the_time() -> None:
    """16 NICs with a packet every 335.84 ns, 100 us each: a second of model time costs 16 * 100 us / 335.84 ns s."""
    assert factor_for_work(100_000, 335_840, 16) == 16 * 100_000 * 1000 / 335_840 / 0.5


def test_lateness_is_half_a_packet_at_most() -> None:
    assert factor_for_lateness(1_000_000, 335_840) == 1_000_000_000 / (0.5 * 335_840)


def test_two_digits() -> None:
    assert [rounded_up(each) for each in (0.2, 9.9, 99.5, 101, 4567.8, 99_001)] == [1, 10, 100, 110, 4600, 100_000]


def test_the_whole() -> None:
    wall = Wall(step_ns=100)
    factor = calibrated(lambda: Sender(wall, cost_ns=50_000).trial(), packet_ps=1_000_000, nics=4, wall=wall)
    assert 400 <= factor <= 420  # 4 * 50 us / 1 us / 0.5, and what the looks at the clock cost
