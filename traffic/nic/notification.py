"""How a receiver tells its sender that packets arrived marked CE (congestion experienced), in two ways.

CNP: the notification point of RoCEv2. A marked data packet is answered with a congestion notification packet to the QP
that sent it: opcode 0x81, BECN set, PSN 0 and 16 reserved bytes, of a DSCP of its own so that it can overtake the data;
at most one for a QP in each interval. Marked acknowledgements are counted, and not answered.

Echo: an acknowledgement with BECN set in its base transport header says that the packets which it newly acknowledges
were marked, one without it that they were not. For that to be exact although acknowledgements are coalesced, the
receiver acknowledges at once what came before whenever a packet's mark differs from that of the packet before it: what
a DCTCP receiver does with TCP's ECE bit. RoCEv2 NICs send CNPs; carrying BECN in an acknowledgement is InfiniBand's way
of returning congestion notification on a reliable connection. It is modelled for senders that need the share of marked
packets.

References: IBTA volume 1, annex A17 (RoCEv2, CNP) and A10 (congestion control, BECN in acknowledgements); RFC 8257, 3.2
(the state machine of the receiver).
Known limits: a lost acknowledgement loses its echo: its packets count as the next acknowledgement says. The CNP's ECN
bits are ECT(0), as ConnectX-4 Lx sends them, so that a switch may mark the CNP itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from traffic.nic.journal import CNP_SENT
from traffic.nic.responder import ACKNOWLEDGE, Responder
from traffic.wire.aeth import Syndrome
from traffic.wire.packet import CONGESTION_EXPERIENCED, RocePacket
from traffic.wire.psn import PSN_MODULUS
from traffic.wire.template import aeth

if TYPE_CHECKING:
    from traffic.nic.queue_pair import QueuePair

_PSN_MASK = PSN_MODULUS - 1
_ECT_0 = 2


class NotificationPoint:
    """Answers one QP's marked packets with CNPs, no two of them closer together than `interval_ps`."""

    __slots__ = ("_frame", "_interval_ps", "_nic", "_not_before_ps", "_priority", "_qp", "_traffic_class")

    def __init__(self, qp: QueuePair, interval_ps: int) -> None:
        self._qp = qp
        self._nic = qp.nic
        self._interval_ps = interval_ps
        self._not_before_ps = 0
        self._traffic_class = qp.settings.cnp_dscp << 2 | _ECT_0
        self._priority = qp.nic.priority_by_traffic_class[self._traffic_class]
        self._frame: bytes | None = None

    def on_marked(self) -> None:
        """A data packet has arrived with CE."""
        now = self._nic.loop.now
        if now < self._not_before_ps:
            return
        self._not_before_ps = now + self._interval_ps
        if self._frame is None:  # the same bytes every time, so they are made once
            self._frame = self._qp.template(self._traffic_class).cnp()
        self._nic.counters.np_cnp_sent += 1
        self._nic.note(CNP_SENT, self._qp)
        self._nic.send_control(self._frame, self._priority)


class EchoingResponder(Responder):
    """A responder whose acknowledgements say, by BECN, whether the packets that they newly acknowledge were marked."""

    __slots__ = ("_acknowledged_psn", "_marked")

    def __init__(self, qp: QueuePair) -> None:
        super().__init__(qp)
        self._marked = False  # whether the last packet in order was
        self._acknowledged_psn = self.expected_psn  # the first that no acknowledgement has covered

    def on_request(self, packet: RocePacket) -> None:
        if packet.psn == self.expected_psn:
            marked = packet.ecn == CONGESTION_EXPERIENCED
            if marked is not self._marked:
                if self._acknowledged_psn != self.expected_psn:
                    self._answer(Syndrome.ACK, (self.expected_psn - 1) & _PSN_MASK)
                self._marked = marked
        super().on_request(packet)

    def _answer(self, syndrome: int, psn: int) -> None:
        self._acknowledged_psn = self.expected_psn
        frame = self._qp.emit_answer(ACKNOWLEDGE, psn, aeth(syndrome, self.msn), becn=self._marked)
        self._nic.send_control(frame, self._priority)
