"""The flows of each work together: completion times and slowdowns by size, as papers on congestion control have them.

A flow's slowdown is its completion time over the one it would have alone. Percentiles are values that occurred: the
p-th is the smallest that at least p per cent do not exceed (nearest rank). Flows that failed have neither.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from testbed.measurement.records import Measurements
from testbed.report.style import HEADING, count, microseconds, plain_table
from testbed.scenario.model import Flows
from traffic.results import FlowResult

MOST_FLOWS = 1000
"""So many flows have an entry each in summary.json; flows.parquet has all."""

_WORTH_A_TABLE = 16
"""Of a work with no more flows, the table of flows says it all."""

_BORDERS = (0, 10_000, 100_000, 1_000_000, 10_000_000, None)
_PERCENTILES = (50, 95, 99)
_DECIMALS = 3


def flow_groups_block(measurements: Measurements) -> dict[str, Any]:
    """Return the block ``flow_groups`` of summary.json; nothing where the workload has no flows."""
    groups = [
        _group(work, index, [flow for flow in measurements.flows if flow.work == index])
        for index, work in enumerate(measurements.scenario.workload)
        if isinstance(work, Flows)
    ]
    return {"flow_groups": groups} if groups else {}


def _group(work: Flows, index: int, flows: Sequence[FlowResult]) -> dict[str, Any]:
    sizes = [
        {"from_bytes": low, "below_bytes": high, **_statistics(inside)}
        for low, high in pairwise(_BORDERS)
        if low is not None and (inside := [flow for flow in flows if low <= flow.size_bytes < (high or float("inf"))])
    ]
    return {
        "name": work.name or f"flows (workload.{index})",
        "pattern": work.pattern,
        "size_bytes": sum(flow.size_bytes for flow in flows),
        "failed": sum(flow.failure is not None for flow in flows),
        "wrong_bytes": sum(flow.wrong_bytes for flow in flows),
        "start_ps": min((flow.start_ps for flow in flows), default=None),
        "end_ps": max((flow.end_ps for flow in flows), default=None),
        **_statistics(flows),
        "by_size": sizes,
    }


def _statistics(flows: Sequence[FlowResult]) -> dict[str, Any]:
    """Return how many `flows` there are, and of those that were finished percentiles of time and slowdown."""
    finished = [(flow.time_ps, flow.time_ps / flow.ideal_ps) for flow in flows if flow.time_ps is not None]
    times, slowdowns = sorted(time for time, _ in finished), sorted(slowdown for _, slowdown in finished)
    return {
        "flows": len(flows),
        **{f"time_p{p}_ps": percentile(times, p) for p in _PERCENTILES},
        "time_max_ps": times[-1] if times else None,
        "slowdown_mean": round(sum(slowdowns) / len(slowdowns), _DECIMALS) if slowdowns else None,
        **{f"slowdown_p{p}": _rounded(percentile(slowdowns, p)) for p in _PERCENTILES},
        "slowdown_max": _rounded(slowdowns[-1]) if slowdowns else None,
    }


def percentile(ordered: Sequence[Any], percent: int) -> Any:
    """Return the smallest of the `ordered` values that at least `percent` of them do not exceed; None of nothing."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


# --- in the report ---------------------------------------------------------------------------------------------------


def flow_group_tables(result: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield a table for each work with many flows: time and slowdown by size."""
    for group in result.get("flow_groups", ()):
        if group["flows"] > _WORTH_A_TABLE:
            failed = f", {group['failed']:,} failed" if group["failed"] else ""
            title = f"{group['name']}: {count(group['flows'], 'flow')}, {group['pattern']}{failed}"
            yield Group(Text(f"{title}; completion time and slowdown (time / ideal)", HEADING), _table(group))


def _table(group: dict[str, Any]) -> RenderableType:
    table = plain_table()
    heads = [f"{what} p{p}\n{unit}" for what, unit in (("time", "(us)"), ("slowdown", "")) for p in _PERCENTILES]
    for head in ("size\n", "flows\n", *heads):
        table.add_column(Text(head), justify="right", no_wrap=True)
    rows = [(_sizes(row), row) for row in group["by_size"]]
    for label, row in [*rows, *([("all", group)] if len(rows) > 1 else [])]:
        times = [Text(microseconds(row[f"time_p{p}_ps"])) for p in _PERCENTILES]
        slowdowns = [Text(_factor(row[f"slowdown_p{p}"])) for p in _PERCENTILES]
        table.add_row(Text(label), Text(f"{row['flows']:,}"), *times, *slowdowns)
    return table


def _sizes(row: dict[str, Any]) -> str:
    low, high = row["from_bytes"], row["below_bytes"]
    if high is None:
        return f"{_decimal(low)} and more"
    return f"below {_decimal(high)}"


def _decimal(size_bytes: int) -> str:
    """Return a border, a power of ten, as text."""
    return f"{size_bytes // 10**6}MB" if size_bytes >= 10**6 else f"{size_bytes // 10**3}kB"


def _factor(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"
