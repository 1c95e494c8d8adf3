"""The messages about captures that are replayed; the others are in `wording`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_MOST_NAMED = 4


def no_address(text: str) -> str:
    return f"expected an IP address, found {text!r}; for example 10.0.0.1 or fd00::1"


def no_packets(file: str, others: Mapping[str, int]) -> str:
    found = ", ".join(f"{count} {what}" for what, count in sorted(others.items())) or "no frame at all"
    return f"{file}: expected RoCEv2 packets of a reliable connection, found {found}"


def beyond_mtu(file: str, number: int, payload_bytes: int, mtu: int) -> str:
    fits = next((size for size in (256, 512, 1024, 2048, 4096) if size >= payload_bytes), None)
    remedy = f"; for example 'transport: {{mtu: {fits}}}'" if fits else ""
    found = f"found {payload_bytes} B{remedy}"
    return f"{file}: packet {number}: expected at most {mtu} B of payload (transport.mtu), {found}"


def too_many_addresses(file: str, addresses: int, hosts: int) -> str:
    found = f"found {addresses}; give a 'map', or more hosts"
    return f"{file}: expected at most {hosts} addresses, one for each host of the fabric, {found}"


def not_mapped(addresses: Sequence[str], file: str) -> str:
    return f"expected a host for every address in {file}, found none for {_some(addresses)}"


def not_in_capture(address: str, file: str, there: Sequence[str]) -> str:
    return f"expected an address in {file}, found {address}; there are {_some(there)}"


def to_itself(file: str, number: int, source: str, destination: str, host: str) -> str:
    return f"{file}: packet {number}: expected different hosts for {source} and {destination}, found {host} for both"


def _some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
