"""Frames that a NIC sends although none of its queue pairs does, and that a NIC counts although none receives them.

A replayed packet belongs to queue pairs that existed elsewhere. So the NIC at the far end, which knows it by its frame
and not by its bytes, neither looks for its queue pair nor answers: no ACK, no NAK, no CNP. It is checked like any other
(length, ICRC), counted, and told to its flow.

In the counters of NICs replayed packets are packets like others; a replayed CNP is one that its receiver ignores.
"""

from __future__ import annotations

from collections import deque
from copy import copy
from typing import TYPE_CHECKING, Protocol

from testbed.engine.frame import Frame
from traffic.wire.opcodes import Opcode
from traffic.wire.packet import CONGESTION_EXPERIENCED, RocePacket

if TYPE_CHECKING:
    from traffic.nic.nic import Nic


class ReplayedFlow(Protocol):
    """Whom a replayed frame belongs to: what it is told of what became of it."""

    def on_arrival(self, frame: ReplayedFrame, now_ps: int, *, marked: bool) -> None:
        """`frame` has arrived whole; `marked`: a switch has marked it on its way."""

    def on_loss(self, frame: ReplayedFrame, reason: str) -> None:
        """`frame` was lost."""


class ReplayedFrame(Frame):
    """A frame of a replay.

    Attributes:
        flow: whom it belongs to. index: its place among its flow's frames, from 0. due_ps: when it was to be sent.
        sent_ps: when its first bit went out. was_marked: it was sent with CE set. is_cnp: it is a CNP.
    """

    __slots__ = ("due_ps", "flow", "index", "is_cnp", "sent_ps", "was_marked")

    def __init__(
        self, data: bytes, flow: ReplayedFlow, index: int, due_ps: int, opcode: int, traffic_class: int, priority: int
    ) -> None:
        super().__init__(data, is_data=opcode not in (Opcode.ACKNOWLEDGE, Opcode.CNP), priority=priority)
        self.flow = flow
        self.index = index
        self.due_ps = self.sent_ps = due_ps
        self.is_cnp = opcode == Opcode.CNP
        self.was_marked = traffic_class & 3 == CONGESTION_EXPERIENCED

    def again(self, data: bytes) -> ReplayedFrame:
        """Return one more frame like this one, with the bytes `data`."""
        frame = copy(self)
        frame.data = data
        return frame


class ReplaySender:
    """What replayed frames of one priority wait in at their NIC: one more in its ring, beside the queue pairs."""

    __slots__ = ("_nic", "_waiting", "next_sequence", "not_before_ps", "priority", "scheduled", "send_limit")

    def __init__(self, nic: Nic, priority: int) -> None:
        self._nic = nic
        self._waiting: deque[ReplayedFrame] = deque()
        self.next_sequence = self.send_limit = self.not_before_ps = 0
        self.priority = priority
        self.scheduled = False

    def put(self, frame: ReplayedFrame) -> None:
        """Send `frame` as soon as the NIC lets it."""
        self._waiting.append(frame)
        self.send_limit += 1
        if not self.scheduled:
            self._nic.schedule(self)

    def emit_frame(self, now_ps: int) -> Frame:
        """Return the next frame, which goes out now."""
        frame = self._waiting.popleft()
        self.next_sequence += 1
        frame.sent_ps = now_ps
        counters = self._nic.counters
        counters.sent_data_packets += frame.is_data
        counters.np_cnp_sent += frame.is_cnp
        return frame

    def discard(self) -> None:
        """Send nothing more."""
        self._waiting.clear()
        self.send_limit = self.next_sequence


def take_replayed(nic: Nic, frame: ReplayedFrame, packet: RocePacket) -> None:
    """Count a replayed packet that has arrived at `nic`."""
    counters = nic.counters
    marked = packet.ecn == CONGESTION_EXPERIENCED and not frame.was_marked
    counters.received_data_packets += frame.is_data
    counters.rp_cnp_ignored += frame.is_cnp
    counters.np_ecn_marked_roce_packets += marked
    frame.flow.on_arrival(frame, nic.loop.now, marked=marked)


def note_loss(frame: Frame, reason: str) -> None:
    """Tell the flow of a frame that was lost, if it is of a replay."""
    if isinstance(frame, ReplayedFrame):
        frame.flow.on_loss(frame, reason)
