"""One direction of a link: when frames arrive, in which order, and that none is lost without a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.frame import Frame
from tests.engine.kit import STEADY, Wire, frame_of

RATES_BPS = [10**7, 10**8, 1_234_567_891, 25 * 10**9, 100 * 10**9, 400 * 10**9, 800 * 10**9]
"""One of them divides nothing, so that rounding shows."""

schedules = st.lists(st.tuples(st.integers(0, 900_000), st.integers(84, 4200)), min_size=1, max_size=30)
"""(idle time before the send in picoseconds, size on the wire in bytes) of each frame."""


def serialisation(wire_bytes: int, rate_bps: int) -> int:
    """size * 8 / rate, in whole picoseconds, rounded up: the textbook's transmission delay."""
    exact = wire_bytes * 8 * 10**12
    return exact // rate_bps + (exact % rate_bps > 0)


class LoseMarked:
    """An impairment that loses a frame where a list says so: on departure (``d``) or in flight (``f``)."""

    def __init__(self, fates: str) -> None:
        self._departing = iter(fates)
        self._fate_at: dict[int, str] = {}

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - the hook's signature
        fate = self._fate_at[now] = next(self._departing)
        return "departure" if fate == "d" else None

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002 - the hook's signature
        return "flight" if self._fate_at[departed_ps] == "f" else None


def schedule(wire: Wire, sends: list[tuple[int, int]]) -> None:
    time = 0
    for mark, (gap, size) in enumerate(sends):
        time += gap
        wire.loop.at(time, wire.send, frame_of(size, mark))


@pytest.mark.parametrize("rate_bps", RATES_BPS)
@pytest.mark.parametrize("size", [84, 4182, 9040])
def test_idle_wire_delays_by_serialisation_and_propagation(rate_bps: int, size: int) -> None:
    wire = Wire(rate_bps, delay_ps=500_000)
    wire.loop.run(until_ps=1_234)
    wire.send(frame_of(size))
    wire.loop.run()
    assert wire.arrivals.times == [1_234 + serialisation(size, rate_bps) + 500_000]


def test_serialisation_of_known_sizes() -> None:
    assert serialisation(84, 10**7) == 67_200_000  # 67.2 us: the shortest frame at 10 Mb/s
    assert serialisation(1538, 10**9) == 12_304_000
    assert serialisation(4182, 400 * 10**9) == 83_640


@pytest.mark.parametrize("rate_bps", RATES_BPS)
def test_back_to_back_frames_leave_no_gap(rate_bps: int) -> None:
    frames = tuple(frame_of(4182, mark) for mark in range(5))
    wire = Wire(rate_bps, 500_000, frames)
    wire.transmitter.kick()
    wire.loop.run()
    one = serialisation(4182, rate_bps)
    assert wire.arrivals.times == [500_000 + one * (n + 1) for n in range(5)]
    assert wire.transmitter.busy_ps == 5 * one
    assert (wire.transmitter.sent_frames, wire.transmitter.sent_bytes) == (5, 5 * 4182)


def test_an_idle_wire_costs_no_event() -> None:
    wire = Wire()
    wire.transmitter.kick()
    assert wire.loop.next_time() is None


def test_kicks_of_a_busy_wire_cost_one_event() -> None:
    wire = Wire(frames=(frame_of(1000),))
    wire.transmitter.kick()
    for number in range(5):
        wire.send(frame_of(1000, number))
    events = 1
    while wire.loop.run_events(1):
        events += 1
    assert events == 6 + 5  # an arrival each, and a wake-up for each frame behind the first


@STEADY
@given(schedules, st.sampled_from(RATES_BPS), st.integers(0, 2_000_000))
def test_every_schedule_is_first_in_first_out_and_work_conserving(
    sends: list[tuple[int, int]], rate_bps: int, delay_ps: int
) -> None:
    wire = Wire(rate_bps, delay_ps)
    schedule(wire, sends)
    wire.loop.run()
    expected, free_at, time = [], 0, 0
    for gap, size in sends:  # Lindley's recursion of a queue with one server
        time += gap
        free_at = max(time, free_at) + serialisation(size, rate_bps)
        expected.append(free_at + delay_ps)
    assert wire.arrivals.marks == list(range(len(sends)))
    assert wire.arrivals.times == expected


@STEADY
@given(schedules, st.data())
def test_sent_is_delivered_or_lost_or_in_flight_at_every_instant(
    sends: list[tuple[int, int]], data: st.DataObject
) -> None:
    wire = Wire()
    fates = data.draw(st.text("-df", min_size=len(sends), max_size=len(sends)))
    lost: list[str] = []
    wire.transmitter.impair(LoseMarked(fates))
    wire.transmitter.on_lost = lambda reason, _frame: lost.append(reason)
    schedule(wire, sends)
    while wire.loop.run_events(1):
        assert 0 <= wire.transmitter.in_flight <= wire.transmitter.sent_frames
        assert wire.transmitter.delivered_frames == len(wire.arrivals.log)
    assert wire.transmitter.in_flight == 0
    assert wire.transmitter.sent_frames == len(sends)
    assert wire.arrivals.marks == [mark for mark, fate in enumerate(fates) if fate == "-"]
    counts = {"departure": fates.count("d"), "flight": fates.count("f")}
    assert wire.transmitter.lost == {reason: count for reason, count in counts.items() if count}
    assert len(lost) == sum(counts.values())


@STEADY
@given(schedules, st.lists(st.integers(0, 20_000_000), max_size=30))
def test_kicks_too_many_change_nothing(sends: list[tuple[int, int]], kicks: list[int]) -> None:
    plain, kicked = Wire(), Wire()
    for time in kicks:
        kicked.loop.at(time, kicked.kick)
    for wire in (plain, kicked):
        schedule(wire, sends)
        wire.loop.run()
    assert kicked.arrivals.times == plain.arrivals.times
    assert kicked.transmitter.busy_ps == plain.transmitter.busy_ps


def test_a_kick_in_the_instant_the_wire_is_free_sends_once() -> None:
    one = serialisation(1000, 100 * 10**9)
    wire = Wire(delay_ps=0, frames=(frame_of(1000, 0), frame_of(1000, 1), frame_of(1000, 2)))
    wire.loop.at(one, wire.kick)  # before the transmitter schedules its own event for this time
    wire.transmitter.kick()
    wire.loop.run()
    assert wire.arrivals.times == [one, 2 * one, 3 * one]


def test_hooks_see_each_frame_at_its_time() -> None:
    wire = Wire(delay_ps=500_000, frames=(frame_of(1000, 0), frame_of(1000, 1)))
    sent: list[int] = []
    heard: list[tuple[int, int]] = []
    wire.transmitter.on_sent = lambda now, _frame: sent.append(now)
    wire.transmitter.listen(lambda now, _frame: heard.append((now, len(wire.arrivals.log))))
    wire.transmitter.kick()
    wire.loop.run()
    one = serialisation(1000, 100 * 10**9)
    assert sent == [0, one]
    assert heard == [(one + 500_000, 0), (2 * one + 500_000, 1)]  # each before its receiver had it
    assert len(wire.arrivals.log) == 2


def test_a_listener_hears_nothing_of_a_lost_frame() -> None:
    wire = Wire(frames=tuple(frame_of(1000, mark) for mark in range(3)))
    heard: list[Frame] = []
    wire.transmitter.impair(LoseMarked("d-f"))
    wire.transmitter.listen(lambda _now, frame: heard.append(frame))
    wire.transmitter.kick()
    wire.loop.run()
    assert heard == [frame for _, frame in wire.arrivals.log]
    assert wire.arrivals.marks == [1]


def test_only_data_counts_as_packet_hops() -> None:
    wire = Wire(frames=(frame_of(1000), frame_of(100, is_data=False), frame_of(1000)))
    wire.transmitter.kick()
    wire.loop.run()
    assert (wire.transmitter.data_hops, wire.transmitter.sent_frames) == (2, 3)
