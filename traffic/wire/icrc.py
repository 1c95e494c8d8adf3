"""The invariant CRC (ICRC): a CRC-32 over everything that no switch may change on the way.

The CRC runs over eight 0xFF bytes (where InfiniBand has its local routing header), the IP header, UDP, BTH, extension
headers, payload and pad. Fields that switches rewrite count as all ones: IPv4 TOS, TTL and header checksum; IPv6
traffic class, flow label and hop limit; the UDP checksum; and the byte of the BTH that holds FECN and BECN. So a switch
may mark congestion, decrement the TTL or rewrite the DSCP and the ICRC stays right. The Ethernet header and VLAN tags
are not covered. The CRC is the usual one (reflected polynomial 0xEDB88320, as in zlib) and stands little-endian in the
last four bytes.

`isal` computes a CRC of 4 KiB in 0.12 us on the machine where this was chosen; zlib takes 1.16 us, zlib-ng 0.12 us.

References: Linux drivers/infiniband/sw/rxe/rxe_icrc.c.
"""

from isal.isal_zlib import crc32

from traffic.wire.errors import MalformedPacket
from traffic.wire.opcodes import BTH_BYTES, ICRC_BYTES

ETHERNET_BYTES = 14
VLAN_TAG_BYTES = 4
IPV4_BYTES = 20
IPV6_BYTES = 40
UDP_BYTES = 8

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_IPV6 = 0x86DD
ETHERTYPES_VLAN = (0x8100, 0x88A8)

CRC_OF_LOCAL_ROUTING_HEADER = crc32(b"\xff" * 8)
"""The CRC after the eight 0xFF bytes with which every ICRC starts."""

# What counts as ones in UDP (checksum) and in the BTH (FECN, BECN and six reserved bits).
_TRANSPORT_MASK = bytes.fromhex("000000000000ffff 00000000 ff000000 00000000")
IPV4_HEADERS_BYTES = IPV4_BYTES + UDP_BYTES + BTH_BYTES
IPV6_HEADERS_BYTES = IPV6_BYTES + UDP_BYTES + BTH_BYTES
IPV4_MASK = int.from_bytes(bytes.fromhex("00ff0000 00000000 ff00ffff") + bytes(8) + _TRANSPORT_MASK, "big")
"""The variant bits of IPv4 (without options), UDP and BTH, as one integer to OR in."""
IPV6_MASK = int.from_bytes(bytes.fromhex("0fffffff 000000ff") + bytes(32) + _TRANSPORT_MASK, "big")
"""The variant bits of IPv6, UDP and BTH, as one integer to OR in."""


def ip_offset(frame: bytes | memoryview) -> tuple[int, int]:
    """Return (EtherType, offset of what follows it) behind any VLAN tags. Raises MalformedPacket when cut short."""
    offset = ETHERNET_BYTES
    while True:
        if len(frame) < offset:
            raise MalformedPacket(f"expected an Ethernet header of {offset} B, found a frame of {len(frame)} B")
        ethertype = frame[offset - 2] << 8 | frame[offset - 1]
        if ethertype not in ETHERTYPES_VLAN:
            return ethertype, offset
        offset += VLAN_TAG_BYTES


def icrc(frame: bytes | memoryview) -> int:
    """Return the ICRC that belongs into the last four bytes of the RoCEv2 packet in `frame`.

    `frame` is a whole Ethernet frame without FCS, with room for the ICRC, whatever stands there; lengths in its IP
    header count that room. Raises MalformedPacket when it is not IPv4 or IPv6 or too short for its lengths.
    """
    ethertype, start = ip_offset(frame)
    view = memoryview(frame)[start:]
    if ethertype == ETHERTYPE_IPV4 and len(view) >= IPV4_HEADERS_BYTES:
        options_bytes = (view[0] & 0x0F) * 4 - IPV4_BYTES
        end = view[2] << 8 | view[3]
        headers_bytes, mask = IPV4_HEADERS_BYTES + options_bytes, _with_options(options_bytes)
    elif ethertype == ETHERTYPE_IPV6 and len(view) >= IPV6_HEADERS_BYTES:
        end = IPV6_BYTES + (view[4] << 8 | view[5])
        headers_bytes, mask = IPV6_HEADERS_BYTES, IPV6_MASK
    else:
        raise MalformedPacket(f"expected IP, UDP and BTH, found EtherType {ethertype:#06x} and {len(view)} B behind it")
    if not headers_bytes + ICRC_BYTES <= end <= len(view):
        raise MalformedPacket(f"expected an IP length from {headers_bytes + ICRC_BYTES} to {len(view)}, found {end}")
    masked = (int.from_bytes(view[:headers_bytes], "big") | mask).to_bytes(headers_bytes, "big")
    return crc32(view[headers_bytes : end - ICRC_BYTES], crc32(masked, CRC_OF_LOCAL_ROUTING_HEADER))


def _with_options(options_bytes: int) -> int:
    """Return the IPv4 mask for a header with options, which are covered as they are."""
    if options_bytes == 0:
        return IPV4_MASK
    if options_bytes < 0:
        raise MalformedPacket(f"expected an IPv4 header of at least 20 B, found {IPV4_BYTES + options_bytes} B")
    transport_bits = len(_TRANSPORT_MASK) * 8
    ip_mask, transport_mask = IPV4_MASK >> transport_bits, IPV4_MASK & ((1 << transport_bits) - 1)
    return ip_mask << (options_bytes * 8 + transport_bits) | transport_mask
