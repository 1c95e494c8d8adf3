"""The table of ``rocelab bench``: golden tables narrow and wide, the columns' meaning, and the busbw factors."""

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.measurement.records import Invariant
from testbed.report.bench import BenchRow, as_json, bench_row, foot, head, line, problems
from testbed.scenario.collectives import Collective
from testbed.scenario.placement import ranks_of
from tests.conftest import GoldenCheck
from tests.report.examples import collective, drop, measurements, scenario

RANKS = tuple(f"h{number}" for number in range(16))
DONE = collective(RANKS, [1000] * 16)


def row(**changes: object) -> BenchRow:
    return replace(bench_row(measurements(scenario(), (DONE,)), 0), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
def test_the_table(wide: bool, golden: GoldenCheck) -> None:
    of = scenario(workload=[{"kind": "all-reduce", "size": "4MiB", "ranks": ["h0", "h3"]}])
    work = of.workload[0]
    assert isinstance(work, Collective)
    plan = measurements(of).plan
    rows = [
        row(),
        row(size_bytes=2**30, count=2**28, time_ps=123_456_789_012, dropped_frames=12_345, retransmitted_packets=99),
        row(time_ps=None, share_of_ideal=None, algbw_gbps=None, busbw_gbps=None, wrong_elements=None, problems=("x",)),
        row(wrong_elements=3, problems=("delivery: 3 wrong",)),
    ]
    text = [
        *head(of, ranks_of(work.ranks, plan, 1), work, [2**20, 2**30], wide=wide, context="beside 1 other work"),
        *(line(each, wide=wide) for each in rows),
        *foot(rows),
    ]
    golden(Path(__file__).parent / f"bench-{'wide' if wide else 'narrow'}.txt", "\n".join(text) + "\n")


def test_every_number_of_the_table_is_in_the_json() -> None:
    found = as_json(row())
    assert (found["size_bytes"], found["count"], found["time_ps"], found["ideal_ps"]) == (
        4 * 2**20, 2**20, 745_123_456, 744_001_000,
    )  # fmt: skip
    assert found["share_of_ideal"] == pytest.approx(744_001_000 / 745_123_456, abs=0.0005)
    assert (found["wrong_elements"], found["ok"], found["problems"]) == (0, True, [])


@pytest.mark.parametrize("n", [2, 3, 16])
def test_busbw_over_algbw_in_gigabytes_is_the_factor_of_nccl_tests(n: int) -> None:
    """All-reduce: algbw = size / time, busbw = algbw * 2 (n - 1) / n; 1 GB/s is 8 Gb/s."""
    ranks = RANKS[:n]
    found = line(bench_row(measurements(scenario(), (collective(ranks, [0] * n, 1_000_000_000),)), 0), wide=False)
    size, *_, time_us, algbw, busbw, wrong = found.split()
    assert (size, float(time_us), wrong) == ("4194304", 1000.0, "0")
    assert float(algbw) == pytest.approx(4194304 / 1e-3 / 1e9, abs=0.005)
    assert float(busbw) == pytest.approx(4194304 / 1e-3 / 1e9 * 2 * (n - 1) / n, abs=0.005)


@pytest.mark.parametrize(
    ("kind", "options", "count", "root"),
    [
        ("all-reduce", {}, 2**20, -1),
        ("reduce-scatter", {}, 2**16, -1),
        ("all-gather", {}, 2**16, -1),
        ("all-to-all", {}, 2**16, -1),
        ("send-recv", {}, 2**20, -1),
        ("broadcast", {}, 2**20, 0),
        ("broadcast", {"root": "h5"}, 2**20, 5),
    ],
)
def test_count_is_what_a_rank_passes_to_the_call(kind: str, options: dict[str, str], count: int, root: int) -> None:
    of = scenario(workload=[{"kind": kind, "size": "4MiB", **options}])
    found = bench_row(measurements(of, (replace(DONE, kind=kind),)), 0)
    assert (found.count, found.root) == (count, root)


def test_drops_and_what_went_wrong_are_told() -> None:
    broken = Invariant("delivery", False, "3 elements are wrong")
    measured = measurements(
        scenario(), (DONE,), drops=(drop(1, "leaf0-eth1", "fault"),), invariants=(broken,), failure="QP 17 gave up"
    )
    found = bench_row(measured, 0)
    assert found.dropped_frames == 1
    assert list(problems([row(), found])) == [
        "4MiB: the workload failed: QP 17 gave up",
        "4MiB: delivery: 3 elements are wrong",
    ]
    assert foot([row(), found])[0] == "# Out of bounds values : 0 FAILED"


def test_the_average_is_that_of_the_rows_that_have_a_bandwidth() -> None:
    rows = [row(busbw_gbps=80.0), row(busbw_gbps=160.0), row(busbw_gbps=None)]
    assert foot(rows)[1] == "# Avg bus bandwidth    : 15"
    assert foot(rows[2:])[1] == "# Avg bus bandwidth    : N/A"
