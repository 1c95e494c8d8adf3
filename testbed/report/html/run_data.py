"""A run as one value: what the scripts of its page draw."""

from typing import Any

from testbed.report.compare import QUANTITIES
from testbed.report.html.answer import answer
from testbed.report.html.causes import causes
from testbed.report.html.gantt import gantt
from testbed.report.html.grids import grids
from testbed.report.html.read import RunFiles
from testbed.report.html.results import results
from testbed.report.html.sketch import sketch
from testbed.report.html.tracks import events, tracks
from testbed.scenario.model import FabricOptions
from testbed.units import format_rate


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
        "results": results(summary),
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
        "causes": causes(files),
        "grids": grids(files),
        "versions": summary["versions"],
    }


def _about(summary: dict[str, Any]) -> list[str]:
    options = FabricOptions.model_validate(summary["scenario"]["fabric"])
    fabric = summary["fabric"]
    return [
        f"{fabric['topology']}, {fabric['hosts']} hosts, {fabric['switches']} switches",
        f"{format_rate(options.link.rate)} links",
        f"MTU {summary['scenario']['transport']['mtu']}",
        f"seed {summary['seed']}",
    ]


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
        for kind, (duration, _) in of_rank.items():
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
