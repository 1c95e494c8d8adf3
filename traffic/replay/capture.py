"""The RoCEv2 packets of a capture, as plain values, and what a file has beside them.

Of a frame only that is kept which the packet's sender decided: IP addresses, the traffic class with its ECN bits, the
UDP source port, and everything from the BTH to the pad. MAC addresses, VLAN tags and TTL belong to the network where it
was captured. An ICRC that was wrong stays wrong in the same bits.

Whatever is not a whole RoCEv2 packet of a reliable connection is counted by what it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from struct import Struct

from traffic.wire.capture_file import RawFrame, read_frames
from traffic.wire.errors import MalformedPacket
from traffic.wire.icrc import (
    ETHERNET_BYTES,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    IPV4_BYTES,
    IPV6_BYTES,
    UDP_BYTES,
    icrc,
    ip_offset,
)
from traffic.wire.opcodes import EXTENSION_BYTES, ICRC_BYTES, Opcode
from traffic.wire.packet import RocePacket, addresses, parse

_ICRC = Struct("<I")
_PROTOCOLS = {1: "ICMP", 2: "IGMP", 6: "TCP", 17: "UDP", 58: "ICMPv6", 89: "OSPF"}
_ETHERTYPES = {0x0806: "ARP", 0x8808: "MAC control (pauses)", 0x88CC: "LLDP", 0x8915: "RoCEv1", 0x8914: "FCoE"}
_NOT_DATA = (Opcode.ACKNOWLEDGE, Opcode.CNP)

CUT_SHORT = "frames of which the capture has only the beginning"
MALFORMED = "RoCEv2 packets that contradict themselves"
OTHER_TRANSPORT = "RoCEv2 packets that are not of a reliable connection"


@dataclass(frozen=True, slots=True)
class CapturedPacket:
    """One RoCEv2 packet of a capture.

    `number` is the frame's in the file. `time_ps` counts from the file's first RoCEv2 packet, and never goes back: a
    packet that a file has too early goes with the one before. `source` and `destination` are packed IP addresses.
    `transport` is everything from the BTH to the pad; `icrc_error` the bits in which the ICRC was wrong, 0 for none.
    """

    number: int
    time_ps: int
    source: bytes
    destination: bytes
    traffic_class: int
    source_port: int
    destination_qp: int
    psn: int
    opcode: int
    payload_bytes: int
    transport: bytes
    icrc_error: int

    @property
    def is_data(self) -> bool:
        """Whether it counts as a data packet: all but acknowledgements and congestion notifications do."""
        return self.opcode not in _NOT_DATA


@dataclass
class Survey:
    """What is in a capture: RoCEv2 packets, how many of them carry data and have a wrong ICRC, over which time, between
    which addresses (in the order in which they appear), with which largest payload, and everything else by its name."""

    packets: int = 0
    data_packets: int = 0
    wrong_icrc: int = 0
    span_ps: int = 0
    addresses: dict[bytes, int] = field(default_factory=dict)
    pairs: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    largest_payload_bytes: int = 0
    largest_number: int = 0
    others: Counter[str] = field(default_factory=Counter)

    def note(self, packet: CapturedPacket) -> None:
        """Count one more packet."""
        self.packets += 1
        self.data_packets += packet.is_data
        self.wrong_icrc += packet.icrc_error != 0
        self.span_ps = packet.time_ps
        for address in (packet.source, packet.destination):
            self.addresses.setdefault(address, packet.number)
        self.pairs.setdefault((packet.source, packet.destination), packet.number)
        if packet.payload_bytes > self.largest_payload_bytes:
            self.largest_payload_bytes, self.largest_number = packet.payload_bytes, packet.number


def survey_capture(path: Path) -> Survey:
    """Return what is in the capture at `path`. Raises CaptureError."""
    found = Survey()
    for packet in read_packets(path, found.others):
        found.note(packet)
    return found


def read_packets(path: Path, others: Counter[str]) -> Iterator[CapturedPacket]:
    """Yield the RoCEv2 packets of the capture at `path`, and count everything else in `others`. Raises CaptureError."""
    first_ps = latest_ps = None
    for raw in read_frames(path):
        data = _without_tags(raw.data)
        try:
            packet = parse(data)
        except MalformedPacket:
            packet = None
            others[CUT_SHORT if len(raw.data) < raw.wire_bytes else _broken_kind(data)] += 1
        else:
            if packet is None:
                others[_kind(data)] += 1
        if packet is None:
            continue
        if first_ps is None or latest_ps is None:
            first_ps = latest_ps = raw.time_ps
        latest_ps = max(latest_ps, raw.time_ps)
        yield _captured(raw, latest_ps - first_ps, data, packet)


def _without_tags(data: bytes) -> bytes:
    """Return a frame without its VLAN tags."""
    try:
        _, start = ip_offset(data)
    except MalformedPacket:
        return data
    return data if start == ETHERNET_BYTES else data[: ETHERNET_BYTES - 2] + data[start - 2 :]


def _captured(raw: RawFrame, time_ps: int, data: bytes, packet: RocePacket) -> CapturedPacket:
    ends = addresses(data)
    assert ends is not None, "a RoCEv2 packet has addresses"
    ip_bytes = IPV4_BYTES if len(ends[0]) == 4 else IPV6_BYTES
    udp = ETHERNET_BYTES + ip_bytes
    end = udp + (data[udp + 4] << 8 | data[udp + 5])
    (found,) = _ICRC.unpack_from(data, end - ICRC_BYTES)
    return CapturedPacket(
        number=raw.number,
        time_ps=time_ps,
        source=ends[0],
        destination=ends[1],
        traffic_class=packet.traffic_class,
        source_port=packet.source_port,
        destination_qp=packet.destination_qp,
        psn=packet.psn,
        opcode=packet.opcode,
        payload_bytes=len(packet.payload),
        transport=data[udp + UDP_BYTES : end - ICRC_BYTES],
        icrc_error=0 if packet.icrc_ok else found ^ icrc(data[:end]),
    )


def _kind(data: bytes) -> str:
    """Name what a frame that is not RoCEv2 is."""
    try:
        ethertype, start = ip_offset(data)
    except MalformedPacket:
        return "frames without a whole Ethernet header"
    if ethertype == ETHERTYPE_IPV4 and len(data) > start + 9:
        return f"IPv4 {_protocol(data[start + 9])}"
    if ethertype == ETHERTYPE_IPV6 and len(data) > start + 6:
        return f"IPv6 {_protocol(data[start + 6])}"
    return _ETHERTYPES.get(ethertype, f"EtherType {ethertype:#06x}" if ethertype >= 0x600 else "IEEE 802.3 length")


def _broken_kind(data: bytes) -> str:
    """Name what a RoCEv2 packet is that cannot be read: its opcode comes right behind the UDP header."""
    bth = ETHERNET_BYTES + UDP_BYTES + (IPV4_BYTES if data[12:14] == b"\x08\x00" else IPV6_BYTES)
    return OTHER_TRANSPORT if len(data) > bth and EXTENSION_BYTES[data[bth]] < 0 else MALFORMED


def _protocol(number: int) -> str:
    return _PROTOCOLS.get(number, f"protocol {number}")


def address_text(address: bytes) -> str:
    """Return a packed IP address as text."""
    return str(ip_address(address))
