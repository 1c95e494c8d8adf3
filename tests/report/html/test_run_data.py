"""What the page is made of, without a browser."""

import json
from pathlib import Path

import pytest

from testbed.fabric.build import build_plan
from testbed.report.html.gantt import joined
from testbed.report.html.page import as_script_data, write_report
from testbed.report.html.read import RunFiles
from testbed.report.html.run_data import answer, limits, run_data
from testbed.report.html.sketch import sketch
from testbed.report.html.tracks import events, tracks
from testbed.scenario.model import FabricOptions
from tests.report.html.made_run import made_run, summary_of


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


def test_the_answer_says_time_share_worst_rank_and_what_cost_most(tmp_path: Path) -> None:
    assert answer(summary_of(made_run(tmp_path / "run"))) == (
        "The all-reduce of 4 ranks took 50us, 2.00 times the 25us that it would take alone; h3 stalled longest, 4ns; "
        "what cost most was queue at leaf0-eth1, 100% of all time lost."
    )


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
