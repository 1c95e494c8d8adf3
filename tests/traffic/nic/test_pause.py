"""Priorities at the NIC: what is paused is skipped, what is not goes on, and nothing is lost or overtaken for it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.frame import Frame
from tests.traffic.nic.pair import Pair, statuses
from traffic.nic import connect
from traffic.nic.queue_pair import QueuePair
from traffic.nic.verbs import SendRequest, WcStatus, WorkOpcode
from traffic.wire.packet import parse

MTU = 1024
PRIORITIES = priority_by_traffic_class({})
LOSSLESS = 26 << 2 | 2
BEST_EFFORT = 2
PAUSED_3 = 1 << 3


class StillTransmitter:
    """A transmitter that never asks, with a mask that a test sets."""

    rate_bps = 100_000_000_000
    paused_mask = 0

    def kick(self) -> None:
        """A test asks by itself."""


def still_pair(**options: object) -> tuple[Pair, StillTransmitter]:
    pair = Pair(mtu=MTU, priorities=PRIORITIES, traffic_class=LOSSLESS, **options)
    transmitter = StillTransmitter()
    pair.a.attach(transmitter)
    return pair, transmitter


def second_queue_pair(pair: Pair, traffic_class: int) -> QueuePair:
    settings = pair.settings.model_copy(update={"traffic_class": traffic_class})
    return connect(pair.a, pair.b, settings, source_port=50_000)[0]


def post(pair: Pair, qp: QueuePair, packets: int) -> None:
    target = pair.region_b
    qp.post_send(SendRequest(0, WorkOpcode.RDMA_WRITE, pair.region_a, 0, packets * MTU, target.address, target.rkey))


def psns(frames: list[Frame]) -> list[tuple[int, int]]:
    """Return the (destination QP, PSN) of frames."""
    packets = [parse(frame.data) for frame in frames]
    return [(packet.destination_qp, packet.psn) for packet in packets if packet is not None]


def drain(pair: Pair, most: int = 1000) -> list[Frame]:
    frames: list[Frame] = []
    while len(frames) < most and (frame := pair.a.dequeue()) is not None:
        frames.append(frame)
    return frames


def test_frames_carry_the_priority_of_their_dscp() -> None:
    pair, _ = still_pair()
    best_effort = second_queue_pair(pair, BEST_EFFORT)
    pair.write(MTU)
    post(pair, best_effort, 1)
    assert [frame.priority for frame in drain(pair)] == [3, 0]


def test_a_paused_queue_pair_waits_and_another_goes_on() -> None:
    pair, transmitter = still_pair()
    best_effort = second_queue_pair(pair, BEST_EFFORT)
    pair.write(3 * MTU)
    post(pair, best_effort, 3)
    assert psns(drain(pair, 2)) == [(17, 0), (18, 0)]
    transmitter.paused_mask = PAUSED_3
    assert pair.a.has_more()
    assert psns(drain(pair)) == [(18, 1), (18, 2)]
    assert not pair.a.has_more()
    transmitter.paused_mask = 0
    assert pair.a.has_more()
    assert psns(drain(pair)) == [(17, 1), (17, 2)]
    assert not pair.a.has_more()


def test_nothing_that_is_paused_is_said_to_be_there() -> None:
    pair, transmitter = still_pair()
    transmitter.paused_mask = PAUSED_3
    pair.write(MTU)
    pair.a.send_control(bytes(62), 3)
    assert not pair.a.has_more()
    assert pair.a.dequeue() is None
    assert not pair.a.has_more()


def test_answers_have_the_datas_priority_and_cnps_their_own() -> None:
    pair, transmitter = still_pair(congestion={"kind": "dcqcn"})
    qp = pair.qp_a
    assert (qp.priority, qp.answer_priority) == (3, 3)
    transmitter.paused_mask = PAUSED_3
    pair.a.send_control(bytes(62), qp.answer_priority)
    assert qp.notification is not None
    qp.notification.on_marked()
    (cnp,) = drain(pair)
    assert (cnp.priority, len(cnp.data)) == (6, 74)
    assert pair.a.peak_control_frames == 2


def test_answers_may_have_a_dscp_of_their_own() -> None:
    pair = Pair(mtu=MTU, priorities=PRIORITIES, traffic_class=LOSSLESS, ack_dscp=48)
    assert pair.qp_b.answer_priority == 6
    pair.write(3 * MTU)
    pair.transmitters["<<"].paused_mask = PAUSED_3
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]
    (data,) = pair.back.bytes_of
    packet = parse(data)
    assert packet is not None
    assert (packet.traffic_class >> 2, packet.ecn) == (48, LOSSLESS & 3)


def test_order_survives_a_pause() -> None:
    """What was laid aside goes before what came later, of its own priority and in the ring."""
    pair, transmitter = still_pair()
    transmitter.paused_mask = PAUSED_3
    marks = [bytes([number]) * 62 for number in range(4)]
    for data in marks[:2]:
        pair.a.send_control(data, 3)
    assert drain(pair) == []
    for data in marks[2:]:
        pair.a.send_control(data, 3)
    transmitter.paused_mask = 0
    assert [frame.data for frame in drain(pair)] == marks


def test_priorities_are_released_one_by_one() -> None:
    pair, transmitter = still_pair()
    best_effort = second_queue_pair(pair, BEST_EFFORT)
    pair.write(2 * MTU)
    post(pair, best_effort, 2)
    transmitter.paused_mask = PAUSED_3 | 1
    assert drain(pair) == []
    transmitter.paused_mask = PAUSED_3
    assert psns(drain(pair)) == [(18, 0), (18, 1)]
    transmitter.paused_mask = 1
    assert psns(drain(pair)) == [(17, 0), (17, 1)]


@given(
    pauses=st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0, 1, PAUSED_3, 255])), max_size=30),
    lost=st.sets(st.integers(0, 60), max_size=8),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_everything_arrives_once_whatever_is_paused_when(pauses: list[tuple[int, int]], lost: set[int]) -> None:
    pair = Pair(30 * MTU, mtu=MTU, timeout=5, priorities=PRIORITIES, traffic_class=LOSSLESS)
    pair.there.loses = lost.__contains__
    pair.write(30 * MTU)
    for events, mask in [*pauses, (0, 0)]:
        pair.loop.run_events(events)
        for transmitter in pair.transmitters.values():
            transmitter.paused_mask = mask
            transmitter.kick()
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS], pair.story()
    assert bytes(pair.received) == pair.sent
    assert not pair.a.has_more()
