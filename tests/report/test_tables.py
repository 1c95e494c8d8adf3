"""Parquet tables: round trip, units, and only those that have rows."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from testbed.report.tables import TABLES, write_tables
from tests.report import examples, lossless_examples
from tests.traffic.trace_replay.kit import replayed
from tests.traffic.traces.make_traces import TRACES


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def test_drops_round_trip(tmp_path: Path) -> None:
    measured = examples.large()
    write_tables(tmp_path, measured)
    rows = read(tmp_path / "drops.parquet")
    assert len(rows) == 1001
    assert rows[0] == {
        "time_ps": 1_000_000, "where": "leaf0-eth1", "reason": "shared_full", "kind": "data",
        "source": "h3", "destination": "h4", "qp": 17, "psn": 7,
    }  # fmt: skip
    assert [rows[-1][name] for name in ("where", "source", "qp", "psn")] == ["leaf0", None, None, None]
    assert [row["time_ps"] for row in rows] == [drop.time_ps for drop in measured.drops]


def test_steps_and_waits_of_each_rank(tmp_path: Path) -> None:
    measured = examples.lossy()
    write_tables(tmp_path, measured)
    steps, waits = read(tmp_path / "steps.parquet"), read(tmp_path / "waits.parquet")
    assert len(steps) == 16 * 30
    assert steps[0] == {
        "collective": 0, "rank": "h0", "iteration": 0, "step": 0, "phase": "reduce-scatter",
        "send_ps": 0, "receive_ps": None, "wait_ps": 0,
    }  # fmt: skip
    assert {row["phase"] for row in steps} == {"reduce-scatter", "all-gather"}
    stalls = measured.collectives[0].stall_ps_by_rank
    assert {row["rank"]: row["end_ps"] - row["start_ps"] for row in waits} == stalls


def test_waits_and_messages_of_a_trace(tmp_path: Path) -> None:
    """What a rank of a trace computed, and for how long it only waited, add up to what its result says."""
    result = replayed(TRACES / "data-parallel", 4)
    write_tables(tmp_path, replace(examples.clean(), traces=(result,)))
    waits, messages = read(tmp_path / "waits.parquet"), read(tmp_path / "messages.parquet")
    of_trace = [row for row in waits if row["trace"] == 0]
    assert len(of_trace) == len(result.waits) > 0
    assert all((row["collective"] is None) == (row["trace"] == 0) for row in waits)
    for rank in result.ranks:
        spans = [(row["what"] == "compute", row["end_ps"] - row["start_ps"]) for row in of_trace if row["rank"] == rank]
        assert sum(length for computed, length in spans if computed) == result.compute_ps_by_rank[rank]
        assert sum(length for computed, length in spans if not computed) == result.exposed_ps_by_rank[rank]
    assert {(row["collective"], row["flow"], row["trace"]) for row in messages} == {(None, None, 0)}


def test_flows_and_ports(tmp_path: Path) -> None:
    measured = examples.failed()
    write_tables(tmp_path, measured)
    flows, ports = read(tmp_path / "flows.parquet"), read(tmp_path / "ports.parquet")
    assert [flow["failure"] is None for flow in flows] == [True] * 28 + [False]
    assert [(f["flow"], f["time_ps"], f["goodput_gbps"], f["verified"]) for f in flows[-1:]] == [(28, None, None, None)]
    assert [port["port"] for port in ports] == [port.name for port in measured.plan.ports()]
    assert (ports[0]["rate_bps"], ports[0]["peer"], ports[0]["dropped_frames"]) == (100 * 10**9, "leaf0", 0)


def test_queues_pauses_and_rates(tmp_path: Path) -> None:
    measured = lossless_examples.marked()
    write_tables(tmp_path, measured)
    queues, pauses, rates = (read(tmp_path / f"{name}.parquet") for name in ("queues", "pauses", "rates"))
    busy = next(row for row in queues if row["port"] == "leaf0-eth1" and row["priority"] == 3)
    assert (busy["switch"], busy["peak_bytes"], busy["ecn_marked_packets"]) == ("leaf0", 421 * 1024, 1940)
    assert (busy["headroom_limit_bytes"], busy["group_dropped_frames"]) == (31_236, 0)
    assert measured.pauses is not None
    assert len(pauses) == len(measured.pauses.pauses) == 40
    assert pauses[0] == {
        "start_ps": 5_000_000, "end_ps": 5_001_000, "sender": "leaf0-eth5", "paused": "spine0-eth1", "priority": 3,
        "refreshes": 0, "root": "leaf0-eth1", "depth": 0,
    }  # fmt: skip
    assert [(row["time_ps"], row["what"], row["value"]) for row in rates] == [(7, "rate_bps", 5e9), (7, "alpha", 0.5)]


def test_queues_that_nothing_came_to_are_left_out(tmp_path: Path) -> None:
    write_tables(tmp_path, lossless_examples.marked())
    assert {row["priority"] for row in read(tmp_path / "queues.parquet")} == {3}


def test_a_table_without_rows_is_not_written(tmp_path: Path) -> None:
    paths = write_tables(tmp_path, examples.clean())
    assert [path.name for path in paths] == ["ports.parquet", "steps.parquet", "waits.parquet"]
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_files_say_which_run_they_are_of_and_columns_what_they_are(tmp_path: Path) -> None:
    write_tables(tmp_path, examples.large())
    schema = parquet.read_schema(tmp_path / "drops.parquet")
    assert schema.metadata[b"title"] == examples.RING_16["title"].encode()  # type: ignore[attr-defined]  # a text there
    assert schema.metadata[b"seed"] == b"7"
    assert all(schema.field(name).metadata[b"description"] for name in schema.names)
    assert parquet.ParquetFile(tmp_path / "drops.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


def test_numbers_have_their_unit_in_the_name() -> None:
    counted = {
        "sent_frames",
        "dropped_frames",
        "data_packets",
        "collective",
        "flow",
        "trace",
        "iteration",
        "step",
        "piece",
        "qp",
        "psn",
        "priority",
        "out_packets",
        "ecn_marked_packets",
        "queue_dropped_frames",
        "group_dropped_frames",
        "refreshes",
        "depth",
        "queue_pair",
        "first_sequence",
        "end_sequence",
        "value",
    }
    numbers = {c.name for columns, _ in TABLES.values() for c in columns if c.kind in ("integer", "number")}
    assert all(name.endswith(("_ps", "_bytes", "_bps", "_gbps")) for name in numbers - counted)


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_tables(tmp_path / name, examples.lossy())
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in files)


@pytest.mark.parametrize("module", ["testbed.report.tables", "testbed.report.summary", "testbed.report.text"])
def test_a_run_does_not_wait_for_pyarrow(module: str) -> None:
    check = f"import sys, {module}; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True, cwd=Path(__file__).parents[2])
