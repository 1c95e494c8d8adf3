"""A run as one value: what the scripts of its page draw."""

from typing import Any

from testbed.measurement.causes.model import KINDS
from testbed.report.compare import QUANTITIES
from testbed.report.html.gantt import gantt
from testbed.report.html.grids import grids
from testbed.report.html.read import RunFiles
from testbed.report.html.sketch import sketch
from testbed.report.html.tracks import events, tracks
from testbed.scenario.model import FabricOptions
from testbed.units import format_rate, format_time

_MOST_CHAPTERS = 12


def run_data(files: RunFiles) -> dict[str, Any]:
    """Return what report.html shows of a run, as JSON values."""
    summary = files.summary
    series = summary.get("series") or {}
    interval_ps = series.get("interval_ps") or 1
    return {
        "title": summary["title"],
        "message": summary["scenario"].get("message") or "",
        "ok": summary["ok"],
        "about": _about(summary),
        "answer": answer(summary),
        "duration_ps": summary["duration_ps"],
        "interval_ps": interval_ps,
        "intervals": series.get("intervals") or 0,
        "collectives": [_without_names(collective) for collective in summary["collectives"]],
        "flows": _slowest(summary["flows"]),
        "checks": [*summary["expectations"], *summary["invariants"]],
        "totals": {
            **summary["totals"],
            "drops": summary["drops"]["total"],
            "sent_again": summary["retransmitted_packets"],
        },
        "mtu": summary["scenario"]["transport"]["mtu"],
        "fabric": sketch(summary["scenario"]["fabric"]),
        "tracks": tracks(files.table("series"), interval_ps),
        "events": events(files.table("events")),
        "gantt": gantt(files),
        "limits": limits(summary["scenario"]["fabric"]),
        "causes": _causes(files),
        "grids": grids(files),
        "versions": summary["versions"],
    }


def answer(summary: dict[str, Any]) -> str:
    """Return the run in one sentence: how long it took, its share of the ideal, who waited longest, what cost most."""
    if summary["failure"]:
        return f"The workload did not finish: {summary['failure']}."
    collectives = [one for one in summary["collectives"] if not one["failed"] and one["time_ps"]]
    if collectives:
        slowest = max(collectives, key=lambda one: one["time_ps"])
        text = f"The {slowest['kind']} of {slowest['ranks']} ranks took {_share(slowest)}"
        stalls = slowest["stall_ps_by_rank"] or {"": 0}
        worst = max(stalls, key=lambda rank: stalls[rank])
        if stalls[worst]:
            text += f"; {worst} stalled longest, {format_time(stalls[worst])}"
    else:
        flows = [flow for flow in summary["flows"] if flow["time_ps"]]
        if not flows:
            return f"The run took {format_time(summary['duration_ps'])} of model time."
        slowest = max(flows, key=lambda flow: flow["time_ps"])
        ends = f"{slowest['source']} to {slowest['destination']}"
        text = f"The slowest of {len(flows)} flows, {ends}, took {_share(slowest)}"
    most = (summary.get("stall") or {}).get("most")
    if most:
        text += f"; what cost most was {most['title']}, {most['share']:.0%} of all time lost"
    return text + "."


def _share(item: dict[str, Any]) -> str:
    text = format_time(item["time_ps"])
    if not item.get("ideal_ps"):
        return text
    times = item["time_ps"] / item["ideal_ps"]
    if times < 2:
        return f"{text}, at {1 / times:.1%} of the speed that it would have alone ({format_time(item['ideal_ps'])})"
    return f"{text}, {times:,.2f} times the {format_time(item['ideal_ps'])} that it would take alone"


def _about(summary: dict[str, Any]) -> list[str]:
    options = FabricOptions.model_validate(summary["scenario"]["fabric"])
    fabric = summary["fabric"]
    return [
        f"{fabric['topology']}, {fabric['hosts']} hosts, {fabric['switches']} switches",
        f"{format_rate(options.link.rate)} links",
        f"MTU {summary['scenario']['transport']['mtu']}",
        f"seed {summary['seed']}",
    ]


def _without_names(collective: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in collective.items() if key not in ("hosts", "stall_ps_by_rank")}


def _slowest(flows: list[dict[str, Any]], most: int = 8) -> dict[str, Any]:
    ordered = sorted(flows, key=lambda flow: -(flow["time_ps"] or flow["end_ps"]))
    return {"count": len(flows), "shown": ordered[:most]}


def limits(fabric: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines to draw beside queue depths: label, priority, bytes.

    XOFF has no fixed depth, since the ingress threshold is `alpha` times what is free: drawn is where a single ingress
    that fills the buffer alone reaches it, alpha / (1 + alpha) of the buffer (Choudhury and Hahne, 1998).
    """
    options = FabricOptions.model_validate(fabric)
    if options.qos is None:
        return []
    found = []
    for priority, ecn in sorted(options.qos.ecn.items()):
        if ecn.by == "bytes":
            found.append({"label": "Kmin", "priority": priority, "bytes": ecn.kmin})
            found.append({"label": "Kmax", "priority": priority, "bytes": ecn.kmax})
    if options.qos.pfc is not None:
        alpha = options.qos.ingress_alpha
        xoff = int(options.switch.buffer * alpha / (1 + alpha))
        found += [{"label": "XOFF (one ingress)", "priority": p, "bytes": xoff} for p in options.qos.lossless]
    return found


def _causes(files: RunFiles) -> dict[str, Any]:
    """Return the time lost by rank (or both ends of a flow) and kind of cause, and the story's chapters."""
    told, table = files.story(), files.table("causes")
    by_rank: dict[str, dict[str, int]] = {}
    flows = files.summary["flows"]
    if table is not None:
        columns = (table[name] for name in ("flow", "rank", "cause", "duration_ps"))
        for flow, rank, cause, duration in zip(*columns, strict=True):
            who = rank if flow is None else f"{flows[flow]['source']} to {rank}"
            of_rank = by_rank.setdefault(who, {})
            of_rank[cause] = of_rank.get(cause, 0) + duration
    kept = ("kind", "title", "ranks_ps", "flows_ps", "share", "first_ps", "last_ps", "sentences")
    chapters = told["chapters"] if told is not None else []
    return {
        "recorded": told is not None,
        "kinds": {kind: text for kind, text in KINDS.items() if any(kind in of_rank for of_rank in by_rank.values())},
        "by_rank": by_rank,
        "chapters": [{key: chapter[key] for key in kept} for chapter in chapters[:_MOST_CHAPTERS]],
        "more_chapters": max(0, len(chapters) - _MOST_CHAPTERS),
    }


def compare_data(runs: list[tuple[str, RunFiles]]) -> dict[str, Any]:
    """Return what the page of several runs shows: the quantities of each, its causes, its queues and its throughput."""
    return {
        "title": "Runs side by side",
        "quantities": [
            {
                "name": quantity.name,
                "less_is_better": quantity.less_is_better,
                "values": [quantity.read(files.summary) for _, files in runs],
                "texts": [_text(quantity.read(files.summary), quantity.write) for _, files in runs],
            }
            for quantity in QUANTITIES
            if any(quantity.read(files.summary) for _, files in runs)
        ],
        "runs": [{"name": name, **_compared(files)} for name, files in runs],
    }


def _text(value: Any, write: Any) -> str:
    return "" if value is None else write(value)


def _compared(files: RunFiles) -> dict[str, Any]:
    data = run_data(files)
    kept = ("title", "ok", "about", "answer", "duration_ps", "interval_ps", "intervals", "limits")
    totals: dict[str, int] = {}
    for of_rank in data["causes"]["by_rank"].values():
        for kind, duration in of_rank.items():
            totals[kind] = totals.get(kind, 0) + duration
    of_ports = [track for track in data["tracks"] if track["what"] in ("sent_bytes", "queue_bytes")]
    hosts = {node for node, row, _ in data["fabric"]["nodes"] if row == 0}
    cards = {
        name
        for a, b, of_a, of_b, _ in data["fabric"]["links"]
        for name, node in ((a, of_a), (b, of_b))
        if node in hosts
    }
    return {
        **{key: data[key] for key in kept},
        "causes": totals,
        "kinds": data["causes"]["kinds"],
        "deepest": _highest(data, [t for t in of_ports if t["what"] == "queue_bytes"]),
        "sent": _summed(data, [t for t in of_ports if t["what"] == "sent_bytes" and t["object"] in cards]),
    }


def _highest(data: dict[str, Any], found: list[dict[str, Any]]) -> list[int]:
    values = [0] * data["intervals"]
    for track in found:
        for index, value in enumerate(track["values"], start=track["first"]):
            values[index] = max(values[index], value)
    return values


def _summed(data: dict[str, Any], found: list[dict[str, Any]]) -> list[int]:
    values = [0] * data["intervals"]
    for track in found:
        for index, value in enumerate(track["values"], start=track["first"]):
            values[index] += value
    return values
