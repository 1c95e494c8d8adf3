"""The block `traces` of summary.json, and what the report on the terminal says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from testbed.report.style import (
    BAD,
    GOOD,
    HEADING,
    QUIET,
    WARNING,
    Signs,
    count,
    microseconds,
    plain_table,
    rate,
    sizes_alike,
)
from testbed.units import format_time
from traffic.results import TraceCollectives, TraceResult

_DECIMALS = 3
_MOST_ROWS = 12


def trace_block(result: TraceResult) -> dict[str, Any]:
    """Return one replay as JSON values."""
    stalls = [result.stall_ps_by_rank[rank] for rank in result.ranks]
    return {
        "name": result.name,
        "format": result.format,
        "files": list(result.files),
        "iterations": result.iterations,
        "ranks": len(result.ranks),
        "hosts": list(result.ranks),
        "nodes": len(result.nodes),
        "start_ps": result.start_ps,
        "end_ps": result.end_ps,
        "time_ps": result.time_ps,
        "iteration_ps": None if result.time_ps is None else result.time_ps // result.iterations,
        "ideal_ps": result.ideal_ps,
        "critical_path_ps": result.critical_path_ps,
        "collectives": [_collectives(row) for row in result.collectives],
        "sends": result.sends,
        "sent_bytes": result.sent_bytes,
        "unknown": dict(result.unknown),
        "unknown_total": sum(result.unknown.values()),
        "left_out": dict(result.left_out),
        "stand_ins": dict(result.stand_ins),
        "verified": result.verified,
        "wrong_elements": result.wrong_elements,
        "failed": result.failure is not None,
        "failure": result.failure,
        "compute_ps_by_rank": dict(result.compute_ps_by_rank),
        "exposed_ps_by_rank": dict(result.exposed_ps_by_rank),
        "exposed_max_ps": max(result.exposed_ps_by_rank.values(), default=0),
        "stall_max_ps": max(stalls, default=0),
        "stall_mean_ps": sum(stalls) // len(stalls) if stalls else 0,
        "stall_ps_by_rank": dict(zip(result.ranks, stalls, strict=True)),
    }


def _collectives(row: TraceCollectives) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "algorithm": row.algorithm,
        "group": row.group,
        "ranks": row.ranks,
        "size_bytes": row.size_bytes,
        "count": row.count,
        "time_ps": row.time_ps,
        "ideal_ps": row.ideal_ps,
        "algbw_gbps": _rounded(row.algbw_gbps),
        "busbw_gbps": _rounded(row.busbw_gbps),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def trace_report(result: dict[str, Any], signs: Signs) -> Iterator[RenderableType]:
    """Yield, for each replay of a summary, its times, its collectives and what was not understood."""
    for trace in result.get("traces", ()):
        parts: list[RenderableType] = [_head(trace), _times(trace)]
        if trace["collectives"]:
            parts.append(_table(trace["collectives"], signs))
        parts += _notes(trace)
        yield Group(*parts)


def _head(trace: dict[str, Any]) -> Text:
    name = trace["name"].removeprefix("trace ")
    text = Text.assemble((f"{trace['format']} trace", HEADING), f" {name}: {count(trace['ranks'], 'rank')}")
    return text.append(f", {count(trace['nodes'], 'node')}, {count(trace['sends'], 'message')}")


def _times(trace: dict[str, Any]) -> Text:
    if trace["time_ps"] is None:
        return Text("  not finished", BAD)
    time, ideal = format_time(trace["time_ps"]), format_time(trace["ideal_ps"])
    text = Text(f"  {time}; contention-free {ideal}, with no network at all {format_time(trace['critical_path_ps'])}; ")
    text.append(f"exposed communication up to {format_time(trace['exposed_max_ps'])}, stall up to ")
    text.append(format_time(trace["stall_max_ps"]))
    verified = {True: ("; data right", GOOD), False: (f"; {trace['wrong_elements']} wrong", BAD), None: ("", QUIET)}
    return text.append(*verified[trace["verified"]])


def _table(rows: list[dict[str, Any]], signs: Signs) -> RenderableType:
    names = ("ranks", "size", "count", "time us", "ideal us", "busbw Gb/s")
    columns = [Column("collective"), Column("group"), *(Column(name, justify="right") for name in names)]
    table = plain_table(*columns)
    sizes = sizes_alike([row["size_bytes"] for row in rows])
    for row, size in list(zip(rows, sizes, strict=True))[:_MOST_ROWS]:
        table.add_row(
            f"{row['kind']} {row['algorithm']}", row["group"] or "all", f"{row['ranks']}", size, f"{row['count']:,}",
            microseconds(row["time_ps"]), microseconds(row["ideal_ps"]), rate(row["busbw_gbps"]),
        )  # fmt: skip
    if len(rows) > _MOST_ROWS:
        return Group(table, Text(f"  {signs.more} {len(rows) - _MOST_ROWS} more in summary.json", QUIET))
    return table


def _notes(trace: dict[str, Any]) -> Iterator[Text]:
    for what, number in trace["unknown"].items():
        yield Text(f"  not understood, replayed without time: {number:,} {what}", WARNING)
    for what, number in trace["stand_ins"].items():
        yield Text(f"  replayed {what}: {number:,}", QUIET)
    if trace["failure"]:
        yield Text(f"  {trace['failure']}", BAD)
