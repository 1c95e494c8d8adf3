"""The responder of a reliable-connection queue pair: takes packets in order, places payload, answers.

Only the packet with the expected PSN is taken. Behind it on the circle lies what came before (a duplicate: acknowledged
again, not carried out again), ahead of it what comes too early (dropped; one NAK for each gap says what is missing). An
ACK is sent for a packet that asks for one, and covers everything before it too.

Before a SEND's first packet, and before the packet that carries an immediate value, a posted receive must be there; if
not, an RNR NAK asks the requester to come back later. A request that cannot be carried out is refused with a NAK that
says why, and the queue pair goes to ERROR.

References: IBTA volume 1, 9.7.4 (what is checked), 9.7.5 (ACK, NAK, RNR NAK), 9.9.3 (errors).
Known limits: no READ, no atomics; a refused message may have been placed in part, as in hardware.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from traffic.nic.verbs import ReceiveRequest, WcStatus, WorkCompletion, WorkOpcode
from traffic.wire.aeth import Syndrome, rnr_nak
from traffic.wire.opcodes import SHAPES, Extension, Opcode
from traffic.wire.packet import RocePacket
from traffic.wire.psn import psn_add, psn_distance
from traffic.wire.template import aeth

if TYPE_CHECKING:
    from traffic.nic.queue_pair import QueuePair

ACKNOWLEDGE = int(Opcode.ACKNOWLEDGE)
"""As a plain integer, with which the per-packet path is quicker."""

_STARTS, _ENDS, _IS_SEND, _HAS_IMMEDIATE = 1, 2, 4, 8


def _bits(opcode: Opcode) -> int:
    shape = SHAPES[opcode]
    return (
        (_STARTS if shape.starts_message else 0)
        | (_ENDS if shape.ends_message else 0)
        | (_IS_SEND if opcode <= Opcode.SEND_ONLY_WITH_IMMEDIATE else 0)
        | (_HAS_IMMEDIATE if Extension.IMMDT in shape.extensions else 0)
    )


_SHAPE = tuple(_bits(Opcode(code)) for code in range(Opcode.RDMA_WRITE_ONLY_WITH_IMMEDIATE + 1))
"""What each request opcode says, as bits, by opcode."""


class Responder:
    """Receives one QP's messages. `expected_psn` is the packet it waits for; `msn` counts completed messages."""

    __slots__ = (
        "_counters", "_end", "_in_message", "_is_send", "_memory", "_mtu", "_nak_sent",
        "_nic", "_offset", "_priority", "_qp", "_receives", "_rnr_syndrome", "_start", "expected_psn", "msn",
    )  # fmt: skip

    def __init__(self, qp: QueuePair) -> None:
        self._qp = qp
        self._nic = qp.nic
        self._counters = qp.nic.counters
        self._mtu = qp.settings.mtu
        self._priority = qp.answer_priority
        self._rnr_syndrome = rnr_nak(qp.settings.rnr_timer)
        self._receives: deque[ReceiveRequest] = deque()
        self.expected_psn = qp.settings.initial_psn
        self.msn = 0
        self._nak_sent = False  # for the gap, or the refusal, before the expected packet
        # The message whose packets arrive now: bytes from `_start` to `_end` of `_memory`, the next one at `_offset`.
        self._in_message = False
        self._is_send = 0
        self._memory: memoryview | None = None
        self._start = self._offset = self._end = 0

    def post(self, request: ReceiveRequest) -> None:
        """Put `request` at the end of the receive queue."""
        self._receives.append(request)

    # --- packets ------------------------------------------------------------------------------------------------------

    def on_request(self, packet: RocePacket) -> None:
        """Handle one request packet with a right ICRC."""
        psn = packet.psn
        if psn != self.expected_psn:
            self._on_unexpected(packet)
            return
        shape = _SHAPE[packet.opcode]
        if not self._is_acceptable(packet, shape):
            return
        payload = packet.payload
        offset = self._offset
        end = offset + len(payload)
        if self._memory is not None:
            self._memory[offset:end] = payload
        self._offset = end
        self.expected_psn = psn_add(psn, 1)
        self._nak_sent = False
        if shape & _ENDS:
            self._in_message = False
            self.msn = psn_add(self.msn, 1)  # of 24 bits as well
            nic = self._nic
            if nic.transits is not None:
                nic.transits.arrived(self._qp, nic.arriving_hop, nic.loop.now)
            if packet.ack_request:
                self._answer(Syndrome.ACK, psn)
            if shape & (_IS_SEND | _HAS_IMMEDIATE):
                self._complete_receive(packet.immediate)
        elif packet.ack_request:
            self._answer(Syndrome.ACK, psn)

    def _is_acceptable(self, packet: RocePacket, shape: int) -> bool:
        """Check the expected packet against its message; answer with a NAK when it cannot be carried out."""
        if shape & _STARTS:
            if self._in_message:
                return self._refuse(Syndrome.NAK_INVALID_REQUEST)
            if not self._start_message(packet, shape):
                return False
        elif not self._in_message or shape & _IS_SEND != self._is_send:
            return self._refuse(Syndrome.NAK_INVALID_REQUEST)
        room = self._end - self._offset
        size = len(packet.payload)
        if not shape & _ENDS:
            return (size == self._mtu and size <= room) or self._refuse_length(size, room)
        if size > self._mtu or (size > room if self._is_send else size != room):
            return self._refuse_length(size, room)
        if shape & _HAS_IMMEDIATE and not self._is_send and not self._receives:
            return self._not_ready()
        return True

    def _start_message(self, packet: RocePacket, shape: int) -> bool:
        """Find out where the message goes. Return False, answered, when it may not."""
        is_send = shape & _IS_SEND
        if is_send:
            if not self._receives:
                return self._not_ready()
            receive = self._receives[0]
            self._memory = None if receive.region is None else receive.region.memory
            self._start, self._end = receive.offset, receive.offset + receive.length
        elif not self._open_write(packet):
            return self._refuse(Syndrome.NAK_REMOTE_ACCESS_ERROR)
        self._is_send = is_send
        self._offset = self._start
        # A message of one packet that waits for a receive starts again when it is sent again.
        self._in_message = not shape & _ENDS
        return True

    def _open_write(self, packet: RocePacket) -> bool:
        """Aim at the memory that the RETH names; an empty write names none (its key is not checked)."""
        address, length = packet.remote_address, packet.dma_length
        assert address is not None
        assert length is not None
        assert packet.rkey is not None
        if length == 0:
            self._memory, self._start, self._end = None, 0, 0
            return True
        region = self._nic.regions.get(packet.rkey)
        if region is None or not region.holds(address, length):
            return False
        self._memory = region.memory
        self._start = address - region.address
        self._end = self._start + length
        return True

    def _on_unexpected(self, packet: RocePacket) -> None:
        """Handle a packet that came before (its PSN lies behind) or comes too early (ahead of the expected one)."""
        if psn_distance(packet.psn, self.expected_psn) < 0:
            self._counters.duplicate_request += 1
            if packet.ack_request:
                self._answer(Syndrome.ACK, psn_add(self.expected_psn, -1))
            return
        self._counters.out_of_sequence += 1
        if not self._nak_sent:
            self._nak_sent = True
            self._answer(Syndrome.NAK_PSN_SEQUENCE_ERROR, self.expected_psn)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _answer(self, syndrome: int, psn: int) -> None:
        self._nic.send_control(self._qp.emit_answer(ACKNOWLEDGE, psn, aeth(syndrome, self.msn)), self._priority)

    def _not_ready(self) -> bool:
        """No receive is posted: ask the requester to come back. What is behind the packet is dropped until then."""
        self._counters.out_of_buffer += 1
        self._nak_sent = True
        self._answer(self._rnr_syndrome, self.expected_psn)
        return False

    def _refuse_length(self, size: int, room: int) -> bool:
        """Refuse a packet of a wrong size; a SEND that is longer than its receive also ends that receive in error."""
        if self._is_send and size > room:
            self._counters.resp_local_length_error += 1
            return self._refuse(Syndrome.NAK_INVALID_REQUEST, WcStatus.LOC_LEN_ERR)
        return self._refuse(Syndrome.NAK_INVALID_REQUEST)

    def _refuse(self, syndrome: int, status: WcStatus = WcStatus.WR_FLUSH_ERR) -> bool:
        """Say why the expected packet cannot be carried out, and give up the connection; its receive ends with
        `status`.
        """
        if syndrome == Syndrome.NAK_REMOTE_ACCESS_ERROR:
            self._counters.resp_remote_access_errors += 1
        self._answer(syndrome, self.expected_psn)
        self._qp.fail_responder(status)
        return False

    # --- completions --------------------------------------------------------------------------------------------------

    def _complete_receive(self, immediate: int | None) -> None:
        self._complete(self._receives.popleft(), WcStatus.SUCCESS, self._offset - self._start, immediate)

    def _complete(self, request: ReceiveRequest, status: WcStatus, byte_count: int, immediate: int | None) -> None:
        opcode = WorkOpcode.RECV if self._is_send else WorkOpcode.RECV_RDMA_WITH_IMM
        qp = self._qp
        qp.on_completion(WorkCompletion(request.work_id, status, opcode, qp.number, byte_count, immediate))

    def flush(self, first_status: WcStatus = WcStatus.WR_FLUSH_ERR) -> None:
        """End every posted receive: the oldest with `first_status`, those behind it as flushed."""
        self._in_message = False
        self._is_send = _IS_SEND
        status = first_status
        while self._receives:
            if status is WcStatus.WR_FLUSH_ERR:
                self._counters.resp_cqe_flush_error += 1
            else:
                self._counters.resp_cqe_error += 1
            self._complete(self._receives.popleft(), status, 0, None)
            status = WcStatus.WR_FLUSH_ERR
