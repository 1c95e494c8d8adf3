"""The RDMA NIC: shares its link among its queue pairs, and hands what arrives to the one it is for.

    queue pairs --> ring, one packet each in turn --\\
                                                     >--> dequeue() --> transmitter
    ACKs, NAKs, CNPs --> control queue, goes first -/

    receive(frame) --> RoCE with a right ICRC --> its queue pair: requester (ACK, NAK), responder (requests),
                   |                              congestion control (CNP), notification point (marked requests)
                   \\-> anything else --> `on_other_frame`: the host's kernel, in a run that has one

The link pulls: its transmitter asks for the next frame when the wire is free, so the round robin is exact and nothing
waits in a queue behind the scheduler. A QP that may not send yet (RNR wait, or a rate) is out of the ring until its
time.

A priority that the transmitter says is paused (`paused_mask`) is skipped: what the scheduler comes upon of it, control
frames and QPs alike, is laid aside, and goes back to the head of its queue when the pause is over. So a pause costs
each frame and QP one look, and nothing at all while there is none.

Known limits: processing takes no time; host memory and PCIe are never the bottleneck; ACKs and CNPs always go before
data, in the order in which they were made.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Protocol, TypeVar

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.reasons import ICRC
from testbed.fabric import plan
from testbed.scenario.model import TransportOptions
from traffic.nic.congestion import CongestionSample, CongestionStatistics
from traffic.nic.counters import NicCounters, snapshot
from traffic.nic.journal import CNP_HANDLED, NicEvent
from traffic.nic.queue_pair import QueuePair
from traffic.nic.replayed import ReplayedFrame, take_replayed
from traffic.nic.transit import TransitLog
from traffic.nic.verbs import MemoryRegion
from traffic.wire.opcodes import Opcode
from traffic.wire.packet import CONGESTION_EXPERIENCED, MalformedPacket, RocePacket, parse

FIRST_QUEUE_PAIR = 17
"""Numbers below are special (QP 0 and 1: management) or kept free, as NICs do."""
_FIRST_ADDRESS = 0x10_0000_0000
_REGION_ALIGNMENT = 1 << 21
_IPV4_ADDRESSES = slice(26, 34)
_IPV6_ADDRESSES = slice(22, 54)

_ACKNOWLEDGE = int(Opcode.ACKNOWLEDGE)
_LAST_REQUEST = int(Opcode.RDMA_WRITE_ONLY_WITH_IMMEDIATE)
_CNP = int(Opcode.CNP)
_ONE_PRIORITY = bytes(256)
"""Of a network without traffic classes: whatever the IP byte, the priority is 0."""

# Why a NIC drops a RoCE packet, beside ICRC; each has its counter.
MALFORMED = "malformed"
WRONG_ADDRESS = "wrong_address"
UNKNOWN_QP = "unknown_qp"
QP_NOT_READY = "qp_not_ready"

DropHandler = Callable[[str, str, Frame], None]
"""Called with (the NIC's name, reason, frame) for every RoCE packet that the NIC drops."""


class Transmitter(Protocol):
    """The sending side of the NIC's link (`testbed.engine.transmitter`)."""

    rate_bps: int
    paused_mask: int
    """Bit p is set while priority p must not be sent. When that ends, the transmitter asks for a frame by itself."""

    def kick(self) -> None:
        """The NIC has something to send: ask for it as soon as the wire is free."""


class Sender(Protocol):
    """What has its turns in the ring: a queue pair's requester, or frames of a replay."""

    next_sequence: int
    send_limit: int
    not_before_ps: int
    priority: int
    scheduled: bool

    def emit_frame(self, now_ps: int) -> Frame:
        """Return the next frame; there is one while `next_sequence` is below `send_limit`."""


class _NoTransmitter:
    paused_mask = 0

    @property
    def rate_bps(self) -> int:
        raise RuntimeError("expected a NIC with a link; call `attach` before a QP with congestion control is made")

    @rate_bps.setter
    def rate_bps(self, rate_bps: int) -> None:
        raise RuntimeError(f"expected a NIC with a link, found a rate of {rate_bps} bit/s for none")

    def kick(self) -> None:
        raise RuntimeError("expected a NIC with a link; call `attach` before anything is posted")


class Nic:
    """One host's NIC.

    Attributes:
        name, mac, gateway_mac: as planned. ip: the address that RoCE uses.
        regions: registered memory by rkey. queue_pairs: by number. counters: live; `statistics` is a snapshot.
        on_other_frame: called with every frame that is not RoCE.
        priority_by_traffic_class: the priority for each value of the IP byte (`testbed.engine.classes`).
        congestion_samples: where QPs made from now on note every change of their congestion control; None: nowhere.
        transits: where QPs made from now on give an account of their messages; None: nowhere. arriving_hop: the `hop`
            of the frame that is being received.
        events: where what happens beside the ordinary flow is noted; None: nowhere.
    """

    __slots__ = (
        "_addresses", "_control", "_held_control", "_held_mask", "_held_requesters", "_next_address",
        "_return_handler", "_ring", "_transmitter", "arriving_hop", "congestion_samples", "counters", "events",
        "gateway_mac", "ip", "ip_version", "loop", "mac", "name", "on_drop", "on_other_frame", "peak_control_frames",
        "priority_by_traffic_class", "queue_pairs", "regions", "transits",
    )  # fmt: skip

    def __init__(
        self,
        planned: plan.Nic,
        loop: EventLoop,
        *,
        ip_version: int = 4,
        on_drop: DropHandler | None = None,
        priority_by_traffic_class: Sequence[int] = _ONE_PRIORITY,
    ) -> None:
        self.name = planned.name
        self.mac = planned.mac
        self.gateway_mac = planned.gateway_mac
        self.ip = planned.ipv4 if ip_version == 4 else planned.ipv6
        self.ip_version = ip_version
        self.loop = loop
        self.counters = NicCounters()
        self.regions: dict[int, MemoryRegion] = {}
        self.queue_pairs: dict[int, QueuePair] = {}
        self.on_other_frame: Callable[[Frame], None] = _ignore
        self.on_drop = on_drop
        self.peak_control_frames = 0
        self.priority_by_traffic_class = priority_by_traffic_class
        self.congestion_samples: list[CongestionSample] | None = None
        self.transits: TransitLog | None = None
        self.arriving_hop = 0
        self.events: list[NicEvent] | None = None
        self._addresses = _IPV4_ADDRESSES if ip_version == 4 else _IPV6_ADDRESSES
        self._next_address = _FIRST_ADDRESS
        self._transmitter: Transmitter = _NoTransmitter()
        self._control: deque[Frame] = deque()
        self._ring: deque[Sender] = deque()
        # What waits for the end of a pause, and the priorities of all of it as bits.
        self._held_control: deque[Frame] = deque()
        self._held_requesters: deque[Sender] = deque()
        self._held_mask = 0
        self._return_handler = self._return_to_ring

    def attach(self, transmitter: Transmitter) -> None:
        """Send by `transmitter`, whose source this NIC is."""
        self._transmitter = transmitter

    @property
    def rate_bps(self) -> int:
        """The rate of the NIC's link. Raises RuntimeError before `attach`."""
        return self._transmitter.rate_bps

    # --- what an application asks for ---------------------------------------------------------------------------------

    def register(self, length: int, memory: memoryview | None = None) -> MemoryRegion:
        """Register `length` bytes: those of `memory` (writable, one-dimensional bytes), or none at all."""
        if memory is not None and memory.nbytes != length:
            raise ValueError(f"expected {length} B of memory, found {memory.nbytes} B")
        rkey = 0x1000 + len(self.regions)
        region = MemoryRegion(rkey, self._next_address, length, memory)
        self._next_address += -(-max(length, 1) // _REGION_ALIGNMENT) * _REGION_ALIGNMENT
        self.regions[rkey] = region
        return region

    def create_queue_pair(self, settings: TransportOptions) -> QueuePair:
        """Return a new QP in RESET."""
        number = FIRST_QUEUE_PAIR + len(self.queue_pairs)
        qp = self.queue_pairs[number] = QueuePair(self, number, settings)
        return qp

    def addresses_from(self, peer_ip: str) -> bytes:
        """Return source and destination address as they stand in the IP header of a packet from `peer_ip`."""
        return ip_address(peer_ip).packed + ip_address(self.ip).packed

    def statistics(self) -> Mapping[str, int]:
        """Return a frozen snapshot of the counters by name (`NicCounters` says what each is)."""
        self.counters.peak_control_frames = self.peak_control_frames
        return snapshot(self.counters)

    def congestion_statistics(self) -> list[CongestionStatistics]:
        """Return how the congestion control of each QP stands now; QPs without one are left out."""
        controls = [qp.congestion for qp in self.queue_pairs.values()]
        return [control.statistics(self.loop.now) for control in controls if control is not None]

    # --- sending ------------------------------------------------------------------------------------------------------

    def schedule(self, requester: Sender) -> None:
        """Put `requester`, which has something to send, into the ring."""
        requester.scheduled = True
        self._ring.append(requester)
        self._transmitter.kick()

    def send_control(self, data: bytes, priority: int = 0) -> None:
        """Send an ACK, a NAK or a CNP before all data."""
        control = self._control
        control.append(Frame(data, priority=priority))
        waiting = len(control) + len(self._held_control)
        if waiting > self.peak_control_frames:
            self.peak_control_frames = waiting
        self._transmitter.kick()

    def dequeue(self) -> Frame | None:
        """Hand the next frame to the wire: a control frame, else a packet of the next QP in turn; None when there is
        none. Nothing whose priority is paused.
        """
        paused = self._transmitter.paused_mask
        if self._held_mask & ~paused:
            self._release(paused)
        control, counters = self._control, self.counters
        while control:
            frame = control.popleft()
            if paused >> frame.priority & 1:
                self._held_control.append(frame)
                self._held_mask |= 1 << frame.priority
                continue
            counters.tx_vport_rdma_unicast_packets += 1
            counters.tx_vport_rdma_unicast_bytes += len(frame.data)
            return frame
        ring = self._ring
        while ring:
            requester = ring.popleft()
            if requester.next_sequence >= requester.send_limit:
                requester.scheduled = False
            elif requester.not_before_ps > self.loop.now:
                self.loop.at(requester.not_before_ps, self._return_handler, requester)
            elif paused >> requester.priority & 1:
                self._held_requesters.append(requester)
                self._held_mask |= 1 << requester.priority
            else:
                frame = requester.emit_frame(self.loop.now)
                counters.tx_vport_rdma_unicast_packets += 1
                counters.tx_vport_rdma_unicast_bytes += len(frame.data)
                self._take_turn(requester)
                return frame
        return None

    def _take_turn(self, requester: Sender) -> None:
        """`requester` has just sent: to the end of the ring, or out of it if it has nothing more or must wait."""
        if requester.next_sequence >= requester.send_limit:
            requester.scheduled = False
        elif requester.not_before_ps > self.loop.now:
            self.loop.at(requester.not_before_ps, self._return_handler, requester)
        else:
            self._ring.append(requester)

    def has_more(self) -> bool:
        """Return whether `dequeue` may have a frame."""
        paused = self._transmitter.paused_mask
        if paused or self._held_mask:
            return self._has_unpaused(paused)
        return bool(self._control or self._ring)

    # --- pauses -------------------------------------------------------------------------------------------------------

    def _has_unpaused(self, paused: int) -> bool:
        return (
            bool(self._held_mask & ~paused)
            or any(not paused >> frame.priority & 1 for frame in self._control)
            or any(not paused >> requester.priority & 1 for requester in self._ring)
        )

    def _release(self, paused: int) -> None:
        """Put back, ahead of what came later, whatever was laid aside and is not paused any more."""
        self._held_mask &= paused
        _put_back(self._held_control, self._control, paused)
        _put_back(self._held_requesters, self._ring, paused)

    def _return_to_ring(self, requester: Sender) -> None:
        """A QP's time has come; `dequeue` looks whether it still has something to send."""
        self.schedule(requester)

    # --- receiving ----------------------------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> None:
        """Handle a frame whose last bit has arrived."""
        data = frame.data
        self.arriving_hop = frame.hop
        counters = self.counters
        try:
            packet = parse(data)
        except MalformedPacket:
            counters.rx_malformed += 1
            self._drop(MALFORMED, frame)
            return
        if packet is None:
            counters.rx_other_frames += 1
            self.on_other_frame(frame)
        elif not packet.icrc_ok:
            counters.rx_icrc_encapsulated += 1
            self._drop(ICRC, frame)
        else:
            counters.rx_vport_rdma_unicast_packets += 1
            counters.rx_vport_rdma_unicast_bytes += len(data)
            if isinstance(frame, ReplayedFrame):
                take_replayed(self, frame, packet)
                return
            reason = self._hand_over(packet, data)
            if reason is not None:
                self._drop(reason, frame)

    def _hand_over(self, packet: RocePacket, data: bytes) -> str | None:
        """Give a packet to its QP's requester or responder; return why not when there is none that takes it."""
        counters = self.counters
        qp = self.queue_pairs.get(packet.destination_qp)
        if qp is None:
            counters.rx_unknown_qp += 1
            return UNKNOWN_QP
        if data[self._addresses] != qp.peer_addresses:
            counters.rx_wrong_address += 1
            return WRONG_ADDRESS
        opcode = packet.opcode
        if packet.ecn == CONGESTION_EXPERIENCED:
            counters.np_ecn_marked_roce_packets += 1
            if opcode <= _LAST_REQUEST and qp.takes_requests and qp.notification is not None:
                qp.notification.on_marked()
        if opcode <= _LAST_REQUEST and qp.takes_requests:
            counters.received_data_packets += 1
            qp.responder.on_request(packet)
        elif opcode == _ACKNOWLEDGE and qp.takes_responses:
            qp.requester.on_response(packet)
        elif opcode == _CNP and qp.takes_responses:
            self._on_cnp(qp)
        else:
            counters.rx_qp_not_ready += 1
            return QP_NOT_READY
        return None

    def _on_cnp(self, qp: QueuePair) -> None:
        requester = qp.requester
        if requester.congestion is None:
            self.counters.rp_cnp_ignored += 1
        else:
            self.counters.rp_cnp_handled += 1
            self.note(CNP_HANDLED, qp)
            requester.congestion.on_cnp(requester, self.loop.now)

    def note(self, kind: str, qp: QueuePair, psn: int | None = None, packets: int | None = None) -> None:
        """Note an event of `qp`, if events are noted."""
        if self.events is not None:
            peer_ip = qp.peer.ip if qp.peer is not None else ""
            self.events.append(NicEvent(self.loop.now, kind, self.name, qp.number, peer_ip, psn, packets))

    def _drop(self, reason: str, frame: Frame) -> None:
        if self.on_drop is not None:
            self.on_drop(self.name, reason, frame)


def _ignore(_frame: Frame) -> None:
    """A host without a kernel behind its NIC: counted as `rx_other_frames`, and no more."""


class _Prioritised(Protocol):
    @property
    def priority(self) -> int: ...


_P = TypeVar("_P", bound=_Prioritised)


def _put_back(held: deque[_P], queue: deque[_P], paused: int) -> None:
    """Move what is not paused from `held` to the head of `queue`, in its order."""
    still_held = [each for each in held if paused >> each.priority & 1]
    queue.extendleft(each for each in reversed(held) if not paused >> each.priority & 1)
    held.clear()
    held.extend(still_held)
