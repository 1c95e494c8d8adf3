"""The requester of a reliable-connection queue pair: cuts messages into packets and sees to it that they arrive.

Packets are counted by a *sequence* that starts at 0 and never wraps; the PSN on the wire is its last 24 bits, moved by
the initial PSN. So everything inside compares plain integers:

    unacknowledged <= next_sequence <= end_sequence            (posted up to end_sequence)
    |-- sent, no ACK yet --|-- to be sent --|

A message waits in `_waiting` until its last packet is sent, then in `_in_flight` until that is acknowledged. Going back
is moving messages from one to the other and setting `next_sequence`: offsets follow from the sequence alone, and
payload is read again from the application's memory.

Acknowledgements are asked for with every `ack_every`-th packet of a message, its last, and the last that may be sent
before one comes. While one is due, the local
ACK timer runs: from the packet that asked, and again from every progress. The timer is one event that lies in the
event loop at most once and looks, when it fires, whether the deadline has moved. A timeout, or a NAK, costs one of
`retry_count` retries; progress gives them back.

References: IBTA volume 1, 9.7.3 (PSNs, at most 2^23 outstanding), 9.7.5 (ACK, NAK, RNR NAK), 9.7.6 (timer), 9.9.2
(errors). The local ACK timeout is exactly 4.096 us * 2^timeout (hardware: up to four times that).
Known limits: no RDMA READ, no atomics, no end-to-end credits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from testbed.engine.frame import Frame
from traffic.nic import journal
from traffic.nic.hooks import Hooks
from traffic.nic.segmentation import Message
from traffic.nic.states import QpEvent
from traffic.nic.transit import NAK, RNR_NAK, TIMEOUT, SenderLog
from traffic.nic.verbs import SendRequest, WcStatus, WorkCompletion
from traffic.wire.aeth import Syndrome, is_ack, is_rnr_nak, rnr_timer_ps
from traffic.wire.packet import RocePacket
from traffic.wire.psn import PSN_MODULUS, psn_distance

if TYPE_CHECKING:
    from traffic.nic.queue_pair import QueuePair

ACK_TIMEOUT_UNIT_PS = 4_096_000
"""4.096 us: the local ACK timeout is this times 2^timeout."""
MAXIMUM_OUTSTANDING = 1 << 23
"""PSNs further apart than this could not be told from older ones."""
RNR_RETRY_INFINITE = 7

_PSN_MASK = PSN_MODULUS - 1
_ZEROS = memoryview(bytes(4096))
_REFUSALS = {
    Syndrome.NAK_INVALID_REQUEST: WcStatus.REM_INV_REQ_ERR,
    Syndrome.NAK_REMOTE_ACCESS_ERROR: WcStatus.REM_ACCESS_ERR,
    Syndrome.NAK_REMOTE_OPERATIONAL_ERROR: WcStatus.REM_OP_ERR,
}


class Requester:
    """Sends one QP's messages.

    Attributes:
        next_sequence: the packet to send next. send_limit: the first that may not be sent now.
        unacknowledged: the oldest packet without an ACK. end_sequence: the first that nobody has posted.
        not_before_ps: the time before which the NIC must not send for this QP (RNR wait, pacing).
        window: how many packets may be unacknowledged (congestion control's). priority: that of its packets. mtu:
        payload. scheduled: the NIC's: whether the QP is in its ring or about to return there.
        log: the account that is kept of its messages; None: none is.
    """

    __slots__ = (
        "_ack_due", "_ack_every", "_ack_timeout_ps", "_acknowledged", "_counters", "_deadline_ps", "_emit",
        "_in_flight", "_initial_psn", "_loop", "_nic", "_qp", "_recovery", "_retries_left", "_retry_count",
        "_returned", "_rnr_retries_left", "_rnr_retry", "_sent_end", "_timer_handler", "_timer_is_set", "_waiting",
        "congestion", "end_sequence", "log", "mtu", "next_sequence", "not_before_ps", "priority", "scheduled",
        "send_limit", "unacknowledged", "window",
    )  # fmt: skip

    def __init__(self, qp: QueuePair, recovery: Hooks, congestion: Hooks | None = None) -> None:
        settings = qp.settings
        self._qp = qp
        self._nic = qp.nic
        self._loop = qp.nic.loop
        self._counters = qp.nic.counters
        self._recovery = recovery
        self.congestion = congestion
        self.mtu = settings.mtu
        self.priority = qp.priority
        self.window = MAXIMUM_OUTSTANDING
        self._ack_every = settings.ack_every
        self._ack_timeout_ps = ACK_TIMEOUT_UNIT_PS << settings.timeout
        self._retry_count = self._retries_left = settings.retry_count
        self._rnr_retry = self._rnr_retries_left = settings.rnr_retry
        self._initial_psn = settings.initial_psn
        self._waiting: deque[Message] = deque()
        self._in_flight: deque[Message] = deque()
        self._acknowledged: deque[Message] = deque()
        self.next_sequence = self.send_limit = self.unacknowledged = self.end_sequence = 0
        self._sent_end = 0  # the first packet that was never sent
        self._returned = 0  # by how much `next_sequence` was set back, less by how much forward
        self._ack_due = 0  # the first packet behind the last one that asked for an ACK
        self._deadline_ps = 0  # 0: the timer does not run
        self._timer_is_set = False
        self._timer_handler = self._on_timer
        self.not_before_ps = 0
        self.scheduled = False
        self.log: SenderLog | None = None

    @property
    def now(self) -> int:
        """The model time."""
        return self._loop.now

    @property
    def sent_packets(self) -> int:
        """How many packets were sent so far, retransmissions included."""
        return self.next_sequence + self._returned

    def _psn(self, sequence: int) -> int:
        return (self._initial_psn + sequence) & _PSN_MASK

    def use(self, emit: Callable[..., bytes]) -> None:
        """Make frames with `emit`, the `FrameTemplate.emit` of the connection."""
        self._emit = emit

    # --- sending ------------------------------------------------------------------------------------------------------

    def post(self, request: SendRequest) -> None:
        """Put `request` at the end of the send queue."""
        message = Message(request, self.end_sequence, self.mtu)
        self._waiting.append(message)
        self.end_sequence = message.end
        if self.log is not None:
            self.log.posted(message.first, message.end, self._loop.now)
        self._allow()

    def _allow(self) -> None:
        """Set how far may be sent, and tell the NIC if there is something to send."""
        furthest = self.unacknowledged + self.window
        if furthest <= self.next_sequence and self._ack_due <= self.unacknowledged:
            furthest = self.next_sequence + 1  # no acknowledgement is due that could open a window that has shrunk
        self.send_limit = furthest if furthest < self.end_sequence else self.end_sequence
        if self.next_sequence < self.send_limit and not self.scheduled:
            self._nic.schedule(self)

    def emit_frame(self, now_ps: int) -> Frame:
        """Return the frame of the packet `next_sequence`, which goes out now; note it if messages are accounted for."""
        sequence, not_before_ps = self.next_sequence, self.not_before_ps
        frame = Frame(self.emit_next(), is_data=True, priority=self.priority)
        if self.log is not None:
            frame.hop = self.log.emissions.add(now_ps, sequence, not_before_ps, frame.size_bytes)
        return frame

    def emit_next(self) -> bytes:
        """Return the frame of the packet `next_sequence`, which must lie before `send_limit`, and count it as sent."""
        message = self._waiting[0]
        sequence = self.next_sequence
        self.next_sequence = following = sequence + 1
        mtu = self.mtu
        index = sequence - message.first
        offset = index * mtu
        data = message.data
        extension = b""
        if following == message.end:
            self._in_flight.append(self._waiting.popleft())
            opcode = message.last_opcode
            extension = message.last_extension
            payload = _ZEROS[: message.length - offset] if data is None else data[offset:]
            ack_request = True
        else:
            payload = _ZEROS[:mtu] if data is None else data[offset : offset + mtu]
            ack_request = (index + 1) % self._ack_every == 0 or following >= self.send_limit
            if index:
                opcode = message.middle_opcode
            else:
                opcode = message.first_opcode
                extension = message.first_extension
        counters = self._counters
        counters.sent_data_packets += 1
        if sequence < self._sent_end:
            counters.retransmitted_packets += 1
        else:
            self._sent_end = following
        if ack_request:
            self._expect_ack(following)
        frame = self._emit(opcode, (self._initial_psn + sequence) & _PSN_MASK, extension, payload, ack_request)
        if self.congestion is not None:
            self.congestion.on_bytes_sent(self, len(frame), self._loop.now)
        return frame

    def go_back_to(self, sequence: int) -> None:
        """Send everything from `sequence` on again; what was asked for before is forgotten."""
        in_flight = self._in_flight
        while in_flight and in_flight[-1].end > sequence:
            self._waiting.appendleft(in_flight.pop())
        if self.log is not None:
            self.log.going_back(sequence, self.next_sequence, self._loop.now)
        self._nic.note(journal.RETRANSMISSION, self._qp, self._psn(sequence), self.next_sequence - sequence)
        self._returned += self.next_sequence - sequence
        self.next_sequence = sequence
        self._ack_due = self.unacknowledged
        self._deadline_ps = 0
        self._allow()

    # --- the local ACK timer ------------------------------------------------------------------------------------------

    def _expect_ack(self, following: int) -> None:
        """The packet before `following` asks for an ACK: run the timer unless it runs for an earlier one."""
        if self._ack_due <= self.unacknowledged:
            self._start_timer()
        self._ack_due = following

    def _start_timer(self) -> None:
        self._deadline_ps = self._loop.now + self._ack_timeout_ps
        if not self._timer_is_set:
            self._timer_is_set = True
            self._loop.at(self._deadline_ps, self._timer_handler)

    def _on_timer(self, _nothing: None) -> None:
        self._timer_is_set = False
        deadline = self._deadline_ps
        if not deadline or not self._qp.allows(QpEvent.LOCAL_ACK_TIMEOUT):
            return
        if self._loop.now < deadline:  # there was progress since the event was scheduled
            self._timer_is_set = True
            self._loop.at(deadline, self._timer_handler)
            return
        self._deadline_ps = 0
        if self._spend_retry():
            self._counters.local_ack_timeout_err += 1
            self._nic.note(journal.TIMEOUT, self._qp, self._psn(self.unacknowledged))
            now = self._loop.now
            if self.log is not None:
                self.log.blame(TIMEOUT)
            if self.congestion is not None:
                self.congestion.on_timeout(self, now)
            self._recovery.on_timeout(self, now)

    def _spend_retry(self) -> bool:
        """Use up one retry. Return False, with the QP in ERROR, when there is none left."""
        if self._retries_left == 0:
            self._qp.fail_requester(WcStatus.RETRY_EXC_ERR)
            return False
        self._retries_left -= 1
        return True

    # --- responses ----------------------------------------------------------------------------------------------------

    def on_response(self, packet: RocePacket) -> None:
        """Handle an ACK or NAK. What it says about packets that were never sent, or long acknowledged, is ignored."""
        syndrome = packet.syndrome
        assert syndrome is not None, "parse gives every acknowledgement a syndrome"
        oldest = self.unacknowledged
        sequence = oldest + psn_distance(packet.psn, self._initial_psn + oldest)
        if sequence >= self._sent_end:
            return
        if is_ack(syndrome):
            if sequence >= oldest:
                if packet.becn:
                    self._on_ecn_echo(sequence + 1 - oldest)
                self._acknowledge(sequence + 1)
        elif sequence >= oldest:
            if sequence > oldest:  # a NAK for a PSN acknowledges all before it
                if packet.becn:
                    self._on_ecn_echo(sequence - oldest)
                self._acknowledge(sequence)
            if self.unacknowledged == sequence < self.end_sequence:  # nothing in between, a completion, ended the QP
                self._on_nak(syndrome, sequence)

    def _on_ecn_echo(self, packets: int) -> None:
        if self.congestion is not None:
            self.congestion.on_ecn_echo(self, packets, self._loop.now)

    def _acknowledge(self, end: int) -> None:
        """All packets before `end` have arrived: progress."""
        self.unacknowledged = end
        self._retries_left = self._retry_count
        self._rnr_retries_left = self._rnr_retry
        if self.next_sequence < end:  # an ACK of packets that were sent before going back
            self._returned -= end - self.next_sequence
            self.next_sequence = end
        if self._ack_due > end:
            self._start_timer()
        else:
            self._deadline_ps = 0
        for messages in (self._in_flight, self._waiting):
            while messages and messages[0].end <= end:
                self._acknowledged.append(messages.popleft())
        now = self._loop.now
        if self.congestion is not None:
            self.congestion.on_ack(self, now)
        self._recovery.on_ack(self, now)
        self._allow()
        self._complete_acknowledged()

    def _complete_acknowledged(self) -> None:
        """Complete, in order, the messages that have arrived. A completion's handler may post, or end the QP."""
        acknowledged = self._acknowledged
        while acknowledged:
            self._complete(acknowledged.popleft(), WcStatus.SUCCESS)

    def _complete(self, message: Message, status: WcStatus) -> None:
        request = message.request
        qp = self._qp
        qp.on_completion(WorkCompletion(request.work_id, status, request.opcode, qp.number, request.length, None))

    def _on_nak(self, syndrome: int, sequence: int) -> None:
        now = self._loop.now
        if is_rnr_nak(syndrome):
            self._on_receiver_not_ready(sequence, now + rnr_timer_ps(syndrome))
        elif syndrome == Syndrome.NAK_PSN_SEQUENCE_ERROR:
            if self._spend_retry():
                self._counters.packet_seq_err += 1
                self._nic.note(journal.NAK, self._qp, self._psn(sequence))
                if self.log is not None:
                    self.log.blame(NAK)
                if self.congestion is not None:
                    self.congestion.on_nak(self, sequence, now)
                self._recovery.on_nak(self, sequence, now)
        elif syndrome in _REFUSALS:
            if syndrome == Syndrome.NAK_REMOTE_ACCESS_ERROR:
                self._counters.req_remote_access_errors += 1
            elif syndrome == Syndrome.NAK_INVALID_REQUEST:
                self._counters.req_remote_invalid_request += 1
            self._qp.fail_requester(_REFUSALS[syndrome])

    def _on_receiver_not_ready(self, sequence: int, until_ps: int) -> None:
        """RNR NAK: wait as long as the receiver asks, then send from the refused packet on."""
        if self._rnr_retry != RNR_RETRY_INFINITE:
            if self._rnr_retries_left == 0:
                self._qp.fail_requester(WcStatus.RNR_RETRY_EXC_ERR)
                return
            self._rnr_retries_left -= 1
        self._counters.rnr_nak_retry_err += 1
        self._nic.note(journal.RNR_NAK, self._qp, self._psn(sequence))
        self.not_before_ps = max(self.not_before_ps, until_ps)
        if self.log is not None:
            self.log.blame(RNR_NAK)
        self.go_back_to(sequence)

    # --- the end ------------------------------------------------------------------------------------------------------

    def flush(self, first_status: WcStatus) -> None:
        """End every request that is not complete: the oldest with `first_status`, those behind it as flushed."""
        self._complete_acknowledged()
        messages = self.discard()
        status = first_status
        for message in messages:
            if status is WcStatus.WR_FLUSH_ERR:
                self._counters.req_cqe_flush_error += 1
            else:
                self._counters.req_cqe_error += 1
            self._complete(message, status)
            status = WcStatus.WR_FLUSH_ERR

    def discard(self) -> list[Message]:
        """Stop: send nothing more, and return the messages that are not complete, which get no completion."""
        messages = [*self._in_flight, *self._waiting]
        self._in_flight.clear()
        self._waiting.clear()
        self._returned -= self.end_sequence - self.next_sequence
        self.next_sequence = self.send_limit = self.unacknowledged = self.end_sequence
        self._deadline_ps = 0
        if self.log is not None:
            self.log.unfinished.clear()
        return messages
