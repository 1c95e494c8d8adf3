"""Go-back-N delivers exactly once and in order under any finite pattern of loss, of data and of acknowledgements."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.nic.pair import Pair, completions, statuses
from traffic.nic.segmentation import packet_count
from traffic.nic.verbs import WcStatus

MTU = 256
RETRY_COUNT = 7
frame_numbers = st.sets(st.integers(0, 60), max_size=25)


@given(
    sizes=st.lists(st.integers(0, 6 * MTU), min_size=1, max_size=8),
    lost_there=frame_numbers,
    lost_back=frame_numbers,
    corrupted=st.sets(st.integers(0, 60), max_size=3),
    initial_psn=st.sampled_from([0, 2**23 - 3, 2**24 - 5, 2**24 - 1]),
    ack_every=st.sampled_from([1, 2, 16]),
    sends=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_exactly_once_in_order(
    sizes: list[int],
    lost_there: set[int],
    lost_back: set[int],
    corrupted: set[int],
    initial_psn: int,
    ack_every: int,
    sends: bool,
) -> None:
    pair = Pair(sum(sizes) or 1, mtu=MTU, timeout=4, initial_psn=initial_psn, ack_every=ack_every)
    pair.there.loses = lost_there.__contains__
    pair.there.corrupts = corrupted
    pair.back.loses = lost_back.__contains__
    offset = 0
    for number, size in enumerate(sizes):
        pair.post_receive(size, offset, work_id=number)
        (pair.send if sends else pair.write)(size, offset, work_id=number, immediate=number)
        offset += size
    pair.loop.run()
    delivered = completions(pair.qp_b)
    good = [completion for completion in delivered if completion.status is WcStatus.SUCCESS]
    assert [completion.immediate for completion in good] == list(range(len(good))), pair.story()
    whole = sum(sizes[: len(good)])
    assert bytes(pair.received[:whole]) == pair.sent[:whole], pair.story()
    acknowledged = statuses(pair.qp_a).count(WcStatus.SUCCESS)
    assert acknowledged <= len(good), pair.story()
    if acknowledged < len(sizes):  # the QP gave up, which takes more losses in a row than it has retries
        assert statuses(pair.qp_a)[acknowledged] is WcStatus.RETRY_EXC_ERR, pair.story()
        assert len(lost_there) + len(lost_back) + len(corrupted) > RETRY_COUNT
        return
    packets = sum(packet_count(size, MTU) for size in sizes)
    counters, sender = pair.b.counters, pair.a.counters
    assert counters.received_data_packets - counters.duplicate_request - counters.out_of_sequence == packets
    assert sender.sent_data_packets - sender.retransmitted_packets == packets
    assert (pair.qp_b.responder.expected_psn - initial_psn) % 2**24 == packets


CONGESTION = [
    {"kind": "dcqcn"},
    {"kind": "dcqcn", "preset": "connectx"},
    {"kind": "dcqcn", "cnp_interval": "0ps", "min_rate": "100Mbps"},
    {"kind": "dctcp", "initial_window": "1KiB"},
]


@given(
    sizes=st.lists(st.integers(0, 6 * MTU), min_size=1, max_size=8),
    lost_there=st.sets(st.integers(0, 60), max_size=6),
    lost_back=st.sets(st.integers(0, 60), max_size=6),
    marked_there=frame_numbers,
    marked_back=frame_numbers,
    congestion=st.sampled_from(CONGESTION),
    ack_every=st.sampled_from([1, 2, 16]),
)
@settings(max_examples=200, deadline=None)
def test_exactly_once_with_congestion_control(
    sizes: list[int],
    lost_there: set[int],
    lost_back: set[int],
    marked_there: set[int],
    marked_back: set[int],
    congestion: dict[str, object],
    ack_every: int,
) -> None:
    """Too few losses for the QP to give up: everything arrives once, however much is marked and slowed down."""
    pair = Pair(sum(sizes) or 1, mtu=MTU, timeout=8, ack_every=ack_every, congestion=congestion)
    pair.there.loses, pair.back.loses = lost_there.__contains__, lost_back.__contains__
    pair.there.marks, pair.back.marks = marked_there.__contains__, marked_back.__contains__
    offset = 0
    for number, size in enumerate(sizes):
        pair.post_receive(size, offset, work_id=number)
        pair.write(size, offset, work_id=number, immediate=number)
        offset += size
    pair.loop.run()
    if WcStatus.RETRY_EXC_ERR in statuses(pair.qp_a):
        assert len(lost_there) + len(lost_back) > RETRY_COUNT, pair.story()
        return
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS] * len(sizes), pair.story()
    assert [completion.immediate for completion in completions(pair.qp_b)] == list(range(len(sizes))), pair.story()
    assert bytes(pair.received[: sum(sizes)]) == pair.sent[: sum(sizes)], pair.story()
    counters, sender = pair.b.counters, pair.a.counters
    packets = sum(packet_count(size, MTU) for size in sizes)
    assert counters.received_data_packets - counters.duplicate_request - counters.out_of_sequence == packets
    assert sender.sent_data_packets - sender.retransmitted_packets == packets


def test_psn_wraps() -> None:
    pair = Pair(20 * MTU, mtu=MTU, initial_psn=2**24 - 4, ack_every=2)
    pair.there.loses = {5}.__contains__
    pair.write(20 * MTU)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS], pair.story()
    assert bytes(pair.received) == pair.sent
    assert "Nak 0x60(psn=1, msn=0)" in pair.story()


def test_an_acknowledgement_that_overtakes_the_way_back() -> None:
    """After a timeout the requester goes back; a late ACK then says that nothing was missing, and it skips ahead."""
    pair = Pair(8 * MTU, mtu=MTU, timeout=1, ack_every=4)
    pair.back.loses = lambda number: number < 1
    pair.write(8 * MTU)
    requester = pair.qp_a.requester
    pair.loop.run(until_ps=1_000)
    while requester.next_sequence < 8:
        pair.loop.run_events(1)
    requester.go_back_to(0)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS], pair.story()
    assert bytes(pair.received) == pair.sent
