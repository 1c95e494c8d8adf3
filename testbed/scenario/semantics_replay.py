"""A capture in a workload: it is read before anything runs, so that what is wrong with it, or its map, is known."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.fabric.plan import FabricPlan
from testbed.scenario import wording, wording_replay
from testbed.scenario.document import KeyPath
from testbed.scenario.draft import Draft, Problem, Problems
from testbed.scenario.replay import PacketReplay

if TYPE_CHECKING:
    from traffic.replay.capture import Survey


def hosts_by_address(work: PacketReplay, found: Survey, plan: FabricPlan) -> dict[bytes, str]:
    """Return the host that has the place of each address of a capture: those of a checked work's map, or without one
    the fabric's hosts in their order, for addresses in the order in which they appear."""
    if work.map:
        return {ip_address(address).packed: host for address, host in work.map.items()}
    return dict(zip(found.addresses, (host.name for host in plan.hosts), strict=False))


def check_replay(draft: Draft, work: PacketReplay, path: KeyPath) -> Problems:
    """Check all that can be checked of a replay; a capture's own mistakes are reported at its name's place."""
    from traffic.replay.capture import survey_capture  # scapy is slow to import, and few scenarios have a capture
    from traffic.wire.capture_file import CaptureError

    problems = [*_map(draft, work, path)]
    yield from problems
    if not draft.sound(*path, "file"):
        return
    try:
        found = survey_capture(Path(work.file))
    except CaptureError as error:
        yield Problem((*path, "file"), str(error))
        return
    if not found.packets:
        yield Problem((*path, "file"), wording_replay.no_packets(work.file, found.others))
        return
    mtu = draft.scenario.transport.mtu
    if found.largest_payload_bytes > mtu and draft.sound("transport", "mtu"):
        text = wording_replay.beyond_mtu(work.file, found.largest_number, found.largest_payload_bytes, mtu)
        yield Problem((*path, "file"), text)
    if not problems and draft.names_known and draft.sound(*path, "map"):
        yield from _mapped(draft, work, found, path)


def _map(draft: Draft, work: PacketReplay, path: KeyPath) -> Problems:
    """Keys are addresses, values hosts."""
    known = [host.name for host in draft.plan.hosts]
    for address, host in work.map.items():
        here = (*path, "map", address)
        if _packed(address) is None:
            yield Problem(here, wording_replay.no_address(address), at_key=True)
        if draft.names_known and draft.sound(*here) and host not in known:
            yield Problem(here, wording.not_in_fabric("host", host, known))


def _packed(address: str) -> bytes | None:
    try:
        return ip_address(address).packed
    except ValueError:
        return None


def _mapped(draft: Draft, work: PacketReplay, found: Survey, path: KeyPath) -> Problems:
    """Every address of the capture has a host, and every packet goes from one to another."""
    hosts = len(draft.plan.hosts)
    if not work.map and len(found.addresses) > hosts:
        yield Problem((*path, "file"), wording_replay.too_many_addresses(work.file, len(found.addresses), hosts))
        return
    there = [_text(address) for address in found.addresses]
    mapped = hosts_by_address(work, found, draft.plan)
    for text in work.map:
        if ip_address(text).packed not in found.addresses:
            yield Problem((*path, "map", text), wording_replay.not_in_capture(text, work.file, there), at_key=True)
    missing = [_text(address) for address in found.addresses if address not in mapped]
    if missing:
        yield Problem((*path, "map"), wording_replay.not_mapped(missing, work.file))
        return
    yield from _loops(work, found, mapped, path)


def _loops(work: PacketReplay, found: Survey, mapped: Mapping[bytes, str], path: KeyPath) -> Problems:
    for (source, destination), number in found.pairs.items():
        if mapped[source] == mapped[destination]:
            ends = _text(source), _text(destination)
            text = wording_replay.to_itself(work.file, number, *ends, mapped[source])
            yield Problem((*path, "map") if work.map else (*path, "file"), text)
            return


def _text(address: bytes) -> str:
    return str(ip_address(address))
