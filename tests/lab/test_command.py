"""The command ``rocelab run`` from outside: exit statuses, what it prints where, what it leaves and what it keeps."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import Start
from tests.lab.marked import Process, processes, wait_for
from tests.lab.runs import rocelab, run, skip_without_lab, write
from tests.lab.test_faults import NO_ROUTE, tampered

SMALL: dict[str, Any] = {
    "title": "Two hosts on a switch",
    "message": "They add up\n4 KiB.\n\nA failure would mean: something.",
    "fabric": {"topology": {"kind": "single-switch", "hosts": 2}},
    "workload": [{"kind": "all-reduce", "size": "4KiB"}],
    "expect": {"drops.total": 5},
}
LONG = ("scenarios/01-ring-all-reduce.yaml", "--set", "workload.0.size=64MiB", "--set", "workload.0.verify=false")
"""Long enough to be stopped half-way on any machine."""


def builds_nothing(folder: Path) -> bool:
    """Whether a command has left `folder` with nothing but the scenario in it."""
    return {path.name for path in folder.iterdir()} <= {"scenario.yaml"}


# --- exit statuses; 0 is every other test's --------------------------------------------------------------------------


def test_1_when_an_expectation_fails_which_the_report_explains(tmp_path: Path) -> None:
    skip_without_lab()
    done = rocelab("run", write(tmp_path, SMALL), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "✗  drops.total  expected 5, found 0" in done.stdout
    assert "The scenario says\n   They add up 4 KiB.\n\n   A failure would mean: something.\n" in done.stdout
    assert done.stdout.rstrip().endswith("✗ 1 of 1 expectation failed")
    assert not json.loads((tmp_path / "runs" / "scenario-1" / "summary.json").read_text())["ok"]


def test_2_when_the_scenario_is_wrong_and_nothing_is_built(tmp_path: Path) -> None:
    broken = {**SMALL, "workload": [{"kind": "all-reduce", "size": "4KiB", "ranks": ["h0", "h7"]}], "seeds": 3}
    done = rocelab("run", write(tmp_path, broken), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2, done.stderr
    assert all("scenario.yaml:" in line for line in done.stderr.splitlines())
    assert builds_nothing(tmp_path)


@pytest.mark.parametrize("arguments", [["no-such-file.yaml"], ["--out"], ["--no-such-option"], []])
def test_2_when_the_command_line_is_wrong(tmp_path: Path, arguments: list[str]) -> None:
    done = rocelab("run", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr
    assert builds_nothing(tmp_path)


def test_3_when_the_machine_lacks_a_program(tmp_path: Path) -> None:
    done = rocelab("run", write(tmp_path, SMALL), cwd=tmp_path, environment={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (3, "")
    assert "ovs-vswitchd" in done.stderr
    assert "mnexec: not found: mnexec\n    sudo apt-get install --no-install-recommends mininet\n" in done.stderr
    assert builds_nothing(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "place"), [((), "runs"), (("--out", "here"), "here")], ids=["by default", "given"]
)
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, arguments: tuple[str, ...], place: str) -> None:
    """/sys takes no new folders, not even root's."""
    skip_without_lab()
    done = rocelab("run", write(tmp_path, SMALL), *arguments, cwd=Path("/sys"))
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(
        f"cannot make the run directory {place}: [A-Z].*\n  name one that you may write to: --out DIR\n", done.stderr
    ), done.stderr


# --- the run directory -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_folder", [True, False], ids=["a folder with a file", "a file"])
def test_what_is_there_already_is_kept(tmp_path: Path, is_folder: bool) -> None:
    skip_without_lab()
    out = tmp_path / "mine"
    kept = out / "results.txt" if is_folder else out
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("precious")
    done = rocelab("run", write(tmp_path, SMALL), "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert str(out) in done.stderr
    assert kept.read_text() == "precious"
    assert [path.name for path in tmp_path.rglob("*.json")] == []


def test_runs_are_numbered_and_a_quiet_one_still_says_what_is_wrong(tmp_path: Path) -> None:
    skip_without_lab()
    (tmp_path / "runs" / "scenario-1").mkdir(parents=True)
    done = rocelab("run", write(tmp_path, SMALL), "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "✗ expectation drops.total: expected 5, found 0\n"
    assert list((tmp_path / "runs" / "scenario-1").iterdir()) == []
    assert (tmp_path / "runs" / "scenario-2" / "summary.json").exists()


# --- interrupted -----------------------------------------------------------------------------------------------------


def find(mark: str, words: str) -> Process | None:
    return next((process for process in processes(mark) if words in process.command), None)


def test_ctrl_c_ends_the_run_and_leaves_nothing(start: Start, mark: str, root: Path) -> None:
    """A terminal sends SIGINT to every process of the command's group."""
    command = start("run", *LONG, "--out", "/tmp/run", start_new_session=True)
    wait_for(lambda: find(mark, "mininet:h15"), 30, "hosts to run")
    os.killpg(command.pid, signal.SIGINT)
    output, errors = command.communicate(timeout=60)
    assert (command.returncode, output) == (130, "")
    assert errors == "rocelab: interrupted\n"
    assert not (root / "tmp/run").exists()
    wait_for(lambda: not processes(mark), 30, "the end of all processes")


# --- a controller that fails -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", ["ordinary user"], indirect=True)
def test_a_controller_that_dies_is_quoted(start: Start, mark: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's fault handler gives it last words."""
    monkeypatch.setenv("PYTHONFAULTHANDLER", "1")
    command = start("run", *LONG, "--set", "measure.capture=[h0-eth0]", "--out", "/tmp/run")
    wait_for((root / "tmp/run/capture.pcapng").exists, 30, "the first packet")
    controller = find(mark, "controllers.launcher")
    assert controller is not None
    os.kill(controller.pid, signal.SIGABRT)
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 1
    first, *quoted = errors.splitlines()
    assert first == "rocelab: controller l3-ecmp: it ended with signal SIGABRT during the run; its last lines:"
    assert "  | Fatal Python error: Aborted" in quoted


def test_a_controller_that_no_switch_reaches_ends_the_run(tmp_path: Path) -> None:
    done = tampered("deaf-controller", tmp_path, NO_ROUTE)
    assert (done.status, done.output) == (1, "")
    names = "leaf0, leaf1, spine0, spine1"
    assert done.errors.startswith(f"rocelab: controller l3-ecmp: switches {names} did not connect within 2s; ")
    assert not done.directory.exists()


@pytest.mark.parametrize("choice", ["ryuu"])
def test_a_controller_that_is_not_there(tmp_path: Path, choice: str) -> None:
    skip_without_lab()
    done = run(tmp_path, SMALL, environment={"ROCELAB_RYU": choice})
    assert (done.status, done.output) == (3, "")
    assert "ROCELAB_RYU is 'ryuu', expected 'ryu' or 'os-ken'; did you mean 'ryu'?" in done.errors
