"""Frames by template: what scapy builds in a millisecond, patched in two microseconds.

One direction of a queue pair sends frames that differ only in opcode, PSN, lengths and contents. So scapy builds one
frame when the template is made (the format stays defined in one place, `traffic.wire.layers`), and `emit` patches it.
For each (opcode, length) the finished bytes up to the PSN are kept, IP checksum included, and beside them the state of
the CRC after those bytes; a packet then costs the CRC of its own bytes and one join.
"""

from __future__ import annotations

from struct import Struct

from isal.isal_zlib import crc32

from traffic.wire.icrc import (
    CRC_OF_LOCAL_ROUTING_HEADER,
    ETHERNET_BYTES,
    IPV4_HEADERS_BYTES,
    IPV4_MASK,
    IPV6_HEADERS_BYTES,
    IPV6_MASK,
    UDP_BYTES,
)
from traffic.wire.opcodes import BTH_BYTES, EXTENSION_BYTES, ICRC_BYTES, SHAPES, Opcode
from traffic.wire.psn import PSN_MODULUS

_WORD = Struct("!I")
_SHORT = Struct("!H")
_RETH = Struct("!QII")
_ICRC = Struct("<I")
_PSN_WORD_BYTES = 4
_ACK_REQUEST = 1 << 31
_SOLICITED = 1 << 7
_BECN = 1 << 6
_PAD = (b"", b"\0", b"\0\0", b"\0\0\0")
_NO_BYTES = b""

CNP_PADDING = bytes(16)
"""The reserved bytes that are all a CNP carries."""


def reth(address: int, rkey: int, length: int) -> bytes:
    """Return the RDMA extended transport header: where `length` bytes, the whole message, go or come from."""
    return _RETH.pack(address, rkey, length)


def immdt(value: int) -> bytes:
    """Return the immediate data header: 32 bits that the receiver's completion carries."""
    return _WORD.pack(value)


def aeth(syndrome: int, msn: int) -> bytes:
    """Return the ACK extended transport header; `syndrome` as in `traffic.wire.aeth`."""
    return _WORD.pack(syndrome << 24 | msn % PSN_MODULUS)


class FrameTemplate:
    """Makes the frames of one direction of a queue pair."""

    __slots__ = ("_finished", "_is_ipv4", "_mask", "_prefix")

    def __init__(
        self,
        *,
        source_mac: str,
        destination_mac: str,
        source_ip: str,
        destination_ip: str,
        source_port: int,
        destination_qp: int,
        traffic_class: int,
        ttl: int = 64,
    ) -> None:
        """Build the template's frame with scapy.

        MAC addresses as ``02:00:00:00:00:01``, IP addresses both IPv4 or both IPv6; `traffic_class` is the whole byte,
        ECN bits included. IPv4 frames have DF set and identification 0, as NICs that never fragment send them. The UDP
        checksum is 0 in both: the ICRC protects more, and Linux's soft-RoCE sends 0 over IPv6 too (RFC 6935 lets
        tunnels do so). Raises ValueError for addresses of different kinds.
        """
        from traffic.wire.layers import skeleton

        frame = skeleton(
            source_mac, destination_mac, source_ip, destination_ip, source_port, destination_qp, traffic_class, ttl
        )
        self._is_ipv4 = "." in source_ip
        headers_bytes = IPV4_HEADERS_BYTES if self._is_ipv4 else IPV6_HEADERS_BYTES
        self._mask = (IPV4_MASK if self._is_ipv4 else IPV6_MASK) >> (8 * _PSN_WORD_BYTES)
        self._prefix = frame[: ETHERNET_BYTES + headers_bytes - _PSN_WORD_BYTES]
        # (opcode, extension bytes, payload bytes, becn, solicited) -> (bytes before the PSN, CRC after them, pad)
        self._finished: dict[tuple[int, int, int, bool, bool], tuple[bytes, int, bytes]] = {}

    def emit(
        self,
        opcode: int,
        psn: int,
        extension: bytes = _NO_BYTES,
        payload: bytes | memoryview = _NO_BYTES,
        ack_request: bool = False,
        becn: bool = False,
        solicited: bool = False,
    ) -> bytes:
        """Return a whole frame without FCS: pad, lengths, IP checksum and ICRC are right.

        `extension` is what follows the BTH for this opcode (`reth`, `immdt`, `aeth` or `CNP_PADDING`, joined).
        `payload` must be contiguous bytes. Raises ValueError for a PSN beyond 24 bits and for an extension or a payload
        that the opcode does not have.
        """
        key = (opcode, len(extension), len(payload), becn, solicited)
        finished = self._finished.get(key)
        if finished is None:
            finished = self._finished[key] = self._finish(*key)
        prefix, crc, pad = finished
        if psn >> 24:
            raise ValueError(f"expected a PSN from 0 to {PSN_MODULUS - 1}, found {psn}")
        head = _WORD.pack(psn | _ACK_REQUEST if ack_request else psn) + extension
        crc = crc32(payload, crc32(head, crc))
        if pad:
            crc = crc32(pad, crc)
        return b"".join((prefix, head, payload, pad, _ICRC.pack(crc)))

    def cnp(self) -> bytes:
        """Return a congestion notification packet for the template's queue pair, which is the sender to be slowed."""
        return self.emit(Opcode.CNP, 0, CNP_PADDING, becn=True)

    def _finish(
        self, opcode: int, extension_bytes: int, payload_bytes: int, becn: bool, solicited: bool
    ) -> tuple[bytes, int, bytes]:
        """Return the bytes before the PSN, the CRC state after them and the pad for a kind and size of packet."""
        _check_sizes(opcode, extension_bytes, payload_bytes)
        pad = _PAD[-payload_bytes & 3]
        udp_bytes = UDP_BYTES + BTH_BYTES + extension_bytes + payload_bytes + len(pad) + ICRC_BYTES
        prefix = bytearray(self._prefix)
        bth = len(prefix) + _PSN_WORD_BYTES - BTH_BYTES
        prefix[bth] = opcode
        prefix[bth + 1] = len(pad) << 4 | (_SOLICITED if solicited else 0)
        prefix[bth + 4] = _BECN if becn else 0
        _SHORT.pack_into(prefix, bth - UDP_BYTES + 4, udp_bytes)
        self._set_ip_length(prefix, udp_bytes)
        covered = prefix[ETHERNET_BYTES:]
        masked = (int.from_bytes(covered, "big") | self._mask).to_bytes(len(covered), "big")
        return bytes(prefix), crc32(masked, CRC_OF_LOCAL_ROUTING_HEADER), pad

    def _set_ip_length(self, prefix: bytearray, udp_bytes: int) -> None:
        """Write the length into the IP header, and the checksum that follows from it."""
        ip = ETHERNET_BYTES
        if not self._is_ipv4:
            _SHORT.pack_into(prefix, ip + 4, udp_bytes)
            return
        _SHORT.pack_into(prefix, ip + 2, udp_bytes + 20)
        _SHORT.pack_into(prefix, ip + 10, 0)
        _SHORT.pack_into(prefix, ip + 10, ipv4_checksum(prefix[ip : ip + 20]))


def ipv4_checksum(header: bytes | bytearray) -> int:
    """Return the ones' complement checksum of an IPv4 header whose checksum field is zero (RFC 791, RFC 1071)."""
    total: int = sum(_SHORT.unpack_from(header, at)[0] for at in range(0, len(header), 2))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def _check_sizes(opcode: int, extension_bytes: int, payload_bytes: int) -> None:
    expected_bytes = EXTENSION_BYTES[opcode]
    if expected_bytes < 0:
        raise ValueError(f"expected an RC opcode or CNP, found {opcode:#04x}")
    shape = SHAPES[Opcode(opcode)]
    name = Opcode(opcode).name
    if extension_bytes != expected_bytes:
        raise ValueError(f"expected {expected_bytes} B of extension headers for {name}, found {extension_bytes} B")
    if payload_bytes and not shape.has_payload:
        raise ValueError(f"expected no payload in {name}, found {payload_bytes} B")
    if not shape.ends_message and (payload_bytes == 0 or payload_bytes % 4):
        raise ValueError(f"expected a payload of a whole MTU in {name}, found {payload_bytes} B")
