"""timeline.json: the run as a picture that the Perfetto UI (ui.perfetto.dev) and chrome://tracing open.

    a host      its ranks (compute, what they wait for), its NIC (messages sent and received, what went wrong), its
                port's throughput, the rates of its queue pairs
    a switch    its ports (pauses, drops), their throughput, and the bytes in each queue
    arrows      from a message's sending to its arrival

The file is kept below ten megabytes or so: of very many waits, messages, events or pauses the first are kept, and the
intervals of counters are joined until there are few enough. `otherData` says what was left out; the tables have it all.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.measurement.records import Measurements
from testbed.report import timeline_counters
from testbed.report.timeline_tracks import Timeline
from testbed.units import NANOSECOND
from traffic.results import COMPUTE, START, CollectiveResult, FlowResult, MessageRecord, TraceResult, Wait

TIMELINE_FILE = "timeline.json"
MOST_WAITS = 20_000
MOST_MESSAGES = 8_000
MOST_INSTANTS = 10_000
MOST_CAUSES = 4
"""Of a wait's causes those that are named: in a large fabric a rank has hundreds, and a file would be full of them."""
_ARRIVAL_PS = NANOSECOND
"""How long the arrival of a message is drawn: what an arrow ends at must have a length."""


def timeline(measurements: Measurements) -> dict[str, Any]:
    """Return the content of timeline.json."""
    drawn = Timeline()
    plan = measurements.plan
    for name in (*(host.name for host in plan.hosts), *(switch.name for switch in plan.switches)):
        drawn.process(name)
    left_out = {
        "waits": _waits(drawn, measurements),
        "messages": _messages(drawn, measurements),
        "events": _instants(drawn, measurements),
        "pauses": _pauses(drawn, measurements),
    }
    joined = timeline_counters.draw(drawn, measurements)
    return {
        "displayTimeUnit": "ns",
        "otherData": {
            "title": measurements.scenario.title,
            "seed": measurements.scenario.seed,
            "rocelab": measurements.versions.get("rocelab", ""),
            "left_out": left_out,
            "counter_interval_ps": joined,
        },
        "traceEvents": drawn.events,
    }


def write_timeline(directory: Path, measurements: Measurements) -> Path:
    """Write timeline.json into `directory`, an event a line."""
    path = directory / TIMELINE_FILE
    content = timeline(measurements)
    events = content.pop("traceEvents")
    head = json.dumps(content, ensure_ascii=False)[:-1]
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    lines = ",\n".join(map(encode, events))
    path.write_text(f'{head}, "traceEvents": [\n{lines}\n]}}\n', encoding="utf-8")
    return path


def host_of(rank: str) -> str:
    """Return the host of a rank: ``h0`` of ``h0.3``."""
    return rank.partition(".")[0]


# --- ranks -----------------------------------------------------------------------------------------------------------


def _waits(drawn: Timeline, measurements: Measurements) -> int:
    """Draw what each rank did; return how many waits are left out."""
    waits = sorted(
        ((wait, result.name) for result in _with_ranks(measurements) for wait in result.waits),
        key=lambda each: each[0].start_ps,
    )
    causes = _causes(measurements)
    for wait, job in waits[:MOST_WAITS]:
        if wait.end_ps > wait.start_ps:
            about = {"job": job, "step": wait.step, "piece": wait.piece, **_cause_of(wait, causes)}
            drawn.slice(host_of(wait.rank), f"rank {wait.rank}", _what(wait), wait.start_ps, wait.end_ps, about)
    return max(0, len(waits) - MOST_WAITS)


def _with_ranks(measurements: Measurements) -> list[CollectiveResult | TraceResult]:
    return [*measurements.collectives, *measurements.traces]


def _what(wait: Wait) -> str:
    return wait.what if wait.what in (COMPUTE, START) else f"waits: {wait.what}"


Causes = dict[str, list[tuple[int, int, str]]]
"""By rank: from when to when it lost time, and to what; what cost it most first."""


def _causes(measurements: Measurements) -> Causes:
    found: dict[str, list[tuple[int, tuple[int, int, str]]]] = {}
    explanation = measurements.explanation
    for stall in explanation.stalls if explanation is not None else ():
        for part in stall.parts:
            assert explanation is not None
            cause = explanation.causes[part.cause]
            text = f"{cause.kind} at {cause.where}"
            found.setdefault(stall.rank, []).append((part.duration_ps, (part.first_ps, part.last_ps, text)))
    return {rank: [part for _, part in sorted(parts, key=lambda each: -each[0])] for rank, parts in found.items()}


def _cause_of(wait: Wait, causes: Causes) -> dict[str, str]:
    """Return the causes of the rank's stall that were at work during `wait`; of many, those that cost it most."""
    if wait.what in (COMPUTE, START):
        return {}
    here = [text for first, last, text in causes.get(wait.rank, ()) if first < wait.end_ps and last > wait.start_ps]
    different = list(dict.fromkeys(here))
    more = len(different) - MOST_CAUSES
    shown = "; ".join(different[:MOST_CAUSES]) + (f"; and {more} more" if more > 0 else "")
    return {"causes": shown} if shown else {}


# --- messages --------------------------------------------------------------------------------------------------------


def _messages(drawn: Timeline, measurements: Measurements) -> int:
    """Draw the messages; return how many are left out."""
    messages = sorted(_all_messages(measurements), key=lambda each: _sent_ps(each[0]))
    kept = [(message, job) for message, job in messages[:MOST_MESSAGES] if message.arrived_ps is not None]
    sent = [
        drawn.slice(
            host_of(m.source),
            f"{m.nic or m.source} sends" if m.queue_pair is not None else f"{m.source} sends over NVLink",
            f"to {m.destination}",
            _sent_ps(m),
            max(m.arrived_ps or 0, _sent_ps(m)),
            _about(m, job),
        )
        for m, job in kept
    ]
    arrivals = sorted(zip(kept, sent, strict=True), key=lambda each: each[0][0].arrived_ps or 0)
    for (m, job), start in arrivals:
        arrived = m.arrived_ps or 0
        track = f"{m.destination} receives"
        end = drawn.slice(
            host_of(m.destination), track, f"from {m.source}", arrived, arrived + _ARRIVAL_PS, _about(m, job)
        )
        drawn.arrow(start, _sent_ps(m), end, arrived)
    return max(0, len(messages) - MOST_MESSAGES)


def _all_messages(measurements: Measurements) -> Iterator[tuple[MessageRecord, str]]:
    """Yield every message with the name of its job."""
    results: list[CollectiveResult | FlowResult | TraceResult]
    results = [*measurements.collectives, *measurements.flows, *measurements.traces]
    for result in results:
        yield from ((message, result.name) for message in result.messages)


def _sent_ps(message: MessageRecord) -> int:
    return message.posted_ps if message.sent_ps is None else message.sent_ps


def _about(m: MessageRecord, job: str) -> dict[str, Any]:
    about = {"job": job, "step": m.step, "piece": m.piece, "bytes": m.size_bytes}
    return about if m.queue_pair is None else {**about, "queue pair": m.queue_pair, "first packet": m.first_sequence}


# --- what went wrong -------------------------------------------------------------------------------------------------

_NOT_DRAWN = {"mark", "pause", "resume", "link_down", "link_up"}
"""Marks are a counter, pauses slices; links have a track of their own."""


def _instants(drawn: Timeline, measurements: Measurements) -> int:
    """Draw events at NICs and ports; return how many are left out."""
    records = measurements.events.records if measurements.events is not None else ()
    node_of = {port.name: port.node for port in measurements.plan.ports()}
    shown = [event for event in records if event.kind not in _NOT_DRAWN]
    for e in shown[:MOST_INSTANTS]:
        about = {"detail": e.detail, "source": e.source, "destination": e.destination, "qp": e.qp, "psn": e.psn}
        known = {name: value for name, value in about.items() if value not in (None, "")}
        drawn.instant(node_of.get(e.where, e.where), e.where, e.kind, e.time_ps, known)
    for event in records:
        if event.kind in ("link_down", "link_up"):
            drawn.instant("links", event.where, event.kind, event.time_ps)
    return max(0, len(shown) - MOST_INSTANTS)


def _pauses(drawn: Timeline, measurements: Measurements) -> int:
    """Draw pauses at the ports that must stop, one that never ended up to the end of the run; return how many are left
    out."""
    pauses = measurements.pauses.pauses if measurements.pauses is not None else ()
    node_of = {port.name: port.node for port in measurements.plan.ports()}
    for p in sorted(pauses, key=lambda pause: pause.start_ps)[:MOST_WAITS]:
        end = max(measurements.duration_ps, p.start_ps) if p.end_ps is None else p.end_ps
        track = p.paused if p.priority is None else f"{p.paused} priority {p.priority}"
        drawn.slice(
            node_of[p.paused], track, f"paused by {p.sender}", p.start_ps, end, {"root": p.root, "depth": p.depth}
        )
    return max(0, len(pauses) - MOST_WAITS)
