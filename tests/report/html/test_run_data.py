"""What the page is made of, without a browser."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from testbed.fabric.build import build_plan
from testbed.measurement.causes.model import LOST_PACKET, Cause, Explanation, Packet, Stall, StallPart
from testbed.report.html.causes import causes
from testbed.report.html.gantt import MOST_BARS, gantt, joined
from testbed.report.html.grids import grids
from testbed.report.html.page import as_script_data, write_report
from testbed.report.html.read import RunFiles
from testbed.report.html.results import results
from testbed.report.html.run_data import limits, run_data
from testbed.report.html.sketch import sketch
from testbed.report.html.tracks import events, tracks
from testbed.report.story import story, write_story
from testbed.report.tables import write_tables
from testbed.scenario.model import FabricOptions
from tests.report.examples import clean
from tests.report.html.made_run import (
    INTERVAL_PS,
    made_flows_run,
    made_packet_run,
    made_run,
    made_trace_run,
    summary_of,
)


def test_a_track_goes_from_its_first_value_to_its_last() -> None:
    series = {
        "object": ["a", "a", "b"],
        "priority": [None, None, 3],
        "what": ["sent_bytes", "sent_bytes", "queue_bytes"],
        "time_ps": [20, 50, 0],
        "value": [7, 9, 1],
    }
    assert tracks(series, 10) == [
        {"object": "a", "priority": None, "what": "sent_bytes", "first": 2, "values": [7, 0, 0, 9]},
        {"object": "b", "priority": 3, "what": "queue_bytes", "first": 0, "values": [1]},
    ]


def test_rare_events_are_kept_when_common_ones_are_thinned() -> None:
    table = {
        "time_ps": list(range(101)),
        "kind": ["mark"] * 100 + ["drop"],
        "where": ["p"] * 101,
        "detail": [""] * 101,
    }
    found = events(table, most=40)
    assert [row[1] for row in found["rows"]].count("drop") == 1
    assert len(found["rows"]) == 11
    assert found["left_out"] == 90


def test_bars_nearer_than_can_be_seen_are_joined() -> None:
    assert joined([(50, 60), (0, 10), (11, 20), (5, 8)], gap=1) == [(0, 20), (50, 60)]


def test_the_gantt_of_a_trace_is_that_of_its_waits(tmp_path: Path) -> None:
    run = made_trace_run(tmp_path / "run")
    found = gantt(RunFiles(run, summary_of(run)))
    assert found["ranks"] == ["h0", "h1", "h2", "h3"]
    assert found["stalls_ps"] == [1000, 2000, 3000, 4000]
    assert found["compute"] == [[n, 0, n * INTERVAL_PS] for n in range(4)]
    assert found["wait"] == [[n, n * INTERVAL_PS, 50 * INTERVAL_PS] for n in range(4)]


def test_of_very_many_bars_the_nearest_are_joined(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", leaves=8, hosts_per_leaf=8)
    ranks, step = 64, 20_000
    times = [start for start in range(0, 50 * INTERVAL_PS, step) for _ in range(ranks)]
    rows = {"rank": [f"h{n % ranks}" for n in range(len(times))], "what": ["data"] * len(times)}
    columns = {**rows, "start_ps": times, "end_ps": [time + step - 16_700 for time in times]}
    assert len(times) > MOST_BARS
    parquet.write_table(pyarrow.table(columns), run / "waits.parquet")
    found = gantt(RunFiles(run, summary_of(run)))
    assert 0 < sum(len(found[kind]) for kind in ("compute", "wait", "send")) <= MOST_BARS


def test_of_more_ranks_than_bars_each_has_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    monkeypatch.setattr("testbed.report.html.gantt.MOST_BARS", 3)
    found = gantt(RunFiles(run, summary_of(run)))
    assert {kind: [rank for rank, *_ in found[kind]] for kind in ("compute", "wait", "send")} == {
        "compute": [0, 1, 2, 3],
        "wait": [0, 1, 2, 3],
        "send": [0, 1, 2, 3],
    }


def test_why_there_is_no_gantt_of_packets(tmp_path: Path) -> None:
    run = made_packet_run(tmp_path / "run")
    assert "nobody waits for them" in gantt(RunFiles(run, summary_of(run)))["lacking"]


@pytest.mark.parametrize(
    ("make", "names", "rows"),
    [
        (made_run, ["collectives"], [1]),
        (made_trace_run, ["traces"], [1]),
        (made_flows_run, ["flow-groups", "slowest-flows"], [3, 4]),
        (made_packet_run, ["replays"], [1]),
    ],
)
def test_each_kind_of_work_has_a_table_of_results(
    make: Callable[[Path], Path], names: list[str], rows: list[int], tmp_path: Path
) -> None:
    run = make(tmp_path / "run")
    found = results(summary_of(run))
    assert [table["name"] for table in found] == names
    assert [len(table["rows"]) for table in found] == rows
    assert all(len(row) == len(table["columns"]) for table in found for row in table["rows"])


def test_ranks_of_traces_have_their_computing_and_waiting(tmp_path: Path) -> None:
    run = made_trace_run(tmp_path / "run")
    tables = {table["name"]: table for table in grids(RunFiles(run, summary_of(run)))}
    assert [name for name, _ in tables["ranks"]["columns"]] == ["rank", "job", "computed", "waited for others", "stall"]
    assert tables["ranks"]["rows"][3] == ["h3", "trace (workload.0)", 9000, 28_000, 4000]
    assert tables["trace-collectives"]["rows"][0][:4] == ["trace (workload.0)", "all-reduce", "ring", "all"]


def test_flows_of_a_capture_say_how_many_there_are(tmp_path: Path) -> None:
    run = made_packet_run(tmp_path / "run")
    table = next(table for table in grids(RunFiles(run, summary_of(run))) if table["name"] == "replay-flows")
    assert table["rows"] == [["captures/a.pcap", "h0", "h1", 17, 60, 57, 5, 0, 2, 3]]
    assert table["note"] == "The first 1 of 2."


def test_causes_have_their_time(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    found = causes(RunFiles(run, summary_of(run)))
    assert found["by_rank"]["h2"] == {"queue": [3000, 10 * INTERVAL_PS]}
    assert [chapter["spans"] for chapter in found["chapters"]] == [[(10 * INTERVAL_PS, 12 * INTERVAL_PS)]]


def test_each_chapter_has_its_own_time(tmp_path: Path) -> None:
    """Packets lost at one port for two reasons are two chapters of one kind and origin."""

    def part(cause: int) -> StallPart:
        return StallPart(cause, 100, 1000 * cause, 1000 * cause + 100)

    lost = [Packet("h0", "h1", 17, n, 0, 900, "nak", 500, "s0-eth1", why) for n, why in enumerate(("fault", "full"))]
    its_causes = tuple(Cause(LOST_PACKET, "s0-eth1", f"PSN {packet.psn}", packet=packet) for packet in lost)
    explanation = Explanation(its_causes, (Stall(0, None, "h1", 200, (part(0), part(1))),), {})
    write_tables(tmp_path, replace(clean(), explanation=explanation))
    write_story(tmp_path, told := story(explanation))
    found = causes(RunFiles(tmp_path, {"duration_ps": 10_000, "collectives": [], "flows": []}))
    assert [chapter["reason"] for chapter in told["chapters"]] == ["fault", "full"]
    assert [chapter["spans"] for chapter in found["chapters"]] == [[(0, 100)], [(1000, 1100)]]


def test_a_flow_of_which_the_summary_has_no_entry_has_causes_all_the_same(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    row = {"flow": [1], "rank": ["h0"], "cause": ["queue"], "origin": ["leaf0-eth1"], "reason": [None]}
    row["duration_ps"] = [7]
    parquet.write_table(pyarrow.table({**row, "first_ps": [1], "last_ps": [9]}), run / "causes.parquet")
    parquet.write_table(pyarrow.table({"source": ["h1", "h3"]}), run / "flows.parquet")
    assert causes(RunFiles(run, summary_of(run)))["by_rank"] == {"h3 to h0": {"queue": [7, 1]}}


def test_a_page_that_cannot_be_finished_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the disk is full, or the process is killed, before the new page has its place."""
    run = made_run(tmp_path / "run")
    path = write_report(run, summary_of(run))
    before = path.read_bytes()

    def full(*_paths: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(run, {**summary_of(run), "title": "Another"})
    assert path.read_bytes() == before
    assert [file.name for file in run.iterdir() if file.suffix == ".tmp"] == []


def test_a_page_that_cannot_be_written_names_its_place(tmp_path: Path) -> None:
    """Not that of the file that would have taken it."""
    run = made_run(tmp_path / "run")
    (tmp_path / "file").touch()
    for place in (tmp_path / "nowhere" / "page.html", tmp_path / "file" / "page.html"):
        with pytest.raises(OSError, match=r"/page\.html'$") as raised:
            write_report(run, summary_of(run), place)
        assert raised.value.filename == str(place)
        assert ".tmp" not in str(raised.value)


@pytest.mark.parametrize("why", [errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY])
def test_a_file_whose_folder_takes_no_other_is_written_all_the_same(
    why: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, page = made_run(tmp_path / "run"), tmp_path / "page.html"
    page.write_text("the old one")

    def refuse(*_paths: object) -> None:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr("os.replace", refuse)
    write_report(run, summary_of(run), page)
    assert page.read_text().startswith("<!doctype html>")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page.html", "run"]


def test_a_page_can_go_to_what_is_no_file_of_its_own(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    write_report(run, summary_of(run), tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    write_report(run, summary_of(run), Path(os.devnull))


def test_xoff_is_where_one_ingress_alone_reaches_its_threshold() -> None:
    fabric = {
        "topology": {"kind": "single-switch", "hosts": 2},
        "switch": {"buffer": "9MiB"},
        "qos": {"pfc": {}, "ingress_alpha": 0.125},
    }
    (xoff,) = limits(fabric)
    assert xoff["bytes"] == 2**20  # q = alpha (B - q): q = B / 9
    assert xoff["priority"] == 3


def test_the_sketch_has_every_node_and_link() -> None:
    fabric = {"topology": {"kind": "fat-tree", "k": 4}}
    plan, drawn = build_plan(FabricOptions.model_validate(fabric)), sketch(fabric)
    assert {name for name, _, _ in drawn["nodes"]} == {n.name for n in (*plan.hosts, *plan.switches)}
    assert len(drawn["links"]) == len(plan.links)
    places = {(row, x) for _, row, x in drawn["nodes"]}
    assert len(places) == len(drawn["nodes"])
    assert all(0 <= x <= 1 for _, x in places)


def test_data_cannot_leave_its_script() -> None:
    text = as_script_data({"title": "</script><script>alert(1)</script><!--\u2028"})
    assert "<" not in text
    assert json.loads(text)["title"] == "</script><script>alert(1)</script><!--\u2028"


def test_equal_runs_give_equal_bytes_whatever_the_wall_clock_said(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    summary = summary_of(run)
    first = write_report(run, summary, tmp_path / "a.html").read_bytes()
    second = write_report(run, {**summary, "wall": {"seconds": 99}}, tmp_path / "b.html").read_bytes()
    assert first == second


@pytest.mark.parametrize("name", ["series", "events", "waits", "messages", "ports", "causes"])
def test_every_table_may_be_missing(name: str, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    (run / f"{name}.parquet").unlink()
    assert run_data(RunFiles(run, summary_of(run)))["title"] == "A run"
