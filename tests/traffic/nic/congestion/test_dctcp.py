"""DCTCP's window, step by step: what it learns from a window of acknowledgements, how it shrinks and grows."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.nic.pair import Pair, statuses
from traffic.nic.congestion import CongestionSample
from traffic.nic.congestion.dctcp import ALPHA_ONE, PACKET, Dctcp
from traffic.nic.requester import Requester
from traffic.nic.verbs import WcStatus

MTU = 1024
G = Fraction(1, 16)


def dctcp(initial_packets: int = 16, packets: int = 200, **options: Any) -> tuple[Pair, Dctcp, Requester]:
    """Return a QP with `packets` posted, whose window is `initial_packets`."""
    congestion = {"kind": "dctcp", "initial_window": f"{initial_packets * MTU}B", **options}
    pair = Pair(packets * MTU, mtu=MTU, timeout=6, congestion=congestion)
    control = pair.qp_a.congestion
    assert isinstance(control, Dctcp)
    return pair, control, pair.qp_a.requester


def acknowledge(control: Dctcp, requester: Requester, packets: int, marked: int = 0) -> None:
    """Acknowledge `packets` more, `marked` of which were; the requester has as many on their way as it may."""
    requester.unacknowledged += packets
    requester.next_sequence = requester.unacknowledged + requester.window
    if marked:
        control.on_ecn_echo(requester, marked, 0)
    control.on_ack(requester, 0)


def test_the_window_is_what_may_be_on_its_way() -> None:
    pair, _, requester = dctcp(initial_packets=4)
    pair.write(200 * MTU)
    pair.loop.run(until_ps=900_000)  # the fourth has just arrived, its acknowledgement has not
    assert requester.next_sequence == requester.window == pair.there.frames == 4
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]


def test_alpha_is_the_moving_share_of_marked_packets() -> None:
    """alpha = (1 - g) alpha + g F, once everything is acknowledged that was on its way when the window began."""
    _, control, requester = dctcp()
    acknowledge(control, requester, 1)  # ends the first window, which began before anything was sent
    alpha = 1 - G
    assert Fraction(control.alpha, ALPHA_ONE) == alpha
    for step, marked in enumerate((0, 5, 12, 1), 1):
        packets = requester.next_sequence + 1 - requester.unacknowledged
        acknowledge(control, requester, packets, marked)
        alpha = (1 - G) * alpha + G * Fraction(marked, packets)
        assert abs(Fraction(control.alpha, ALPHA_ONE) - alpha) < Fraction(2 * step, ALPHA_ONE)


def test_a_marked_window_shrinks_by_half_of_alpha() -> None:
    _, control, requester = dctcp(initial_packets=32)
    acknowledge(control, requester, 1, marked=1)
    assert control.alpha == ALPHA_ONE
    assert (control.window, requester.window) == (16 * PACKET, 16)


def test_an_unmarked_window_grows_by_a_packet() -> None:
    _, control, requester = dctcp(initial_packets=100)
    acknowledge(control, requester, 100)
    assert control.window == 101 * PACKET
    for _ in range(101):
        acknowledge(control, requester, 1)
    assert 101.9 * PACKET < control.window < 102 * PACKET  # packet by packet: 1 / W each, and W grows meanwhile


def test_growth_ends_at_the_largest_window() -> None:
    _, control, requester = dctcp(initial_packets=20, max_window=f"{21 * MTU}B")
    for _ in range(500):
        acknowledge(control, requester, 10)
    assert control.window == 21 * PACKET


def test_loss_halves_the_window_once() -> None:
    _, control, requester = dctcp(initial_packets=64)
    requester.next_sequence = 64
    control.on_nak(requester, 3, 0)
    control.on_nak(requester, 5, 0)
    assert control.window == 32 * PACKET
    requester.unacknowledged, requester.next_sequence = 64, 96
    control.on_nak(requester, 70, 0)
    assert control.window == 16 * PACKET


def test_a_timeout_leaves_one_packet() -> None:
    _, control, requester = dctcp(initial_packets=64)
    control.on_timeout(requester, 0)
    assert (control.window, requester.window, control.minimum) == (PACKET, 1, MTU)


@pytest.mark.parametrize("window", [1, 2, 15])
def test_a_window_smaller_than_the_acknowledgements_distance_does_not_wait_for_ever(window: int) -> None:
    pair, _, _ = dctcp(initial_packets=window, max_window=f"{window * MTU}B")
    pair.write(100 * MTU)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]
    assert pair.a.counters.local_ack_timeout_err == 0
    assert pair.back.frames >= 100 / window


def test_a_window_that_shrinks_below_what_is_on_its_way_goes_on() -> None:
    """Nobody asked for an acknowledgement of the last packets: one more may go, which asks."""
    pair, _, requester = dctcp(initial_packets=20)
    pair.write(100 * MTU)
    pair.loop.run(until_ps=1_700_000)
    requester.window = 1
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS], pair.story()
    assert pair.a.counters.local_ack_timeout_err == 0


@given(marks=st.sets(st.integers(0, 400)), lost=st.sets(st.integers(0, 200), max_size=12))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_everything_arrives_and_the_window_is_kept(marks: set[int], lost: set[int]) -> None:
    pair, control, requester = dctcp(initial_packets=8)
    pair.there.marks = marks.__contains__
    pair.there.loses = lost.__contains__
    pair.write(200 * MTU)
    while pair.loop.run_events(1):
        assert PACKET <= control.window == max(control.window, requester.window * PACKET)
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS], pair.story()
    assert bytes(pair.received) == pair.sent


def test_samples_and_statistics() -> None:
    _, control, requester = dctcp(initial_packets=64)
    samples: list[CongestionSample] = []
    control.record("h0-eth0", 17, samples)
    control.on_timeout(requester, 5)
    assert samples == [(5, "h0-eth0", 17, {"window_bytes": MTU, "alpha": 1.0})]
    found = control.statistics(5)
    assert (found.kind, found.minimum, found.values["window_bytes"]) == ("dctcp", MTU, MTU)
