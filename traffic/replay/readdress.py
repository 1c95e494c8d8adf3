"""A captured packet as the hosts of the fabric would exchange it: with their addresses, and a new ICRC.

MAC and IP addresses, TTL and header checksum are the fabric's; traffic class (with its ECN bits), UDP source port, BTH
and all behind it are as captured. Where capture and fabric differ in the version of IP, so does the packet.
"""

from __future__ import annotations

from struct import Struct

from traffic.nic import Nic
from traffic.replay.capture import CapturedPacket
from traffic.wire.icrc import ETHERNET_BYTES, IPV4_BYTES, IPV6_BYTES, UDP_BYTES, icrc
from traffic.wire.opcodes import ICRC_BYTES
from traffic.wire.template import ipv4_checksum

_SHORT = Struct("!H")
_ICRC = Struct("<I")
_TTL = 64


class Readdressing:
    """Makes the frames from one host to another."""

    def __init__(self, source: Nic, destination: Nic) -> None:
        self._source = source
        self._destination = destination
        self._ip_bytes = IPV4_BYTES if source.ip_version == 4 else IPV6_BYTES
        self._headers: dict[tuple[int, int], bytes] = {}

    def frame(self, packet: CapturedPacket) -> bytes:
        """Return the whole frame, without FCS."""
        key = packet.source_port, packet.traffic_class
        headers = self._headers.get(key)
        if headers is None:
            headers = self._headers[key] = self._build(*key)
        udp_bytes = UDP_BYTES + len(packet.transport) + ICRC_BYTES
        frame = bytearray(headers)
        self._set_lengths(frame, udp_bytes)
        frame += packet.transport + bytes(ICRC_BYTES)
        _ICRC.pack_into(frame, len(frame) - ICRC_BYTES, icrc(bytes(frame)) ^ packet.icrc_error)
        return bytes(frame)

    def _build(self, source_port: int, traffic_class: int) -> bytes:
        """Return Ethernet, IP and UDP header; scapy builds them."""
        from traffic.wire.layers import skeleton

        source, destination = self._source, self._destination
        macs = source.mac, source.gateway_mac or destination.mac
        whole = skeleton(*macs, source.ip, destination.ip, source_port, 0, traffic_class, _TTL)
        return whole[: ETHERNET_BYTES + self._ip_bytes + UDP_BYTES]

    def _set_lengths(self, frame: bytearray, udp_bytes: int) -> None:
        ip, udp = ETHERNET_BYTES, ETHERNET_BYTES + self._ip_bytes
        _SHORT.pack_into(frame, udp + 4, udp_bytes)
        if self._ip_bytes == IPV6_BYTES:
            _SHORT.pack_into(frame, ip + 4, udp_bytes)
            return
        _SHORT.pack_into(frame, ip + 2, udp_bytes + IPV4_BYTES)
        _SHORT.pack_into(frame, ip + 10, 0)
        _SHORT.pack_into(frame, ip + 10, ipv4_checksum(frame[ip:udp]))
