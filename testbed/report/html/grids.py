"""The tables that sort: what a run's Parquet tables have a row each for, and the stall of each rank; of traces their
collectives, of captures their flows.

A column is its heading, its unit (the page writes times, sizes and rates in the one that suits) and its values.
"""

from testbed.report.html.read import Rows, RunFiles
from testbed.report.html.results import Grid, grid

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


def grids(files: RunFiles) -> list[Grid]:
    """Return the tables: name, title, columns ([heading, unit or empty]), rows, note (why it is empty or cut).

    Those of traces and captures are there where the workload had one.
    """
    special = (_trace_collectives(files), _replay_flows(files))
    return [
        _ranks(files),
        *(table for table in special if table["rows"]),
        *(_grid(name, files.table(name)) for name in _TITLES),
    ]


def _ranks(files: RunFiles) -> Grid:
    """Computing and exposed communication are of traces: a collective's ranks do little else than wait."""
    found = [*files.summary["collectives"], *files.summary.get("traces", ())]
    computed, exposed = "compute_ps_by_rank", "exposed_ps_by_rank"
    rows = [
        [rank, item["name"], *(item.get(key, {}).get(rank) for key in (computed, exposed)), stall_ps]
        for item in found
        for rank, stall_ps in (item["stall_ps_by_rank"] or {}).items()
    ]
    columns = [("rank", ""), ("job", ""), ("computed", "time"), ("waited for others", "time"), ("stall", "time")]
    if all(row[2] is None for row in rows):
        columns, rows = [*columns[:2], columns[4]], [[*row[:2], row[4]] for row in rows]
    return grid("ranks", "Ranks", columns, rows, "" if rows else "The workload has neither a collective nor a trace.")


def _trace_collectives(files: RunFiles) -> Grid:
    columns = [
        ("trace", ""), ("collective", ""), ("algorithm", ""), ("group", ""), ("ranks", ""), ("size", "size"),
        ("number", ""), ("mean time", "time"), ("ideal", "time"), ("busbw", "gbps"),
    ]  # fmt: skip
    after = ("ranks", "size_bytes", "count", "time_ps", "ideal_ps", "busbw_gbps")
    rows = [
        [trace["name"], one["kind"], one["algorithm"], one["group"] or "all", *(one[key] for key in after)]
        for trace in files.summary.get("traces", ())
        for one in trace["collectives"]
    ]
    return grid("trace-collectives", "Collectives of traces", columns, rows)


def _replay_flows(files: RunFiles) -> Grid:
    keys = ("source", "destination", "qp", "sent", "delivered", "marked", "marked_before", "out_of_order", "dropped")
    columns = [("capture", ""), *((key.replace("_", " "), "") for key in keys)]
    replays = files.summary.get("replays", ())
    rows = [[replay["file"], *(flow[key] for key in keys)] for replay in replays for flow in replay["flows"]]
    count = sum(replay["flows_total"] for replay in replays)
    note = f"The first {len(rows):,} of {count:,}." if count > len(rows) else ""
    return grid("replay-flows", "Flows of captures", columns, rows, note)


def _grid(name: str, table: Rows | None) -> Grid:
    if table is None:
        return grid(name, _TITLES[name], [], [], _LACKING[name])
    columns = [_column(column) for column in table]
    rows = [list(row) for row in zip(*table.values(), strict=True)]
    note = f"The first {_MOST} of {len(rows)} rows; {name}.parquet has them all." if len(rows) > _MOST else ""
    return grid(name, _TITLES[name], columns, rows[:_MOST], note)


def _column(name: str) -> tuple[str, str]:
    suffix = next((suffix for suffix in ("_gbps", "_bps", "_bytes", "_ps") if name.endswith(suffix)), "")
    return name.removesuffix(suffix).replace("_", " "), _UNITS.get(suffix, "")
