"""``rocelab compare``: tables side by side as golden files, what differs, and scenarios that are run for it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from testbed.cli.compare import compare
from testbed.errors import ScenarioError
from testbed.report.compare import QUANTITIES, Compared, as_json
from testbed.report.summary import Summary, summary, write_summary
from tests.conftest import GoldenCheck
from tests.report import examples, lossless_examples

GOLDEN = Path(__file__).parent / "compare"
EXAMPLES = {**examples.ALL, **lossless_examples.ALL}
POLICIES = ("none", "static", "adaptive-ecn", "pfc-guard", "openflow-ecn", "openflow-pause", "reroute")


def finished(folder: Path, result: Summary) -> Path:
    folder.mkdir(parents=True)
    write_summary(folder, result)
    return folder


def runs(tmp_path: Path, *names: str) -> list[Path]:
    return [finished(tmp_path / name, summary(EXAMPLES[name]())) for name in names]


def invoke(*arguments: str | Path, columns: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(compare, [str(each) for each in arguments])


def under_policies(tmp_path: Path) -> list[Path]:
    """Seven runs of one incast, each with other marks and pauses."""
    found = []
    for number, policy in enumerate(POLICIES):
        run = lossless_examples.marked()
        (flow,) = run.flows
        slower = replace(flow, end_ps=flow.end_ps + number * 17_000_000, time_ps=flow.end_ps + number * 17_000_000)
        result = summary(replace(run, flows=(slower,), retransmitted_packets=number % 3))
        result["totals"]["pauses"] = 40 // (number + 1)
        result["totals"]["ecn_marked_packets"] = 1940 * number
        found.append(finished(tmp_path / f"12-incast-{policy}", result))
    return found


@pytest.mark.parametrize("columns", [80, 120])
def test_three_runs(columns: int, tmp_path: Path, golden: GoldenCheck) -> None:
    result = invoke(*runs(tmp_path, "clean", "lossy", "failed"), columns=columns)
    assert result.exit_code == 1  # one failed
    golden(GOLDEN / f"three-{columns}.txt", result.output)


@pytest.mark.parametrize("columns", [80, 120])
def test_seven_policies_are_a_row_each(columns: int, tmp_path: Path, golden: GoldenCheck) -> None:
    result = invoke(*under_policies(tmp_path), columns=columns)
    assert result.exit_code == 0
    assert max(len(line) for line in result.output.splitlines()) <= columns
    golden(GOLDEN / f"policies-{columns}.txt", result.output)


def test_links_of_three_kinds(tmp_path: Path, golden: GoldenCheck) -> None:
    golden(GOLDEN / "links-80.txt", invoke(*runs(tmp_path, "large", "marked", "credited")).output)


def test_one_run_has_no_differences(tmp_path: Path) -> None:
    output = invoke(*runs(tmp_path, "marked")).output
    assert "%" not in output
    assert "40" in output


def test_equal_runs_have_no_differences(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, "marked")
    output = invoke(run, run / "summary.json").output
    assert "%" not in output
    assert "new" not in output


def value(name: str, key: str) -> object:
    return as_json([Compared(name, summary(EXAMPLES[name]()))])[0][key]


def test_completion_is_the_last_flow_s_or_the_longest_collective_s_or_none() -> None:
    assert value("clean", "completion_time_ps") == 745_123_456
    assert value("marked", "completion_time_ps") == 350_000_000
    assert value("failed", "completion_time_ps") is None
    assert value("deadlock", "completion_time_ps") is None


def test_json_has_every_quantity_with_its_unit(tmp_path: Path) -> None:
    found = json.loads(invoke(*runs(tmp_path, "clean", "storm"), "--json").output)
    assert [run["run"] for run in found] == ["clean", "storm"]
    assert all({quantity.key for quantity in QUANTITIES} <= run.keys() for run in found)
    assert (found[1]["dropped_frames"], found[1]["watchdog_storms"], found[0]["pauses"]) == (3, 2, 0)


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    one = finished(tmp_path / "a" / "run", summary(examples.clean()))
    two = finished(tmp_path / "b" / "run", summary(examples.lossy()))
    assert [run["run"] for run in json.loads(invoke(one, two, "--json").output)] == [str(one), str(two)]


def test_all_wrong_arguments_are_told_at_once_and_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong.yaml").write_text("title: Nothing else\n")
    error = invoke("empty", "wrong.yaml", "absent.yaml", "nothere").exception
    assert isinstance(error, ScenarioError)
    told = str(error)
    assert "empty: expected the directory of a finished run" in told
    assert "wrong.yaml:1:1" in told
    assert "absent.yaml: expected a scenario file" in told
    assert "nothere: expected a run's directory or a scenario, found nothing there" in told
    assert not (tmp_path / "runs").exists()


SCENARIO = """
title: An incast
fabric: {topology: {kind: single-switch, hosts: 2}}
workload: [{kind: flows, pattern: ring, size: 4KiB}]
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "incast.yaml"
    path.write_text(SCENARIO)
    return path


def test_a_scenario_is_run_into_a_directory_below_runs(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def run(arguments: Sequence[str]) -> int:
        started.append(list(arguments))
        write_summary(Path(arguments[arguments.index("--out") + 1]), summary(examples.clean()))
        return 0

    monkeypatch.setattr("testbed.outside.child.run_rocelab", run)
    result = invoke(scenario, scenario, "--set", "seed=7")
    assert result.exit_code == 0
    where = ["runs/incast-1", "runs/incast-2"]
    assert started == [["run", str(scenario), "--quiet", "--out", out, "--set", "seed=7"] for out in where]
    assert all((Path(out) / "summary.json").is_file() for out in where)


def test_a_run_without_results_does_not_hide_the_others(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.outside.child.run_rocelab", lambda _arguments: 1)
    run = finished(Path("clean"), summary(examples.clean()))
    result = invoke(run, scenario)
    assert result.exit_code == 1
    assert "745.123us" in result.output
    assert "no results of incast" in result.output


@pytest.mark.skipif(sys.platform != "linux", reason="parent-death signals are Linux's")
def test_the_child_is_this_rocelab_and_its_status_comes_back(capfd: pytest.CaptureFixture[str]) -> None:
    from testbed.outside.child import run_rocelab

    assert run_rocelab(["check", "/nowhere.yaml"]) == 2
    assert "/nowhere.yaml: expected a scenario file" in capfd.readouterr().err
