"""The RDMA NIC: shares its link among its queue pairs, and hands what arrives to the one it is for.

    queue pairs --> ring, one packet each in turn --\\
                                                     >--> dequeue() --> transmitter
    ACKs and NAKs --> control queue, goes first ----/

    receive(frame) --> RoCE with a right ICRC --> its queue pair: requester (ACK, NAK) or responder (requests)
                   \\-> anything else --> `on_other_frame`: the host's kernel, in a run that has one

The link pulls: its transmitter asks for the next frame when the wire is free, so the round robin is exact and nothing
waits in a queue behind the scheduler. A QP that may not send yet (RNR wait, or a rate) is out of the ring until its
time.

Known limits: processing takes no time; host memory and PCIe are never the bottleneck; ACKs always go before data.
"""

from collections import deque
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Protocol

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.reasons import ICRC
from testbed.fabric import plan
from testbed.scenario.model import TransportOptions
from traffic.nic.counters import NicCounters, snapshot
from traffic.nic.queue_pair import QueuePair
from traffic.nic.requester import Requester
from traffic.nic.verbs import MemoryRegion
from traffic.wire.opcodes import Opcode
from traffic.wire.packet import MalformedPacket, RocePacket, parse

FIRST_QUEUE_PAIR = 17
"""Numbers below are special (QP 0 and 1: management) or kept free, as NICs do."""
_FIRST_ADDRESS = 0x10_0000_0000
_REGION_ALIGNMENT = 1 << 21
_IPV4_ADDRESSES = slice(26, 34)
_IPV6_ADDRESSES = slice(22, 54)

_ACKNOWLEDGE = int(Opcode.ACKNOWLEDGE)
_LAST_REQUEST = int(Opcode.RDMA_WRITE_ONLY_WITH_IMMEDIATE)
_CNP = int(Opcode.CNP)
_CONGESTION_EXPERIENCED = 3

# Why a NIC drops a RoCE packet, beside ICRC; each has its counter.
MALFORMED = "malformed"
WRONG_ADDRESS = "wrong_address"
UNKNOWN_QP = "unknown_qp"
QP_NOT_READY = "qp_not_ready"

DropHandler = Callable[[str, str, Frame], None]
"""Called with (the NIC's name, reason, frame) for every RoCE packet that the NIC drops."""


class Transmitter(Protocol):
    """The sending side of the NIC's link (`testbed.engine.transmitter`)."""

    def kick(self) -> None:
        """The NIC has something to send: ask for it as soon as the wire is free."""


class _NoTransmitter:
    def kick(self) -> None:
        raise RuntimeError("expected a NIC with a link; call `attach` before anything is posted")


class Nic:
    """One host's NIC.

    Attributes:
        name, mac, gateway_mac: as planned. ip: the address that RoCE uses.
        regions: registered memory by rkey. queue_pairs: by number. counters: live; `statistics` is a snapshot.
        on_other_frame: called with every frame that is not RoCE.
    """

    __slots__ = (
        "_addresses", "_control", "_next_address", "_return_handler", "_ring", "_transmitter", "counters",
        "gateway_mac", "ip", "ip_version", "loop", "mac", "name", "on_drop", "on_other_frame",
        "peak_control_frames", "queue_pairs", "regions",
    )  # fmt: skip

    def __init__(
        self, planned: plan.Nic, loop: EventLoop, *, ip_version: int = 4, on_drop: DropHandler | None = None
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
        self._addresses = _IPV4_ADDRESSES if ip_version == 4 else _IPV6_ADDRESSES
        self._next_address = _FIRST_ADDRESS
        self._transmitter: Transmitter = _NoTransmitter()
        self._control: deque[bytes] = deque()
        self._ring: deque[Requester] = deque()
        self._return_handler = self._return_to_ring

    def attach(self, transmitter: Transmitter) -> None:
        """Send by `transmitter`, whose source this NIC is."""
        self._transmitter = transmitter

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

    # --- sending ------------------------------------------------------------------------------------------------------

    def schedule(self, requester: Requester) -> None:
        """Put `requester`, which has something to send, into the ring."""
        requester.scheduled = True
        self._ring.append(requester)
        self._transmitter.kick()

    def send_control(self, frame: bytes) -> None:
        """Send an ACK or NAK before all data."""
        control = self._control
        control.append(frame)
        if len(control) > self.peak_control_frames:
            self.peak_control_frames = len(control)
        self._transmitter.kick()

    def dequeue(self) -> Frame | None:
        """Hand the next frame to the wire: a control frame, else a packet of the next QP in turn; None when there is
        none.
        """
        counters = self.counters
        if self._control:
            data = self._control.popleft()
            counters.tx_vport_rdma_unicast_packets += 1
            counters.tx_vport_rdma_unicast_bytes += len(data)
            return Frame(data)
        ring = self._ring
        while ring:
            requester = ring.popleft()
            if requester.next_sequence >= requester.send_limit:
                requester.scheduled = False
            elif requester.not_before_ps > self.loop.now:
                self.loop.at(requester.not_before_ps, self._return_handler, requester)
            else:
                data = requester.emit_next()
                if requester.next_sequence < requester.send_limit:
                    ring.append(requester)
                else:
                    requester.scheduled = False
                counters.tx_vport_rdma_unicast_packets += 1
                counters.tx_vport_rdma_unicast_bytes += len(data)
                return Frame(data, is_data=True)
        return None

    def has_more(self) -> bool:
        """Return whether `dequeue` may have a frame."""
        return bool(self._control or self._ring)

    def _return_to_ring(self, requester: Requester) -> None:
        """A QP's time has come; `dequeue` looks whether it still has something to send."""
        self.schedule(requester)

    # --- receiving ----------------------------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> None:
        """Handle a frame whose last bit has arrived."""
        data = frame.data
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
        if packet.ecn == _CONGESTION_EXPERIENCED:
            counters.np_ecn_marked_roce_packets += 1
        opcode = packet.opcode
        if opcode <= _LAST_REQUEST and qp.takes_requests:
            counters.received_data_packets += 1
            qp.responder.on_request(packet)
        elif opcode == _ACKNOWLEDGE and qp.takes_responses:
            qp.requester.on_response(packet)
        elif opcode == _CNP and qp.takes_responses:
            self._on_cnp(qp.requester)
        else:
            counters.rx_qp_not_ready += 1
            return QP_NOT_READY
        return None

    def _on_cnp(self, requester: Requester) -> None:
        if requester.congestion is None:
            self.counters.rp_cnp_ignored += 1
        else:
            self.counters.rp_cnp_handled += 1
            requester.congestion.on_cnp(requester, self.loop.now)

    def _drop(self, reason: str, frame: Frame) -> None:
        if self.on_drop is not None:
            self.on_drop(self.name, reason, frame)


def _ignore(_frame: Frame) -> None:
    """A host without a kernel behind its NIC: counted as `rx_other_frames`, and no more."""
