"""The regimes of a reliable connection, each as a transcript between two hosts (`pair`)."""

import re
from typing import Any

import pytest

from testbed.engine.frame import Frame
from tests.traffic.nic.pair import DELAY_PS, Pair, completions, statuses
from traffic.nic.states import QpState
from traffic.nic.verbs import SendRequest, WcStatus, WorkCompletion, WorkOpcode
from traffic.wire.aeth import RNR_TIMER_PS, Syndrome
from traffic.wire.opcodes import Opcode
from traffic.wire.template import aeth, reth

MTU = 1024
TIMEOUT = 4
TIMEOUT_PS = 4_096_000 * 2**TIMEOUT


def make(**options: Any) -> Pair:
    return Pair(**{"mtu": MTU, "timeout": TIMEOUT, **options})


def sent_psns(pair: Pair) -> list[int]:
    """Return the PSNs that host a put on the wire, in order."""
    return [int(match[1]) for step in pair.transcript if (match := re.match(r">> \w+\(psn=(\d+)", step))]


# --- acknowledging ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("packets", "ack_every"), [(1, 16), (16, 16), (17, 16), (40, 16), (40, 1), (7, 3)])
def test_ack_coalescing(packets: int, ack_every: int) -> None:
    pair = make(ack_every=ack_every)
    pair.write(packets * MTU)
    pair.loop.run()
    assert pair.back.frames == -(-packets // ack_every), pair.story()  # ceil(packets / ack_every), the last included
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]
    assert pair.qp_b.responder.msn == 1


def test_an_ack_covers_everything_before_it() -> None:
    pair = make(ack_every=1)
    pair.back.loses = lambda number: number < 3
    for number in range(4):
        pair.write(100, work_id=number)
    pair.loop.run()
    assert [c.work_id for c in pair.qp_a.completions] == [0, 1, 2, 3]
    assert pair.there.frames == 4, pair.story()


def test_write_with_immediate_completes_a_receive() -> None:
    pair = make()
    pair.post_receive(work_id=9)
    pair.write(3000, immediate=0xCAFE0001)
    pair.loop.run()
    (received,) = completions(pair.qp_b)
    assert (received.work_id, received.immediate, received.byte_count) == (9, 0xCAFE0001, 3000)
    assert received.opcode is WorkOpcode.RECV_RDMA_WITH_IMM


def test_send_goes_where_the_receive_says() -> None:
    pair = make()
    pair.post_receive(4000, offset=8000, work_id=5)
    pair.send(2500, offset=100, immediate=3)
    pair.loop.run()
    (received,) = completions(pair.qp_b)
    assert (received.work_id, received.byte_count, received.immediate) == (5, 2500, 3)
    assert received.opcode is WorkOpcode.RECV
    assert pair.received[8000:10500] == pair.sent[100:2600]
    assert not any(pair.received[10500:])


def test_empty_message() -> None:
    pair = make()
    pair.post_receive()
    pair.write(0, immediate=1)
    pair.write(0)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS] * 2
    assert pair.there.frames == 2


def test_region_without_memory_sends_zeros_and_discards() -> None:
    pair = make()
    nothing, target = pair.a.register(10_000), pair.b.register(10_000)
    pair.received[:] = b"\xff" * len(pair.received)
    pair.qp_a.post_send(
        SendRequest(0, WorkOpcode.RDMA_WRITE, nothing, 0, 5000, pair.region_b.address, pair.region_b.rkey)
    )
    pair.qp_a.post_send(SendRequest(1, WorkOpcode.RDMA_WRITE, pair.region_a, 0, 5000, target.address, target.rkey))
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS] * 2
    assert not any(pair.received[:5000])
    assert set(pair.received[5000:]) == {0xFF}


# --- loss ------------------------------------------------------------------------------------------------------------


def test_nak_recovery() -> None:
    pair = make()
    pair.there.loses = lambda number: number == 2
    pair.write(6 * MTU)
    pair.loop.run()
    psns = sent_psns(pair)
    back = psns.index(2, 3)  # where go-back-N begins again
    assert psns[back:] == list(range(2, 6)), pair.story()
    assert bytes(pair.received[: 6 * MTU]) == pair.sent[: 6 * MTU]
    assert pair.b.counters.out_of_sequence == back - 3
    assert pair.a.counters.packet_seq_err == 1
    assert pair.a.counters.local_ack_timeout_err == 0
    assert pair.a.counters.retransmitted_packets == back - 2
    assert next(step for step in pair.transcript if "Nak" in step).startswith("<< Nak 0x60(psn=2, msn=0)")


def test_one_nak_for_a_gap() -> None:
    pair = make()
    pair.there.loses = lambda number: number == 0
    pair.write(50 * MTU)
    pair.loop.run()
    assert sum("Nak" in step for step in pair.transcript) == 1, pair.story()


def test_lost_retransmission_is_left_to_the_timeout() -> None:
    pair = make()
    copies_of_1: list[int] = []

    def loses(number: int) -> bool:
        """Lose the packet with PSN 1 twice: it has just been made, so the next one is 2."""
        if pair.qp_a.requester.next_sequence == 2:
            copies_of_1.append(number)
            return len(copies_of_1) <= 2
        return False

    pair.there.loses = loses
    pair.write(4 * MTU)
    pair.loop.run()
    assert len(copies_of_1) == 3, pair.story()
    assert pair.a.counters.packet_seq_err == 1, pair.story()  # the gap is the same one: no second NAK
    assert pair.a.counters.local_ack_timeout_err == 1
    assert bytes(pair.received[: 4 * MTU]) == pair.sent[: 4 * MTU]


def test_timeout_recovery() -> None:
    pair = make()
    pair.there.loses = lambda number: number == 5  # the last: nothing behind it shows the gap
    pair.write(6 * MTU)
    pair.loop.run()
    assert sent_psns(pair) == [0, 1, 2, 3, 4, 5, *range(6)], (
        pair.story()
    )  # nothing was acknowledged yet: from the oldest
    assert pair.a.counters.local_ack_timeout_err == 1
    assert pair.b.counters.duplicate_request == 5
    assert bytes(pair.received[: 6 * MTU]) == pair.sent[: 6 * MTU]
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]


def test_duplicate_request_is_acknowledged_again_and_not_carried_out_again() -> None:
    pair = make()
    pair.back.loses = lambda number: number == 0
    pair.post_receive(work_id=1)
    pair.post_receive(work_id=2)
    pair.write(2 * MTU, immediate=77)
    pair.loop.run()
    assert pair.b.counters.duplicate_request == 2, pair.story()
    assert pair.back.frames == 2
    assert [c.work_id for c in pair.qp_b.completions] == [1]
    assert pair.qp_b.responder.msn == 1
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]


@pytest.mark.parametrize("retry_count", [0, 1, 7])
def test_retry_exhausted(retry_count: int) -> None:
    pair = make(retry_count=retry_count)
    pair.there.loses = lambda _number: True
    for number in range(3):
        pair.write(100, work_id=number)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.RETRY_EXC_ERR, WcStatus.WR_FLUSH_ERR, WcStatus.WR_FLUSH_ERR]
    assert [c.work_id for c in pair.qp_a.completions] == [0, 1, 2]
    assert pair.qp_a.state is QpState.ERROR
    assert pair.there.frames == 3 * (retry_count + 1)
    assert pair.a.counters.local_ack_timeout_err == retry_count
    assert (pair.a.counters.req_cqe_error, pair.a.counters.req_cqe_flush_error) == (1, 2)
    # 4.096 us * 2^timeout a try. Each timer runs from its try's first packet, which goes out at the timeout before.
    assert pair.loop.now == TIMEOUT_PS * (retry_count + 1), pair.story()


def test_progress_gives_the_retries_back() -> None:
    pair = make(retry_count=1, ack_every=1)
    # Each packet's first copy is lost, three losses in all with one retry; every one is followed by progress.
    pair.there.loses = lambda number: number in (0, 2, 4)
    for number in range(3):
        pair.write(100, work_id=number)
        pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS] * 3, pair.story()


def test_work_posted_in_error_is_flushed() -> None:
    pair = make(retry_count=0)
    pair.there.loses = lambda _number: True
    pair.write(1)
    pair.loop.run()
    pair.write(1, work_id=8)
    assert completions(pair.qp_a)[-1].work_id == 8
    assert statuses(pair.qp_a)[-1] is WcStatus.WR_FLUSH_ERR


def test_timer_is_one_event_for_the_queue_pair() -> None:
    pair = make(ack_every=1)
    pair.write(60 * MTU)
    timer = pair.qp_a.requester._timer_handler
    while pair.loop.run_events(1) and pair.back.frames < 50:
        assert sum(event[2] == timer for event in pair.loop._heap) == 1
    assert pair.back.frames == 50


# --- receiver not ready ----------------------------------------------------------------------------------------------


def test_rnr_nak_makes_the_requester_wait_for_its_timer() -> None:
    pair = make(rnr_timer=1)
    pair.send(100)
    pair.loop.at(5_000_000, lambda _: pair.post_receive(100))
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS], pair.story()
    assert pair.b.counters.out_of_buffer == 1
    assert pair.a.counters.rnr_nak_retry_err == 1
    assert sum("RnrNak(psn=0" in step for step in pair.transcript) == 1
    # The second try leaves one RNR timer (code 1: 10 us) after the NAK's arrival.
    assert RNR_TIMER_PS[1] == 10_000_000
    assert pair.loop.now > RNR_TIMER_PS[1] + 2 * DELAY_PS


def test_write_with_immediate_needs_a_receive_only_for_its_last_packet() -> None:
    pair = make(rnr_timer=1)
    pair.write(3 * MTU, immediate=5)
    pair.loop.at(5_000_000, lambda _: pair.post_receive())
    pair.loop.run()
    assert sent_psns(pair) == [0, 1, 2, 2], pair.story()
    assert bytes(pair.received[: 3 * MTU]) == pair.sent[: 3 * MTU]


@pytest.mark.parametrize("rnr_retry", [0, 3])
def test_rnr_retries_run_out(rnr_retry: int) -> None:
    pair = make(rnr_timer=1, rnr_retry=rnr_retry)
    pair.send(100)
    pair.send(100)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.RNR_RETRY_EXC_ERR, WcStatus.WR_FLUSH_ERR], pair.story()
    assert sum("RnrNak" in step for step in pair.transcript) == rnr_retry + 1


def test_rnr_retry_7_never_runs_out() -> None:
    pair = make(rnr_timer=1, rnr_retry=7)
    pair.send(100)
    pair.loop.at(1_000_000_000, lambda _: pair.post_receive(100))
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]
    assert pair.a.counters.rnr_nak_retry_err > 50


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shift", "rkey_shift"), [(0, 1), (65536 - 50, 0), (-1, 0)])
def test_remote_access_error(shift: int, rkey_shift: int) -> None:
    pair = make()
    target = pair.region_b
    pair.qp_a.post_send(
        SendRequest(
            1, WorkOpcode.RDMA_WRITE, pair.region_a, 0, 100, target.address + shift, target.rkey + 77 * rkey_shift
        )
    )
    pair.write(10, work_id=2)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.REM_ACCESS_ERR, WcStatus.WR_FLUSH_ERR], pair.story()
    assert pair.qp_a.state is pair.qp_b.state is QpState.ERROR
    assert pair.a.counters.req_remote_access_errors == pair.b.counters.resp_remote_access_errors == 1
    assert not any(pair.received)


def test_send_longer_than_its_receive() -> None:
    pair = make()
    pair.post_receive(99)
    pair.post_receive(1000)
    pair.send(100)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.REM_INV_REQ_ERR]
    assert statuses(pair.qp_b) == [WcStatus.LOC_LEN_ERR, WcStatus.WR_FLUSH_ERR]
    assert not any(pair.received)


def test_a_queue_pair_may_be_closed_by_the_handler_of_its_failed_receive() -> None:
    """The NAK is out and the QP in ERROR before anybody is told, and what failed is told before what is flushed."""
    pair = make()
    pair.post_receive(99)
    pair.post_receive(1000)
    pair.qp_b.post_send(SendRequest(7, WorkOpcode.SEND))
    seen: list[tuple[WcStatus, WorkOpcode, QpState]] = []

    def close(completion: WorkCompletion) -> None:
        seen.append((completion.status, completion.opcode, pair.qp_b.state))
        pair.qp_b.close()

    pair.qp_b.on_completion = close
    pair.b.receive(Frame(pair.qp_a.emit(Opcode.SEND_ONLY, 0, b"", bytes(100)), is_data=True))
    assert seen == [
        (WcStatus.LOC_LEN_ERR, WorkOpcode.RECV, QpState.ERROR),
        (WcStatus.WR_FLUSH_ERR, WorkOpcode.SEND, QpState.ERROR),
        (WcStatus.WR_FLUSH_ERR, WorkOpcode.RECV, QpState.ERROR),
    ], pair.story()
    counters = pair.b.counters
    assert (counters.resp_local_length_error, counters.resp_cqe_error) == (1, 1)
    assert (counters.resp_cqe_flush_error, counters.req_cqe_flush_error) == (1, 1)
    pair.loop.run()
    assert any("Nak 0x61" in line for line in pair.transcript), pair.story()


@pytest.mark.parametrize(
    ("opcode", "extension", "size"),
    [
        (Opcode.RDMA_WRITE_MIDDLE, b"", MTU),  # no message has begun
        (Opcode.RDMA_WRITE_LAST, b"", 10),
        (Opcode.RDMA_WRITE_ONLY, "reth", MTU - 4),  # less than its RETH says
        (Opcode.RDMA_WRITE_FIRST, "reth", MTU - 4),  # not a whole MTU
    ],
)
def test_invalid_request(opcode: Opcode, extension: str | bytes, size: int) -> None:
    pair = make()
    if isinstance(extension, str):
        extension = reth(pair.region_b.address, pair.region_b.rkey, MTU)
    pair.b.receive(Frame(pair.qp_a.emit(opcode, 0, extension, bytes(size)), is_data=True))
    pair.loop.run()
    assert pair.transcript == ["<< Nak 0x61(psn=0, msn=0) at 0ps"]
    assert pair.qp_b.state is QpState.ERROR
    assert not any(pair.received)


@pytest.mark.parametrize("opcode", [Opcode.RDMA_WRITE_FIRST, Opcode.RDMA_WRITE_ONLY, Opcode.SEND_MIDDLE])
def test_invalid_request_within_a_message(opcode: Opcode) -> None:
    pair = make()
    header = reth(pair.region_b.address, pair.region_b.rkey, 2 * MTU)
    extension = b"" if opcode is Opcode.SEND_MIDDLE else header
    pair.b.receive(Frame(pair.qp_a.emit(Opcode.RDMA_WRITE_FIRST, 0, header, bytes(MTU)), is_data=True))
    pair.b.receive(Frame(pair.qp_a.emit(opcode, 1, extension, bytes(MTU)), is_data=True))
    pair.loop.run()
    assert pair.transcript == ["<< Nak 0x61(psn=1, msn=0) at 0ps"]


def test_refused_request_ends_the_requester() -> None:
    pair = make()
    pair.write(100)
    pair.a.receive(Frame(pair.qp_b.emit(Opcode.ACKNOWLEDGE, 0, aeth(Syndrome.NAK_REMOTE_OPERATIONAL_ERROR, 0))))
    assert statuses(pair.qp_a) == [WcStatus.REM_OP_ERR]


def test_acknowledgement_of_what_was_never_sent_is_ignored() -> None:
    pair = make()
    pair.write(100)
    for psn in (1, 2**24 - 1, 2**23):
        pair.a.receive(Frame(pair.qp_b.emit(Opcode.ACKNOWLEDGE, psn, aeth(Syndrome.ACK, 1))))
    assert not pair.qp_a.completions
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]


def test_outstanding_packets_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^23 in earnest; here 24, less than are on their way until the ACK of the first 16 is back."""
    monkeypatch.setattr("traffic.nic.requester.MAXIMUM_OUTSTANDING", 24)
    pair = make(size=100 * MTU, timeout=8)
    pair.write(100 * MTU)
    requester, most = pair.qp_a.requester, 0
    while pair.loop.run_events(1):
        most = max(most, requester.next_sequence - requester.unacknowledged)
    assert most == 24
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]
    assert pair.a.counters.retransmitted_packets == 0


def test_a_receive_beyond_its_region_is_refused() -> None:
    pair = Pair(1024)
    with pytest.raises(ValueError, match=r"^expected a message within its region of 1024 B, found 1000\.\.1100$"):
        pair.post_receive(100, 1000)


def test_peer_in_error_does_not_answer() -> None:
    pair = make(retry_count=1)
    pair.qp_b.close()
    pair.write(100)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.RETRY_EXC_ERR]
    assert pair.b.counters.rx_qp_not_ready == 2


def test_completion_handler_may_post_and_may_close() -> None:
    pair = make()
    seen: list[tuple[int, WcStatus]] = []

    def on_completion(completion: WorkCompletion) -> None:
        seen.append((completion.work_id, completion.status))
        if completion.work_id == 0:
            pair.write(100, work_id=10)
        if completion.work_id == 10:
            pair.write(100, work_id=11)
            pair.qp_a.close()

    pair.qp_a.on_completion = on_completion
    pair.write(100, work_id=0)
    pair.loop.run()
    assert seen == [(0, WcStatus.SUCCESS), (10, WcStatus.SUCCESS), (11, WcStatus.WR_FLUSH_ERR)]
