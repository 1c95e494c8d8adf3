"""The flows of a work together: percentiles of completion time and slowdown, by size."""

import io
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from testbed.measurement.records import Measurements
from testbed.report.flow_groups import MOST_FLOWS, flow_group_tables, flow_groups_block, percentile
from testbed.report.summary import summary
from testbed.units import MICROSECOND
from tests.report import examples
from traffic.results import FlowResult

IDEAL = 10 * MICROSECOND
RANDOM = {"kind": "flows", "name": "load", "pattern": "random", "sizes": "hadoop", "load": 0.5, "duration": "1ms"}
RING = {"kind": "flows", "pattern": "ring", "size": "1MiB"}


def flow(size: int, slowdown: float, work: int = 0, failure: str | None = None) -> FlowResult:
    time_ps = None if failure else int(IDEAL * slowdown)
    made = examples.flow("h0", "h1", time_ps, failure)
    return replace(made, size_bytes=size, ideal_ps=IDEAL, work=work)


def measured(flows: list[FlowResult], *workload: dict[str, Any], **changes: Any) -> Measurements:
    scenario = examples.scenario(workload=list(workload) or [RANDOM], expect={}, **changes)
    failure = next((each.failure for each in flows if each.failure), None)
    return replace(examples.measurements(scenario), flows=tuple(flows), failure=failure)


@given(st.lists(st.integers(), min_size=1), st.integers(1, 100))
def test_a_percentile_is_the_smallest_that_so_many_do_not_exceed(values: list[int], percent: int) -> None:
    found = percentile(sorted(values), percent)
    assert 100 * sum(value <= found for value in values) >= percent * len(values)
    assert 100 * sum(value < found for value in values) < percent * len(values)


def test_no_flows_no_groups() -> None:
    assert flow_groups_block(examples.clean()) == {}


def test_times_and_slowdowns() -> None:
    """A hundred flows with slowdowns 1 to 100: p50 is 50, p99 is 99."""
    (group,) = flow_groups_block(measured([flow(1000, n) for n in range(1, 101)]))["flow_groups"]
    assert (group["name"], group["pattern"], group["flows"], group["failed"]) == ("load", "random", 100, 0)
    assert [group[f"slowdown_{what}"] for what in ("p50", "p95", "p99", "max", "mean")] == [50, 95, 99, 100, 50.5]
    assert [group[f"time_{what}_ps"] for what in ("p50", "p95", "p99", "max")] == [n * IDEAL for n in (50, 95, 99, 100)]
    assert group["size_bytes"] == 100_000


def test_sizes_at_the_borders() -> None:
    sizes = (1, 9_999, 10_000, 99_999, 10_000_000)
    (group,) = flow_groups_block(measured([flow(size, 2) for size in sizes]))["flow_groups"]
    rows = [(row["from_bytes"], row["below_bytes"], row["flows"]) for row in group["by_size"]]
    assert rows == [(0, 10_000, 2), (10_000, 100_000, 2), (10_000_000, None, 1)]


def test_a_flow_that_failed_has_no_time() -> None:
    (group,) = flow_groups_block(measured([flow(1, 3), flow(1, 1, failure="QP 17 died")]))["flow_groups"]
    assert (group["flows"], group["failed"], group["slowdown_max"], group["slowdown_p50"]) == (2, 1, 3, 3)
    (group,) = flow_groups_block(measured([flow(1, 1, failure="QP 17 died")]))["flow_groups"]
    assert group["time_p50_ps"] is group["slowdown_mean"] is None


def test_each_work_has_its_group() -> None:
    groups = flow_groups_block(measured([flow(1, 2, 0), flow(1, 4, 1), flow(1, 6, 1)], RANDOM, RING))["flow_groups"]
    assert [(group["name"], group["flows"], group["slowdown_max"]) for group in groups] == [
        ("load", 1, 2),
        ("flows (workload.1)", 2, 6),
    ]


def test_the_summary_has_an_entry_each_for_so_many_flows_only() -> None:
    found = summary(measured([flow(1, 2)] * (MOST_FLOWS + 5)))
    assert len(found["flows"]) == MOST_FLOWS
    assert found["flow_groups"][0]["flows"] == MOST_FLOWS + 5


@pytest.mark.parametrize("position", [0, MOST_FLOWS + 4])
def test_a_failure_counts_wherever_it_is(position: int) -> None:
    flows = [flow(1, 2)] * (MOST_FLOWS + 5)
    assert summary(measured(flows))["ok"]
    flows[position] = flow(1, 1, failure="QP 17 died")
    assert not summary(measured(flows))["ok"]


def test_the_table() -> None:
    flows = [flow(1_000, 2)] * 16 + [flow(20_000_000, 12.345)]
    console = Console(file=io.StringIO(), width=120, color_system=None)
    for table in flow_group_tables(flow_groups_block(measured(flows))):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    title, _, _, *rows = [line.split() for line in console.file.getvalue().splitlines()]
    assert " ".join(title) == "load: 17 flows, random; completion time and slowdown (time / ideal)"
    assert rows == [
        ["below", "10kB", "16", "20.000", "20.000", "20.000", "2.00", "2.00", "2.00"],
        ["10MB", "and", "more", "1", "123.450", "123.450", "123.450", "12.35", "12.35", "12.35"],
        ["all", "17", "20.000", "123.450", "123.450", "2.00", "12.35", "12.35"],
    ]


def test_few_flows_need_no_table() -> None:
    assert [*flow_group_tables(flow_groups_block(measured([flow(1, 2)] * 16)))] == []
