"""The results on the first screen: a table for each kind of work that the run had.

A table is as `grids` has them: its name, title, columns (heading, unit), rows and a note.
"""

from collections.abc import Iterator
from typing import Any

Item = dict[str, Any]
Grid = dict[str, Any]
_MOST_FLOWS, _MOST_BESIDE_GROUPS = 8, 4
_MANY_FLOWS = 16
_PERCENTILES = (50, 95, 99)


def grid(name: str, title: str, columns: list[tuple[str, str]], rows: list[list[Any]], note: str = "") -> Grid:
    """Return a table. A column is its heading and its unit: time, size, rate, gbps, times, or nothing."""
    return {"name": name, "title": title, "columns": [list(column) for column in columns], "rows": rows, "note": note}


def results(summary: Item) -> list[Grid]:
    """Return the tables of those kinds of work that there are."""
    found = (_collectives(summary), _traces(summary), _flow_groups(summary), _flows(summary), _replays(summary))
    return [table for table in found if table["rows"]]


def _collectives(summary: Item) -> Grid:
    columns = [
        ("collective", ""), ("ranks", ""), ("size", "size"), ("time", "time"), ("ideal", "time"), ("algbw", "gbps"),
        ("busbw", "gbps"), ("data", ""), ("stall, worst", "time"), ("stall, mean", "time"),
    ]  # fmt: skip
    keys = ("name", "ranks", "size_bytes", "time_ps", "ideal_ps", "algbw_gbps", "busbw_gbps")
    rows = [
        [*(one[key] for key in keys), data_text(one), one["stall_max_ps"], one["stall_mean_ps"]]
        for one in summary["collectives"]
    ]
    return grid("collectives", "Collectives", columns, rows)


def _traces(summary: Item) -> Grid:
    """The columns of a trace: with the fabric, without contention, and with no network at all."""
    columns = [
        ("trace", ""), ("format", ""), ("ranks", ""), ("iterations", ""), ("time", "time"), ("ideal", "time"),
        ("no network", "time"), ("data", ""), ("exposed, worst", "time"), ("stall, worst", "time"),
        ("stall, mean", "time"),
    ]  # fmt: skip
    before = ("name", "format", "ranks", "iterations", "time_ps", "ideal_ps", "critical_path_ps")
    after = ("exposed_max_ps", "stall_max_ps", "stall_mean_ps")
    rows = [
        [*(one[key] for key in before), data_text(one), *(one[key] for key in after)]
        for one in summary.get("traces", ())
    ]
    note = "Exposed: the time in which a rank computed nothing and waited for others." if rows else ""
    return grid("traces", "Traces", columns, rows, note)


def _flow_groups(summary: Item) -> Grid:
    """A row a class of sizes of each work with many flows, and one for all of its sizes."""
    columns = [("flows of", ""), ("size", ""), ("number", ""), ("failed", "")]
    columns += [(f"time p{p}", "time") for p in _PERCENTILES] + [("longest", "time")]
    columns += [(f"slowdown p{p}", "times") for p in _PERCENTILES]
    rows = [
        row for group in summary.get("flow_groups", ()) if group["flows"] > _MANY_FLOWS for row in _group_rows(group)
    ]
    note = "Slowdown: the time that a flow took over the time that it would take alone." if rows else ""
    return grid("flow-groups", "Flows by size", columns, rows, note)


def _group_rows(group: Item) -> Iterator[list[Any]]:
    classes = [(_sizes(row), None, row) for row in group["by_size"]]
    for label, failed, row in [("all", group["failed"], group), *(classes if len(classes) > 1 else ())]:
        times = [row[f"time_p{p}_ps"] for p in _PERCENTILES]
        slowdowns = [row[f"slowdown_p{p}"] for p in _PERCENTILES]
        yield [group["name"], label, row["flows"], failed, *times, row["time_max_ps"], *slowdowns]


def _sizes(row: Item) -> str:
    low, high = row["from_bytes"], row["below_bytes"]
    if not low:
        return f"below {_decimal(high)}"
    return f"{_decimal(low)} and more" if high is None else f"{_decimal(low)} to {_decimal(high)}"


def _decimal(size_bytes: int) -> str:
    return f"{size_bytes // 10**6} MB" if size_bytes >= 10**6 else f"{size_bytes // 10**3} kB"


def _flows(summary: Item) -> Grid:
    columns = [("flow", ""), ("size", "size"), ("time", "time"), ("ideal", "time"), ("goodput", "gbps"), ("data", "")]
    keys = ("size_bytes", "time_ps", "ideal_ps", "goodput_gbps")
    found = sorted(summary["flows"], key=lambda flow: -(flow["time_ps"] or flow["end_ps"]))
    rows = [
        [f"{one['source']} to {one['destination']}", *(one[key] for key in keys), data_text(one)]
        for one in found[: _MOST_BESIDE_GROUPS if len(found) > _MANY_FLOWS else _MOST_FLOWS]
    ]
    count = sum(group["flows"] for group in summary.get("flow_groups", ()))
    of = f"the first {len(found):,} of {count:,}" if count > len(found) else f"{len(found):,}"
    note = f"The {len(rows)} slowest of {of} flows; all are in the table of flows below."
    return grid("slowest-flows", "Flows", columns, rows, note if len(found) > len(rows) else "")


def _replays(summary: Item) -> Grid:
    columns = [("capture", ""), ("packets", ""), ("sent", ""), ("delivered", ""), ("marked", ""), ("out of order", "")]
    columns += [("dropped", ""), ("in the file", "time"), ("here", "time"), ("stretch", "times")]
    columns += [("latency p50", "time"), ("latency p99", "time"), ("latency, most", "time")]
    counts = ("packets", "sent", "delivered", "marked", "out_of_order", "dropped")
    latencies = ("latency_p50_ps", "latency_p99_ps", "latency_max_ps")
    keys = ("file", *counts, "file_span_ps", "delivery_span_ps", "stretch", *latencies)
    replays = summary.get("replays", ())
    rows = [[replay[key] for key in keys] for replay in replays]
    return grid("replays", "Replays of captures", columns, rows, " ".join(_replay_notes(replays)))


def _replay_notes(replays: list[Item]) -> Iterator[str]:
    for replay in replays:
        if replay["left_out_total"]:
            others = ", ".join(f"{number:,} {what}" for what, number in replay["left_out"].items())
            yield f"Not sent of {replay['file']}: {others}."
        if replay["failure"]:
            yield f"{replay['file']}: {replay['failure']}."


def data_text(item: Item) -> str:
    """Return what became of the data, in a word or two."""
    if item["failed"]:
        return "failed"
    return {True: "right", False: "wrong", None: "not asked"}[item["verified"]]
