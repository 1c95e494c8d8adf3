"""The notification point: CNPs byte for byte, no more often than the interval, for marked data only; and the echo."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.units import MICROSECOND
from tests.traffic.nic.pair import Pair, statuses
from traffic.nic import connect
from traffic.nic.hooks import Hooks
from traffic.nic.requester import Requester
from traffic.nic.verbs import WcStatus
from traffic.wire.packet import parse

MTU = 1024
CNP = bytes.fromhex(
    "020000000002020000000001080045c2003c00004000401125ed0a0000010a000002c00012b7002800008100ffff4000001200000000"
    "000000000000000000000000000000007a6fd95d"
)
"""From 10.0.0.1 to the QP 0x12 of 10.0.0.2, made with zlib alone and matched by scapy."""


def dcqcn(**options: object) -> dict[str, object]:
    return {"kind": "dcqcn", **options}


def is_cnp(data: bytes) -> bool:
    packet = parse(data)
    assert packet is not None
    return packet.opcode == 0x81


def cnp_frames(pair: Pair) -> list[bytes]:
    """Return the CNPs that host b put on the wire."""
    return [data for data in pair.back.bytes_of if is_cnp(data)]


def cnp_times_us(pair: Pair) -> list[float]:
    found = [re.search(r"<< CNP\(psn=0\) at ([\d.]+)(ns|us)", step) for step in pair.transcript]
    return [float(match[1]) / (1000 if match[2] == "ns" else 1) for match in found if match]


def test_the_cnp_byte_for_byte() -> None:
    pair = Pair(congestion=dcqcn())
    near, _ = connect(pair.a, pair.b, pair.settings, source_port=49152)
    assert near.peer is not None
    assert near.peer.queue_pair == 0x12
    assert near.notification is not None
    near.notification.on_marked()
    pair.loop.run()
    assert pair.there.bytes_of == [CNP]


def test_the_cnp_goes_to_the_queue_pair_that_sent_and_has_its_own_dscp() -> None:
    pair = Pair(mtu=MTU, congestion=dcqcn(), cnp_dscp=50)
    pair.there.marks = {3}.__contains__
    pair.write(10 * MTU)
    pair.loop.run()
    (frame,) = cnp_frames(pair)
    packet = parse(frame)
    assert packet is not None
    assert (packet.destination_qp, packet.traffic_class >> 2, packet.becn) == (pair.qp_a.number, 50, True)
    assert pair.a.counters.rp_cnp_handled == pair.b.counters.np_cnp_sent == 1
    assert pair.b.counters.np_ecn_marked_roce_packets == 1
    assert pair.a.rate_bps > pair.a.congestion_statistics()[0].minimum


def test_no_cnp_for_unmarked_packets() -> None:
    pair = Pair(mtu=MTU, congestion=dcqcn())
    pair.write(40 * MTU)
    pair.loop.run()
    assert pair.b.counters.np_cnp_sent == pair.b.counters.np_ecn_marked_roce_packets == 0
    assert not cnp_frames(pair)


def test_marked_acknowledgements_are_counted_and_not_answered() -> None:
    pair = Pair(mtu=MTU, ack_every=1, congestion=dcqcn())
    pair.back.marks = lambda _number: True
    pair.write(10 * MTU)
    pair.loop.run()
    assert pair.a.counters.np_ecn_marked_roce_packets == 10
    assert pair.a.counters.np_cnp_sent == 0


@pytest.mark.parametrize("interval_us", [4, 50])
def test_cnp_interval(interval_us: int) -> None:
    """All packets are marked: a CNP goes with the first one, and with the first after each interval."""
    pair = Pair(2**20, mtu=4096, congestion=dcqcn(cnp_interval=f"{interval_us}us", min_rate="50Gbps"))
    pair.there.marks = lambda _number: True
    pair.write(2**20)
    pair.loop.run()
    times = cnp_times_us(pair)
    apart = [later - earlier for earlier, later in pairwise(times)]
    packet_us = 4194 * 8 / 50e3  # at 50 Gb/s, to which the CNPs bring the QP down
    assert len(times) > 2
    assert all(interval_us <= gap <= interval_us + packet_us + 1e-6 for gap in apart), pair.story()


def test_the_interval_is_each_queue_pairs_own() -> None:
    pair = Pair(mtu=MTU, congestion=dcqcn())
    _, far = connect(pair.a, pair.b, pair.settings, source_port=50_000)
    for qp in (pair.qp_b, far, pair.qp_b, far):
        assert qp.notification is not None
        qp.notification.on_marked()
    assert pair.b.counters.np_cnp_sent == 2


@given(marks=st.sets(st.integers(0, 300)), lost=st.sets(st.integers(0, 60), max_size=6))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_cnps_sent_are_handled_or_lost(marks: set[int], lost: set[int]) -> None:
    pair = Pair(200 * MTU, mtu=MTU, timeout=5, congestion=dcqcn(cnp_interval="2us"))
    pair.there.marks = marks.__contains__
    pair.back.loses = lost.__contains__
    pair.write(200 * MTU)
    pair.loop.run()
    lost_frames = [pair.back.bytes_of[number] for number in lost if number < pair.back.frames]
    gone = len([frame for frame in lost_frames if is_cnp(frame)])
    counters = pair.a.counters
    assert pair.b.counters.np_cnp_sent == counters.rp_cnp_handled + counters.rp_cnp_ignored + gone
    assert pair.b.counters.np_ecn_marked_roce_packets == len([n for n in marks if n < pair.there.frames])


def test_without_congestion_control_receivers_answer_only_if_asked_to() -> None:
    for options, cnps in ((None, 0), ({"kind": "none"}, 0), ({"kind": "none", "cnp_interval": "1us"}, 2)):
        pair = Pair(mtu=MTU, congestion=options)
        pair.there.marks = {0, 20}.__contains__
        pair.write(30 * MTU)
        pair.loop.run()
        assert pair.b.counters.np_cnp_sent == pair.a.counters.rp_cnp_ignored == cnps
        assert pair.a.counters.rp_cnp_handled == 0
        assert pair.a.congestion_statistics() == []


# --- the echo --------------------------------------------------------------------------------------------------------


def test_acknowledgements_say_exactly_which_packets_were_marked() -> None:
    """Packets 3, 4 and 5 of 10: one ACK for those before, one with BECN for them, one for those behind."""
    pair = Pair(mtu=MTU, congestion={"kind": "dctcp"})
    pair.there.marks = {3, 4, 5}.__contains__
    pair.write(10 * MTU)
    pair.loop.run()
    acks = [step.split(" at ")[0] for step in pair.transcript if step.startswith("<<")]
    assert acks == ["<< Ack(psn=2, msn=0)", "<< Ack(psn=5, msn=0, becn)", "<< Ack(psn=9, msn=1)"]
    assert pair.b.counters.np_cnp_sent == 0


class Listening(Hooks):
    """A congestion control that only counts what the echo says."""

    def __init__(self) -> None:
        self.marked = 0

    def on_ecn_echo(self, requester: Requester, packets: int, now: int) -> None:  # noqa: ARG002 - the hook's signature
        self.marked += packets


@given(
    marks=st.sets(st.integers(0, 60)),
    sizes=st.lists(st.integers(0, 9 * MTU), min_size=1, max_size=7),
    ack_every=st.sampled_from([1, 3, 16]),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_every_mark_comes_back_once(marks: set[int], sizes: list[int], ack_every: int) -> None:
    pair = Pair(sum(sizes) or 1, mtu=MTU, ack_every=ack_every, congestion={"kind": "dctcp"})
    pair.there.marks = marks.__contains__
    pair.qp_a.requester.congestion = heard = Listening()
    offset = 0
    for number, size in enumerate(sizes):
        pair.write(size, offset, work_id=number)
        offset += size
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS] * len(sizes), pair.story()
    assert heard.marked == len([number for number in marks if number < pair.there.frames]), pair.story()


def test_the_interval_begins_with_the_first_mark() -> None:
    pair = Pair(mtu=MTU, congestion=dcqcn())
    pair.there.marks = {10}.__contains__
    pair.write(20 * MTU)
    pair.loop.run()
    (time_us,) = cnp_times_us(pair)
    arrived = 11 * (MTU + 58 + 24) * 80 + 16 * 80 + 500_000  # 80 ps a byte; the first packet has a RETH
    assert time_us * MICROSECOND == pytest.approx(arrived, abs=500)  # the transcript is in ns
