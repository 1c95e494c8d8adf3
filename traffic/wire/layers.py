"""RoCEv2 as scapy layers: what defines the wire format here, and what reads a capture field by field.

scapy ships a BTH and a CNP. This module adds what it lacks: the extension headers, the pad and its count in the BTH,
the AETH's syndrome by its parts, bindings for every opcode of the RC transport, a check of a received ICRC. A frame:

    Ether() / IP() / UDP(sport=49152, dport=4791, chksum=0) / BTH(opcode=Opcode.RDMA_WRITE_ONLY) / RETH() / b"hello"

Always give `sport`: scapy's default of 53 makes it read the frame as DNS. A build takes about a millisecond, so frames
by the thousand come from `traffic.wire.template`, which asks this module for one frame a queue pair.

Importing this module registers the layers with scapy and replaces scapy's own BTH on UDP port 4791.
"""

import ipaddress
from typing import Any

import traffic.wire.lazy_routes  # noqa: F401 - before scapy's layers, which look for routing tables

# isort: split
from scapy.contrib import roce
from scapy.fields import (
    BitEnumField,
    BitField,
    ByteEnumField,
    FCSField,
    IntField,
    StrField,
    TrailerField,
    XBitField,
    XIntField,
    XLongField,
    XShortField,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_layers, split_layers

from traffic.wire.icrc import icrc
from traffic.wire.opcodes import DEFAULT_PARTITION_KEY, ICRC_BYTES, ROCE_UDP_PORT, SHAPES, Extension, Opcode

CNPPadding = roce.CNPPadding
OPCODE_NAMES: dict[int, str] = dict(roce._bth_opcodes) | {
    int(opcode): opcode.name if opcode is Opcode.CNP else f"RC_{opcode.name}" for opcode in Opcode
}


class _PadField(StrField):
    """The pad between payload and ICRC; as long as `padcount` says, which comes from the payload when not given."""

    def getfield(self, pkt: Any, s: Any) -> tuple[Any, bytes]:
        # `s` counts from the packet's end (scapy's TrailerBytes), where the ICRC has been taken off already.
        count = pkt.padcount
        return (s[count:], bytes(s[:count])) if count else (s, b"")


class BTH(roce.BTH):
    """Base transport header, with the packet's trailers: pad and ICRC.

    `padcount`, `pad` and `icrc` are filled in on build when not given; the ICRC needs IP and UDP below.
    """

    name = "BTH"
    fields_desc = [  # noqa: RUF012 - scapy's way to declare fields
        ByteEnumField("opcode", 0, OPCODE_NAMES),
        BitField("solicited", 0, 1),
        BitField("migreq", 0, 1),
        BitField("padcount", None, 2),
        BitField("version", 0, 4),
        XShortField("pkey", DEFAULT_PARTITION_KEY),
        BitField("fecn", 0, 1),
        BitField("becn", 0, 1),
        BitField("resv6", 0, 6),
        XBitField("dqpn", 0, 24),
        BitField("ackreq", 0, 1),
        BitField("resv7", 0, 7),
        BitField("psn", 0, 24),
        # Trailers: the first to be taken off the end on reading, the last to be put on in building.
        FCSField("icrc", None, fmt="!I"),
        TrailerField(_PadField("pad", None)),
    ]

    def post_build(self, p: bytes, pay: bytes) -> bytes:
        """Add pad and ICRC. `pay` is the payload, the pad if given, and four bytes of ICRC."""
        body, stored_icrc = pay[:-ICRC_BYTES], pay[-ICRC_BYTES:]
        if self.pad is None:
            count = -len(body) & 3 if self.padcount is None else self.padcount
            body += bytes(count)
        else:
            count = len(self.pad) if self.padcount is None else self.padcount
        flags = p[1] & ~0x30 | count << 4
        built = p[:1] + bytes([flags]) + p[2:] + body
        return built + (self._icrc_bytes(built) if self.icrc is None else stored_icrc)

    def _icrc_bytes(self, bth_and_body: bytes) -> bytes:
        """Return the ICRC as it stands on the wire; zeros when there is no IP below, which the ICRC covers."""
        udp = self.underlayer
        if not isinstance(udp, UDP) or not isinstance(udp.underlayer, (IP, IPv6)):
            return bytes(ICRC_BYTES)
        ip = udp.underlayer
        below = ip.__class__(**ip.fields) / UDP(**udp.fields)
        frame = bytes(Ether(src="00:00:00:00:00:00", dst="00:00:00:00:00:00") / below / Raw(bth_and_body + bytes(4)))
        return icrc(frame).to_bytes(ICRC_BYTES, "little")


class _ExtensionHeader(Packet):
    """A header behind the BTH. What follows is the opcode's business, so the BTH is asked."""

    extension: Extension

    def guess_payload_class(self, payload: bytes) -> Any:  # noqa: ARG002 - the bytes don't tell, the opcode does
        bth = self.underlayer
        while bth is not None and not isinstance(bth, BTH):
            bth = bth.underlayer
        if bth is None or bth.opcode not in set(Opcode):
            return Raw
        order = SHAPES[Opcode(bth.opcode)].extensions
        following = order[order.index(self.extension) + 1 :] if self.extension in order else ()
        return LAYERS[following[0]] if following else Raw


class RETH(_ExtensionHeader):
    """RDMA extended transport header: address and key at the responder, bytes of the whole message."""

    name = "RETH"
    extension = Extension.RETH
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0), IntField("dmalen", 0)]  # noqa: RUF012


class ImmDt(_ExtensionHeader):
    """Immediate data."""

    name = "ImmDt"
    extension = Extension.IMMDT
    fields_desc = [XIntField("immediate", 0)]  # noqa: RUF012


class IETH(_ExtensionHeader):
    """Invalidate extended transport header: the key that the responder is to invalidate."""

    name = "IETH"
    extension = Extension.IETH
    fields_desc = [XIntField("rkey", 0)]  # noqa: RUF012


class AETH(_ExtensionHeader):
    """ACK extended transport header, the syndrome in its parts (see `traffic.wire.aeth`)."""

    name = "AETH"
    extension = Extension.AETH
    fields_desc = [  # noqa: RUF012
        BitEnumField("kind", 0, 3, {0: "ACK", 1: "RNR_NAK", 2: "reserved", 3: "NAK"}),
        BitField("value", 0x1F, 5),
        BitField("msn", 0, 24),
    ]

    @property
    def syndrome(self) -> int:
        """The whole syndrome byte."""
        return int(self.kind) << 5 | int(self.value)


class AtomicETH(_ExtensionHeader):
    """Atomic extended transport header: where, and the operands of COMPARE_SWAP and FETCH_ADD."""

    name = "AtomicETH"
    extension = Extension.ATOMIC_ETH
    fields_desc = [  # noqa: RUF012
        XLongField("va", 0),
        XIntField("rkey", 0),
        XLongField("swap_or_add", 0),
        XLongField("compare", 0),
    ]


class AtomicAckETH(_ExtensionHeader):
    """Atomic ACK extended transport header: the value before the operation."""

    name = "AtomicAckETH"
    extension = Extension.ATOMIC_ACK_ETH
    fields_desc = [XLongField("value_before", 0)]  # noqa: RUF012


LAYERS: dict[Extension, Any] = {
    Extension.RETH: RETH,
    Extension.IMMDT: ImmDt,
    Extension.AETH: AETH,
    Extension.IETH: IETH,
    Extension.ATOMIC_ETH: AtomicETH,
    Extension.ATOMIC_ACK_ETH: AtomicAckETH,
    Extension.CNP_PADDING: CNPPadding,
}


def _bind() -> None:
    BTH.payload_guess = []  # not those of scapy's BTH, which lead to its own AETH
    split_layers(UDP, roce.BTH, dport=ROCE_UDP_PORT)
    bind_layers(UDP, BTH, dport=ROCE_UDP_PORT)
    for opcode, shape in SHAPES.items():
        if shape.extensions:
            bind_layers(BTH, LAYERS[shape.extensions[0]], opcode=int(opcode))


_bind()


def icrc_is_right(packet: Packet) -> bool:
    """Return whether the ICRC of a dissected Ethernet frame is right, over the bytes as they were received."""
    expected = icrc(packet.original).to_bytes(ICRC_BYTES, "little")
    return bool(packet[BTH].icrc == int.from_bytes(expected, "big"))


def skeleton(
    source_mac: str,
    destination_mac: str,
    source_ip: str,
    destination_ip: str,
    source_port: int,
    destination_qp: int,
    traffic_class: int,
    ttl: int,
) -> bytes:
    """Return a frame with an empty SEND_ONLY, for `traffic.wire.template` to patch. Raises ValueError for mixed IPs."""
    version = ipaddress.ip_address(source_ip).version
    if ipaddress.ip_address(destination_ip).version != version:
        raise ValueError(f"expected two IPv4 or two IPv6 addresses, found {source_ip} and {destination_ip}")
    ip: Packet
    if version == 4:
        ip = IP(src=source_ip, dst=destination_ip, tos=traffic_class, ttl=ttl, flags="DF", id=0)
    else:
        ip = IPv6(src=source_ip, dst=destination_ip, tc=traffic_class, hlim=ttl, fl=0)
    udp = UDP(sport=source_port, dport=ROCE_UDP_PORT, chksum=0)
    bth = BTH(opcode=Opcode.SEND_ONLY, dqpn=destination_qp, icrc=0)
    return bytes(Ether(src=source_mac, dst=destination_mac) / ip / udp / bth)
