"""What happened in a run beside the ordinary flow of packets, in the order of time: one row an event.

    drop, mark                     at a port (a wire, a queue) or NIC: which packet, of which flow
    nak, timeout, rnr_nak          at the NIC that sends: why it goes back; retransmission: from where on it sends again
    cnp_sent, cnp_handled          at the NIC that received a marked packet, and at the one that sent it
    pause, resume                  at the port that decided it, as told by the journal of pauses
    watchdog, restored             at a queue in a storm of pauses
    link_down, link_up             of a link, by the scenario's faults

Each comes from where it is recorded or counted anyway. Events of one time are in the order of this list.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from operator import attrgetter

from testbed.fabric.plan import FabricPlan
from testbed.measurement.marks import Mark, MarkRecorder
from testbed.measurement.pauses import PauseReport
from testbed.measurement.records import DropRecord
from testbed.scenario.model import Fault, LinkDown
from traffic.nic import journal
from traffic.nic.journal import NicEvent
from traffic.wire.packet import addresses

DROP, MARK, PAUSE, RESUME = "drop", "mark", "pause", "resume"
WATCHDOG, RESTORED, LINK_DOWN, LINK_UP = "watchdog", "restored", "link_down", "link_up"

_IPV4 = b"\x08\x00"
_BTH_IPV4, _BTH_IPV6 = 42, 62


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event: `kind` at `where` (a port, NIC, switch or link). `source` and `destination` are the hosts between
    which the packet, or the queue pair's data, goes; `qp` is the queue pair: of a packet, the one that it is for; of
    a NIC's event, its own.
    """

    time_ps: int
    kind: str
    where: str
    priority: int | None = None
    source: str | None = None
    destination: str | None = None
    qp: int | None = None
    psn: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Events:
    """All events of a run in the order of time, and how many marks are not among them."""

    records: tuple[EventRecord, ...]
    marks_left_out: int


def events_of(
    plan: FabricPlan,
    duration_ps: int,
    drops: Sequence[DropRecord],
    marks: MarkRecorder,
    of_nics: Sequence[NicEvent],
    pauses: PauseReport | None,
    faults: Sequence[Fault],
) -> Events:
    """Return the events of a run that took `duration_ps`: a fault that would come later is none."""
    host_of = {ip_address(text).packed: nic.host for nic in plan.nics for text in (nic.ipv4, nic.ipv6)}
    found = [
        *_drops(drops),
        *_marks(marks.marks, host_of),
        *_of_nics(of_nics, plan, host_of),
        *(_pauses(pauses) if pauses is not None else ()),
        *_faults(faults, duration_ps),
    ]
    found.sort(key=attrgetter("time_ps"))
    return Events(tuple(found), marks.left_out)


def _drops(drops: Sequence[DropRecord]) -> Iterator[EventRecord]:
    for d in drops:
        yield EventRecord(d.time_ps, DROP, d.where, None, d.source, d.destination, d.qp, d.psn, f"{d.kind}: {d.reason}")


def _marks(marks: Sequence[Mark], host_of: Mapping[bytes, str]) -> Iterator[EventRecord]:
    for mark in marks:
        header = mark.header
        bth = _BTH_IPV4 if header[12:14] == _IPV4 else _BTH_IPV6
        source, destination = addresses(header) or (b"", b"")
        yield EventRecord(
            mark.time_ps,
            MARK,
            mark.port,
            mark.priority,
            host_of.get(source),
            host_of.get(destination),
            int.from_bytes(header[bth + 5 : bth + 8], "big"),
            int.from_bytes(header[bth + 9 : bth + 12], "big"),
        )


def _of_nics(events: Sequence[NicEvent], plan: FabricPlan, host_of: Mapping[bytes, str]) -> Iterator[EventRecord]:
    host_of_nic = {nic.name: nic.host for nic in plan.nics}
    for e in events:
        peer = host_of.get(ip_address(e.peer_ip).packed) if e.peer_ip else None
        own = host_of_nic[e.nic]
        source, destination = (peer, own) if e.kind == journal.CNP_SENT else (own, peer)
        detail = "" if e.packets is None else f"{e.packets} packets"
        yield EventRecord(e.time_ps, e.kind, e.nic, None, source, destination, e.queue_pair, e.psn, detail)


def _pauses(report: PauseReport) -> Iterator[EventRecord]:
    for p in report.pauses:
        yield EventRecord(p.start_ps, PAUSE, p.sender, p.priority, detail=f"pauses {p.paused}, from {p.root}")
        if p.end_ps is not None:
            yield EventRecord(p.end_ps, RESUME, p.sender, p.priority, detail=f"lets {p.paused} go on")
    for storm in report.storms:
        yield EventRecord(storm.time_ps, WATCHDOG, storm.port, storm.priority, detail=storm.action)
        if storm.restored_ps is not None:
            yield EventRecord(storm.restored_ps, RESTORED, storm.port, storm.priority)


def _faults(faults: Sequence[Fault], duration_ps: int) -> Iterator[EventRecord]:
    for fault in faults:
        if isinstance(fault, LinkDown) and fault.at <= duration_ps:
            yield EventRecord(fault.at, LINK_DOWN, fault.link)
            if fault.until is not None and fault.until <= duration_ps:
                yield EventRecord(fault.until, LINK_UP, fault.link)
