"""Addresses that can be read: an address says the leaf, the host's place on it, and the NIC.

    IPv4   10.<leaf>.<nic>.<host + 1>        /16 a leaf    10.3.0.2     leaf 3, its second host
    IPv6   fd00:<leaf>::<nic>:<host + 1>     /64 a leaf    fd00:3::2    the same; numbers are written in decimal
    MAC    02:00:00:<nic>:<host, 2 bytes>    of a NIC      02:00:00:00:00:05    host h5 of the fabric
           02:01:00:00:<dpid, 2 bytes>       of a switch

A leaf is counted over the fabric (0, 1, ...), a host over its leaf, from 0. An IPv4 octet holds 250 hosts; the next
250 of a leaf are in the third octet 8 further on, as no host has more than 8 NICs. All MACs are unicast and locally
administered (the second-lowest bit of the first byte is set).
"""

from ipaddress import IPv6Address

IPV4_PREFIX_BITS = 16
IPV6_PREFIX_BITS = 64

_HOSTS_PER_OCTET = 250
_NICS_PER_HOST = 8


def nic_ipv4(leaf: int, host: int, nic: int) -> str:
    """Return the address of NIC `nic` of the host at place `host` of leaf number `leaf`."""
    block, place = divmod(host, _HOSTS_PER_OCTET)
    return f"10.{leaf}.{block * _NICS_PER_HOST + nic}.{place + 1}"


def nic_ipv6(leaf: int, host: int, nic: int) -> str:
    """Return the address of NIC `nic` of the host at place `host` of leaf number `leaf`, in its shortest form."""
    return str(IPv6Address(f"fd00:{leaf}::{nic}:{host + 1}"))


def nic_mac(host: int, nic: int) -> str:
    """Return the MAC of NIC `nic` of host number `host` of the fabric."""
    return f"02:00:00:{nic:02x}:{host >> 8:02x}:{host & 0xFF:02x}"


def switch_mac(dpid: int) -> str:
    """Return the router MAC of the switch with datapath id `dpid`."""
    return f"02:01:00:00:{dpid >> 8:02x}:{dpid & 0xFF:02x}"
