"""A received RoCEv2 packet as a plain value, and how it is read from a frame.

`parse` sits on the path of every packet, so it reads all fixed headers with one `unpack_from`, masks the variant fields
for the ICRC with one OR of a big integer, and hands the payload out as a view. It does what the NIC's receive pipeline
does: check lengths and opcode, verify the ICRC, strip headers and pad. Whether the packet makes sense to its queue pair
(PSN, order, keys) is for the queue pair to say.

Known limits: an IPv4 header with options and IPv6 extension headers are not RoCEv2 here; the IP header checksum is not
verified.
"""

from struct import Struct

from isal.isal_zlib import crc32

from traffic.wire.errors import MalformedPacket
from traffic.wire.icrc import (
    CRC_OF_LOCAL_ROUTING_HEADER,
    ETHERNET_BYTES,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPES_VLAN,
    IPV4_HEADERS_BYTES,
    IPV4_MASK,
    IPV6_BYTES,
    IPV6_HEADERS_BYTES,
    IPV6_MASK,
    ip_offset,
)
from traffic.wire.opcodes import BTH_BYTES, EXTENSION_BYTES, ICRC_BYTES, ROCE_UDP_PORT, SHAPES, Extension, Opcode

__all__ = ["CONGESTION_EXPERIENCED", "MalformedPacket", "RocePacket", "addresses", "parse"]

CONGESTION_EXPERIENCED = 3
"""The ECN bits of a packet that a switch has marked (CE)."""

_UDP_PROTOCOL = 17
_FRAGMENT_BITS = 0x3FFF
_UDP_AND_BTH = "HHH2x BB2xII"
# version, TOS, total length, fragment, protocol, then UDP ports and length, then BTH
_IPV4_UDP_BTH = Struct("!BBH2xHxB10x" + _UDP_AND_BTH)
# version/traffic class/flow label, payload length, next header, then UDP and BTH
_IPV6_UDP_BTH = Struct("!IHBx32x" + _UDP_AND_BTH)
_RETH = Struct("!QII")
_RETH_IMMDT = Struct("!QIII")
_ATOMIC_TARGET = Struct("!QI")
_WORD = Struct("!I")
_ICRC = Struct("<I")

_ATOMIC_TARGET_BYTES = 12
_CNP_PADDING_BYTES = 16

# How `_read_extensions` reads what follows the BTH; an index by opcode is quicker than the table of shapes.
_NOTHING, _HAS_RETH, _HAS_IMMDT, _HAS_AETH, _HAS_RETH_IMMDT, _HAS_IETH, _HAS_ATOMIC, _HAS_CNP_PADDING = range(8)
_LAYOUT_OF_EXTENSIONS: dict[tuple[Extension, ...], int] = {
    (): _NOTHING,
    (Extension.RETH,): _HAS_RETH,
    (Extension.IMMDT,): _HAS_IMMDT,
    (Extension.AETH,): _HAS_AETH,
    (Extension.AETH, Extension.ATOMIC_ACK_ETH): _HAS_AETH,
    (Extension.RETH, Extension.IMMDT): _HAS_RETH_IMMDT,
    (Extension.IETH,): _HAS_IETH,
    (Extension.ATOMIC_ETH,): _HAS_ATOMIC,
    (Extension.CNP_PADDING,): _HAS_CNP_PADDING,
}
_SHAPE_BY_CODE = {int(opcode): shape for opcode, shape in SHAPES.items()}
_LAYOUT = tuple(
    _LAYOUT_OF_EXTENSIONS[_SHAPE_BY_CODE[code].extensions] if code in _SHAPE_BY_CODE else -1 for code in range(256)
)
_WITHOUT_PAYLOAD = frozenset(code for code, shape in _SHAPE_BY_CODE.items() if not shape.has_payload)
_NOT_LAST = frozenset(code for code, shape in _SHAPE_BY_CODE.items() if not shape.ends_message)


class RocePacket:
    """One RoCEv2 packet, as its receiver sees it.

    Attributes:
        opcode: BTH opcode, one of `Opcode`'s values (a plain integer).
        destination_qp: number of the queue pair it is for, 24 bits.
        psn: packet sequence number, 24 bits.
        ack_request: the sender asks for an acknowledgement.
        solicited: the sender asks for a completion event at the receiver.
        becn: backward congestion notification; set in a CNP.
        ecn: the two ECN bits of the IP header; 3 is congestion experienced (CE).
        traffic_class: the whole TOS or traffic class byte, ECN bits included.
        source_port: UDP source port, the flow's entropy.
        remote_address: RETH or AtomicETH: virtual address at the receiver, else None.
        rkey: RETH or AtomicETH: key of the memory region there; IETH: the key to invalidate; else None.
        dma_length: RETH: bytes of the whole message, else None.
        immediate: immediate data, 32 bits, else None.
        syndrome: AETH syndrome (see `traffic.wire.aeth`), else None.
        msn: AETH message sequence number, 24 bits, else None.
        payload: a view of the payload in the frame, pad removed. Of an atomic request the two operands of 8 bytes,
            of its response the original value of 8 bytes.
        icrc_ok: the ICRC of the received bytes is right. When it is not, nothing else here can be trusted.
    """

    __slots__ = (
        "ack_request",
        "becn",
        "destination_qp",
        "dma_length",
        "ecn",
        "icrc_ok",
        "immediate",
        "msn",
        "opcode",
        "payload",
        "psn",
        "remote_address",
        "rkey",
        "solicited",
        "source_port",
        "syndrome",
        "traffic_class",
    )

    def __init__(
        self,
        opcode: int,
        destination_qp: int,
        psn: int,
        ack_request: bool,
        solicited: bool,
        becn: bool,
        traffic_class: int,
        source_port: int,
        payload: memoryview,
        icrc_ok: bool,
    ) -> None:
        self.opcode = opcode
        self.destination_qp = destination_qp
        self.psn = psn
        self.ack_request = ack_request
        self.solicited = solicited
        self.becn = becn
        self.ecn = traffic_class & 3
        self.traffic_class = traffic_class
        self.source_port = source_port
        self.payload = payload
        self.icrc_ok = icrc_ok
        self.remote_address: int | None = None
        self.rkey: int | None = None
        self.dma_length: int | None = None
        self.immediate: int | None = None
        self.syndrome: int | None = None
        self.msn: int | None = None

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RocePacket) and self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]  # the payload is a view of a buffer, so a packet is no dictionary key

    def __repr__(self) -> str:
        name = Opcode(self.opcode).name
        return f"{name}(psn={self.psn}, destination_qp={self.destination_qp:#x}, payload={len(self.payload)} B)"


def parse(frame: bytes) -> RocePacket | None:
    """Return the RoCEv2 packet in an Ethernet frame (without FCS), or None when the frame is something else.

    Raises MalformedPacket, and nothing else, when it is for UDP port 4791 but cut short, of an unknown opcode, or
    contradicts itself (lengths, pad). A packet with a wrong ICRC is returned, with `icrc_ok` False.
    """
    start = ETHERNET_BYTES
    if len(frame) < start:
        return None
    ethertype = frame[12] << 8 | frame[13]
    if ethertype in ETHERTYPES_VLAN:
        try:
            ethertype, start = ip_offset(frame)
        except MalformedPacket:
            return None
    if ethertype == ETHERTYPE_IPV4:
        return _parse_ipv4(frame, start)
    if ethertype == ETHERTYPE_IPV6:
        return _parse_ipv6(frame, start)
    return None


def addresses(frame: bytes) -> tuple[bytes, bytes] | None:
    """Return the (source, destination) IP addresses of a frame, 4 or 16 bytes each, or None when it is not whole IP."""
    try:
        ethertype, start = ip_offset(frame)
    except MalformedPacket:
        return None
    if ethertype == ETHERTYPE_IPV4 and len(frame) >= start + 20:
        return frame[start + 12 : start + 16], frame[start + 16 : start + 20]
    if ethertype == ETHERTYPE_IPV6 and len(frame) >= start + 40:
        return frame[start + 8 : start + 24], frame[start + 24 : start + 40]
    return None


def _parse_ipv4(frame: bytes, start: int) -> RocePacket | None:
    body = start + IPV4_HEADERS_BYTES
    if len(frame) < body:
        _check_not_cut(frame, start + 9, start + 20)
        return None
    (
        version, traffic_class, ip_bytes, fragment, protocol,
        source_port, destination_port, udp_bytes, opcode, flags, qp_word, psn_word,
    ) = _IPV4_UDP_BTH.unpack_from(frame, start)  # fmt: skip
    if destination_port != ROCE_UDP_PORT or protocol != _UDP_PROTOCOL or version != 0x45:
        return None
    if fragment & _FRAGMENT_BITS:
        raise MalformedPacket("expected a whole IP packet, found a fragment: RoCEv2 packets must not be fragmented")
    end = start + ip_bytes
    if ip_bytes != udp_bytes + 20 or end > len(frame):
        raise _wrong_lengths(ip_bytes, udp_bytes + 20, len(frame) - start)
    masked = (int.from_bytes(frame[start:body], "big") | IPV4_MASK).to_bytes(IPV4_HEADERS_BYTES, "big")
    return _finish(frame, body, end, masked, traffic_class, source_port, opcode, flags, qp_word, psn_word)


def _parse_ipv6(frame: bytes, start: int) -> RocePacket | None:
    body = start + IPV6_HEADERS_BYTES
    if len(frame) < body:
        _check_not_cut(frame, start + 6, start + 40)
        return None
    (
        first_word, payload_bytes, next_header,
        source_port, destination_port, udp_bytes, opcode, flags, qp_word, psn_word,
    ) = _IPV6_UDP_BTH.unpack_from(frame, start)  # fmt: skip
    if destination_port != ROCE_UDP_PORT or next_header != _UDP_PROTOCOL or first_word >> 28 != 6:
        return None
    end = start + IPV6_BYTES + payload_bytes
    if payload_bytes != udp_bytes or end > len(frame):
        raise _wrong_lengths(payload_bytes, udp_bytes, len(frame) - start - IPV6_BYTES)
    traffic_class = first_word >> 20 & 0xFF
    masked = (int.from_bytes(frame[start:body], "big") | IPV6_MASK).to_bytes(IPV6_HEADERS_BYTES, "big")
    return _finish(frame, body, end, masked, traffic_class, source_port, opcode, flags, qp_word, psn_word)


def _finish(
    frame: bytes,
    body: int,
    end: int,
    masked_headers: bytes,
    traffic_class: int,
    source_port: int,
    opcode: int,
    flags: int,
    qp_word: int,
    psn_word: int,
) -> RocePacket:
    """Read what follows the BTH: check the ICRC and the lengths, then the extension headers."""
    icrc_at = end - ICRC_BYTES
    extension_bytes = EXTENSION_BYTES[opcode]
    payload_at = body + extension_bytes
    payload_end = icrc_at - (flags >> 4 & 3)
    if extension_bytes < 0 or flags & 0x0F or payload_end < payload_at or (icrc_at - body) & 3:
        raise _contradiction(opcode, flags, icrc_at - body)
    if payload_end != payload_at:
        if opcode in _WITHOUT_PAYLOAD:
            raise MalformedPacket(f"expected no payload in {Opcode(opcode).name}, found {payload_end - payload_at} B")
    elif opcode in _NOT_LAST:
        raise MalformedPacket(f"expected a payload in {Opcode(opcode).name}, found none")
    view = memoryview(frame)
    crc = crc32(view[body:icrc_at], crc32(masked_headers, CRC_OF_LOCAL_ROUTING_HEADER))
    packet = RocePacket(
        opcode,
        qp_word & 0xFFFFFF,
        psn_word & 0xFFFFFF,
        psn_word >= 0x80000000,
        flags >= 0x80,
        qp_word & 0x40000000 != 0,
        traffic_class,
        source_port,
        view[payload_at:payload_end],
        crc == _ICRC.unpack_from(frame, icrc_at)[0],
    )
    layout = _LAYOUT[opcode]
    if layout != _NOTHING:
        _read_extensions(packet, layout, view, body, payload_end)
    return packet


def _read_extensions(packet: RocePacket, layout: int, view: memoryview, body: int, payload_end: int) -> None:
    """Fill in the fields of the extension headers at `body`."""
    if layout == _HAS_AETH:
        (word,) = _WORD.unpack_from(view, body)
        packet.syndrome = word >> 24
        packet.msn = word & 0xFFFFFF
        if packet.opcode == Opcode.ATOMIC_ACKNOWLEDGE:
            packet.payload = view[body + 4 : payload_end]
    elif layout == _HAS_RETH:
        packet.remote_address, packet.rkey, packet.dma_length = _RETH.unpack_from(view, body)
    elif layout == _HAS_IMMDT:
        (packet.immediate,) = _WORD.unpack_from(view, body)
    elif layout == _HAS_RETH_IMMDT:
        packet.remote_address, packet.rkey, packet.dma_length, packet.immediate = _RETH_IMMDT.unpack_from(view, body)
    elif layout == _HAS_IETH:
        (packet.rkey,) = _WORD.unpack_from(view, body)
    elif layout == _HAS_ATOMIC:
        packet.remote_address, packet.rkey = _ATOMIC_TARGET.unpack_from(view, body)
        packet.payload = view[body + _ATOMIC_TARGET_BYTES : payload_end]


def _check_not_cut(frame: bytes, protocol_at: int, udp_at: int) -> None:
    """Raise MalformedPacket when a frame too short for IP, UDP and BTH was going to be a RoCEv2 packet."""
    if len(frame) < udp_at + 4 or frame[protocol_at] != _UDP_PROTOCOL:
        return
    if frame[udp_at + 2] << 8 | frame[udp_at + 3] == ROCE_UDP_PORT:
        raise MalformedPacket(f"expected UDP and a BTH of {BTH_BYTES} B, found a frame of {len(frame)} B")


def _wrong_lengths(ip_bytes: int, expected_bytes: int, received_bytes: int) -> MalformedPacket:
    return MalformedPacket(
        f"expected one length, found {ip_bytes} B by the IP header, {expected_bytes} B by the UDP header "
        f"and {received_bytes} B received"
    )


def _contradiction(opcode: int, flags: int, rest_bytes: int) -> MalformedPacket:
    """Name the first thing that is wrong in the BTH or in the length of what follows it."""
    if EXTENSION_BYTES[opcode] < 0:
        return MalformedPacket(f"expected an RC opcode or CNP, found {opcode:#04x}")
    if flags & 0x0F:
        return MalformedPacket(f"expected transport version 0, found {flags & 0x0F}")
    pad = flags >> 4 & 3
    return MalformedPacket(
        f"expected {EXTENSION_BYTES[opcode]} B of extension headers for {Opcode(opcode).name}, a payload and "
        f"{pad} B of pad, in all a multiple of 4, found {rest_bytes} B"
    )
