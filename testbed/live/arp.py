"""ARP as a routed fabric answers it: whatever address a host asks for, its leaf says "that is me".

The leaf is the host's router, and on its link it answers for all others (proxy ARP), so a host needs one route and no
gateway. The question never enters a switch: a router does not forward it.

References: RFC 826 (ARP), RFC 1027 (proxy ARP).
"""

from ipaddress import IPv4Address

_ETHERTYPE = b"\x08\x06"
_ETHERNET_IPV4 = bytes.fromhex("000108000604")
_REQUEST, _REPLY = b"\x00\x01", b"\x00\x02"


def is_arp(frame: bytes) -> bool:
    """Whether a frame is ARP."""
    return frame[12:14] == _ETHERTYPE


def proxy_reply(request: bytes, router_mac: bytes, own_ip: str) -> bytes | None:
    """Return the router's reply to an ARP request; None for what is no request of an IPv4 address but the host's own.

    A host asks for its own address to find out whether somebody else has it (RFC 5227): nobody has.
    """
    if request[14:22] != _ETHERNET_IPV4 + _REQUEST or len(request) < 42:
        return None
    asker_mac, asker_ip, wanted_ip = request[22:28], request[28:32], request[38:42]
    if wanted_ip in (IPv4Address(own_ip).packed, asker_ip):
        return None
    answer = router_mac + wanted_ip + asker_mac + asker_ip
    return b"".join((asker_mac, router_mac, _ETHERTYPE, _ETHERNET_IPV4, _REPLY, answer, bytes(18)))
