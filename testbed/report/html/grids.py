"""The tables that sort: what a run's Parquet tables have a row each for, and the stall of each rank.

A column is its heading, its unit (the page writes times, sizes and rates in the one that suits) and its values.
"""

from typing import Any

from testbed.report.html.read import Rows, RunFiles

_MOST = 2000
"""Rows shown; the files have them all."""
_UNITS = {"_ps": "time", "_bytes": "size", "_bps": "rate", "_gbps": "gbps"}
_TITLES = {"ports": "Ports", "queues": "Queues", "flows": "Flows", "drops": "Drops", "pauses": "Pauses"}
_LACKING = {
    "queues": "No switch had traffic classes (fabric: qos).",
    "flows": "The workload has no point-to-point flow.",
    "drops": "No frame was lost.",
    "pauses": "No port was paused.",
    "ports": "The run has no table of ports.",
}


def grids(files: RunFiles) -> list[dict[str, Any]]:
    """Return the tables: name, title, columns ([heading, unit or empty]), rows, note (why it is empty or cut)."""
    return [_ranks(files), *(_grid(name, files.table(name)) for name in _TITLES)]


def _ranks(files: RunFiles) -> dict[str, Any]:
    rows = [
        [rank, collective["name"], stall_ps]
        for collective in files.summary["collectives"]
        for rank, stall_ps in (collective["stall_ps_by_rank"] or {}).items()
    ]
    columns = [["rank", ""], ["collective", ""], ["stall", "time"]]
    note = "" if rows else "The workload has no collective."
    return {"name": "ranks", "title": "Ranks", "columns": columns, "rows": rows, "note": note}


def _grid(name: str, table: Rows | None) -> dict[str, Any]:
    if table is None:
        return {"name": name, "title": _TITLES[name], "columns": [], "rows": [], "note": _LACKING[name]}
    columns = [_column(column) for column in table]
    rows = [list(row) for row in zip(*table.values(), strict=True)]
    note = f"The first {_MOST} of {len(rows)} rows; {name}.parquet has them all." if len(rows) > _MOST else ""
    return {"name": name, "title": _TITLES[name], "columns": columns, "rows": rows[:_MOST], "note": note}


def _column(name: str) -> list[str]:
    suffix = next((suffix for suffix in ("_gbps", "_bps", "_bytes", "_ps") if name.endswith(suffix)), "")
    return [name.removesuffix(suffix).replace("_", " "), _UNITS.get(suffix, "")]
