"""``rocelab explain`` on finished runs: golden stories, one rank's, JSON, and what it says of a wrong directory."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from testbed.cli.explain import explain
from testbed.errors import ScenarioError
from testbed.measurement.causes.model import KINDS, Explanation
from testbed.report.story import story, write_story
from testbed.report.summary import summary, write_summary
from tests.conftest import GoldenCheck
from tests.measurement.causes.kit import Explained, flow, flows, star
from tests.report import examples

GOLDEN = Path(__file__).parent / "explain"

LOST: dict[str, Any] = {
    "fabric": star(4),
    "transport": {"timeout": 14, "qps_per_connection": 4},
    "workload": [{"kind": "all-reduce", "size": "1MiB"}],
    "faults": [{"kind": "drop", "port": "h0-eth0", "frames": "data", "nth": 64}],
}
STORM: dict[str, Any] = {
    "fabric": star(3, qos={"pfc": {}}),
    "workload": flows(flow("h0", "h1", "256KiB"), flow("h2", "h1", "256KiB")),
    "faults": [{"kind": "pause-storm", "port": "h1-eth0", "at": "5us", "until": "1ms"}],
}
ALONE: dict[str, Any] = {"fabric": star(2), "workload": flows(flow("h0", "h1", "64KiB"))}


@pytest.fixture(scope="module")
def explained() -> dict[str, Explanation]:
    return {name: Explained(**of).explanation for name, of in (("lost", LOST), ("storm", STORM), ("alone", ALONE))}


def finished(folder: Path, of: Explanation | None, **measure: object) -> Path:
    folder.mkdir(exist_ok=True)
    found = examples.ALL["clean"]()
    write_summary(folder, {**(told := summary(found)), "scenario": {**told["scenario"], "measure": measure}})
    if of is not None:
        write_story(folder, story(of))
    return folder


def invoke(*arguments: str | Path, columns: int = 100) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(explain, [str(each) for each in arguments])


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", ["lost", "storm", "alone"])
def test_the_story(
    name: str, columns: int, tmp_path: Path, explained: dict[str, Explanation], golden: GoldenCheck
) -> None:
    run = finished(tmp_path, explained[name])
    golden(GOLDEN / f"{name}-{columns}.txt", invoke(run, columns=columns).output)


@pytest.mark.parametrize(("name", "rank"), [("lost", "h3"), ("storm", "h1")])
def test_one_rank(name: str, rank: str, tmp_path: Path, explained: dict[str, Explanation], golden: GoldenCheck) -> None:
    run = finished(tmp_path, explained[name])
    golden(GOLDEN / f"{name}-{rank}.txt", invoke(run, "--rank", rank).output)


def test_json_is_the_file_and_nothing_else(tmp_path: Path, explained: dict[str, Explanation]) -> None:
    run = finished(tmp_path, explained["lost"])
    told = json.loads(invoke(run, "--json").output)
    assert told == json.loads((run / "explanation.json").read_text("utf-8"))
    of_rank = json.loads(invoke(run, "--json", "--rank", "h2").output)
    assert [stall["rank"] for stall in of_rank["stalls"]] == ["h2"]


def test_the_file_adds_up(tmp_path: Path, explained: dict[str, Explanation]) -> None:
    told = json.loads((finished(tmp_path, explained["lost"]) / "explanation.json").read_text("utf-8"))
    for stall in told["stalls"]:
        assert sum(part["duration_ps"] for part in stall["parts"]) + stall["more_ps"] == stall["stall_ps"]
    assert sum(stall["stall_ps"] for stall in told["stalls"]) == told["gpu_time_lost_ps"]
    assert sum(chapter["ranks_ps"] for chapter in told["chapters"]) == told["gpu_time_lost_ps"]
    assert sum(cost["ranks_ps"] for cost in told["by_cause"].values()) == told["gpu_time_lost_ps"]
    assert told["most"]["title"] == told["chapters"][0]["title"]
    assert set(told["by_cause"]) <= set(KINDS)


def test_an_unknown_rank(tmp_path: Path, explained: dict[str, Explanation]) -> None:
    run = finished(tmp_path, explained["lost"])
    found = invoke(run, "--rank", "h33").exception
    assert isinstance(found, ScenarioError)
    assert str(found) == (
        "--rank h33: expected a rank of the run, or a host that flows go to, found none of that name; did you mean h3?"
    )


@pytest.mark.parametrize(
    ("measure", "why"),
    [
        ({"causes": False}, "its scenario has 'measure: {causes: false}'; run it again with --set measure.causes=true"),
        ({}, "another version of rocelab ran it; run it again"),
    ],
)
def test_a_run_without_causes(measure: dict[str, object], why: str, tmp_path: Path) -> None:
    run = finished(tmp_path, None, **measure)
    found = invoke(run).exception
    assert isinstance(found, ScenarioError)
    assert str(found) == f"{run}: expected a run with its causes, found no explanation.json in it: {why}"


def test_a_broken_explanation(tmp_path: Path) -> None:
    run = finished(tmp_path, None)
    (run / "explanation.json").write_text("[1, 2")
    found = invoke(run).exception
    assert isinstance(found, ScenarioError)
    assert "expected what a run of this version writes there, found another file" in str(found)


def test_no_run(tmp_path: Path) -> None:
    found = invoke(tmp_path / "nothing").exception
    assert isinstance(found, ScenarioError)
    assert "expected the directory of a finished run" in str(found)


def test_every_cause_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "explain.md").read_text("utf-8")
    assert [kind for kind in KINDS if f"| `{kind}` |" not in manual] == []
