"""A run leaves nothing but its directory, whoever starts it and however it ends."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.conftest import Start
from tests.lab.marked import MachineState, Process, processes, wait_for

SCENARIO = "scenarios/01-ring-all-reduce.yaml"

# Long enough to be killed half-way on any machine.
LONG = ("--set", "workload.0.size=64MiB", "--set", "workload.0.verify=false", "--set", "measure.capture=[h0-eth0]")

PATIENCE_S = 60

OUT = "/tmp/run"
"""A run's directory, in the place that the test made for it."""


@pytest.fixture
def unchanged(root: Path, start: Start) -> Iterator[None]:  # noqa: ARG001 - the machine is looked at before any start
    """The machine is afterwards as it was before, the run's own directory aside."""
    ignore = root / OUT[1:]
    before = MachineState.now(root, ignore)
    yield
    wait_for(
        lambda: not before.changes(MachineState.now(root, ignore)),
        PATIENCE_S,
        lambda: str(before.changes(MachineState.now(root, ignore))),
    )


def _process(mark: str, words: str) -> Process | None:
    return next((process for process in processes(mark) if words in process.command), None)


MOMENTS = {
    "at the start": "-m testbed",
    "Open vSwitch starts": "ovsdb-server",
    "switches start": "ovs-vswitchd",
    "hosts start": "mininet:h15",
    "the controller starts": "controllers.launcher",
    "packets flow": None,
}
"""What a process of the run is called that is there from that moment on; None: the capture has packets in it."""


def _has_come(moment: str, mark: str, root: Path) -> bool:
    words = MOMENTS[moment]
    if words is not None:
        return _process(mark, words) is not None
    capture = root / OUT[1:] / "capture.pcapng"
    return capture.exists() and capture.stat().st_size > 0


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("moment", MOMENTS)
def test_kill_at_any_moment_leaves_nothing(start: Start, mark: str, root: Path, moment: str) -> None:
    run = start("run", SCENARIO, "--out", OUT, *LONG)
    wait_for(lambda: _has_come(moment, mark, root), PATIENCE_S, moment)
    run.kill()
    run.communicate()
    wait_for(lambda: not processes(mark), PATIENCE_S, "the end of all processes")


@pytest.mark.usefixtures("unchanged")
def test_the_death_of_the_first_process_inside_is_told(start: Start, mark: str, root: Path) -> None:
    run = start("run", SCENARIO, "--out", OUT, *LONG)
    wait_for(lambda: _has_come("packets flow", mark, root), PATIENCE_S, "packets to flow")
    inside = [process for process in processes(mark) if "-m testbed" in process.command][-1]
    assert inside.pid != run.pid
    os.kill(inside.pid, signal.SIGKILL)
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 128 + signal.SIGKILL
    assert "the run was ended by SIGKILL" in errors


@pytest.mark.usefixtures("unchanged")
def test_the_death_of_a_host_changes_no_result(start: Start, mark: str, root: Path) -> None:
    """What the model clock measures is the engine's; a host's shell has no part in it."""
    run = start("run", SCENARIO, "--out", OUT, "--quiet", "--set", "measure.capture=[h0-eth0]")
    wait_for(lambda: _has_come("packets flow", mark, root), PATIENCE_S, "packets to flow")
    host = _process(mark, "mininet:h3")
    assert host is not None
    os.kill(host.pid, signal.SIGKILL)
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, errors


VICTIMS = ("ovsdb-server", "ovs-vswitchd", "controllers.launcher")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("victim", VICTIMS)
def test_the_death_of_a_part_ends_the_run_with_an_error_that_names_it(start: Start, mark: str, victim: str) -> None:
    run = start("run", SCENARIO, "--out", OUT, *LONG)
    wait_for(lambda: _process(mark, "mininet:h15") and _process(mark, victim), PATIENCE_S, f"{victim} to run")
    found = _process(mark, victim)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1, errors
    assert ("controller" if victim.startswith("controllers") else victim) in errors
    assert "SIGKILL" in errors


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_with_its_status(start: Start, mark: str, number: signal.Signals) -> None:
    run = start("run", SCENARIO, "--out", OUT, *LONG)
    wait_for(lambda: _process(mark, "mininet:h15"), PATIENCE_S, "hosts to run")
    run.send_signal(number)
    run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 128 + number


@pytest.mark.usefixtures("mark")
def test_two_runs_at_once_give_what_one_alone_gives(start: Start, root: Path) -> None:
    runs = [start("run", SCENARIO, "--out", f"{OUT}-{number}", "--quiet") for number in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    summaries = [json.loads((root / f"tmp/run-{number}" / "summary.json").read_text()) for number in range(2)]
    for summary in summaries:
        del summary["wall"]
    assert summaries[0] == summaries[1]
