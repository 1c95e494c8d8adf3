"""A run leaves nothing but its directory, whoever starts it and however it ends."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.conftest import Start
from tests.lab.marked import MachineState, Process, processes, wait_for

SCENARIO = "scenarios/01-ring-all-reduce.yaml"

# Long enough to be killed half-way on any machine.
LONG = ("--set", "workload.0.size=64MiB", "--set", "workload.0.verify=false")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where a run may write, whoever it runs as."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    writable = tmp_path / "writable"
    writable.mkdir()
    writable.chmod(0o777)
    return writable / "run"


@pytest.fixture
def unchanged(out: Path) -> Iterator[None]:
    """The machine is afterwards as it was before, the run's own directory aside."""
    ignore = (out.parents[1],)
    before = MachineState.now(ignore)
    yield
    wait_for(lambda: _same(before, MachineState.now(ignore)), 30, "the machine as it was before")


def _same(before: MachineState, after: MachineState) -> bool:
    return after.interfaces == before.interfaces and after.mounts == before.mounts and after.files <= before.files


def _process(mark: str, words: str) -> Process | None:
    return next((process for process in processes(mark) if words in process.command), None)


MOMENTS = {
    "at the start": "-m testbed",
    "Open vSwitch starts": "ovsdb-server",
    "switches start": "ovs-vswitchd",
    "hosts start": "mininet:h15",
    "the controller starts": "controllers.launcher",
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("moment", MOMENTS)
def test_kill_at_any_moment_leaves_nothing(start: Start, mark: str, out: Path, moment: str) -> None:
    run = start("run", SCENARIO, "--out", str(out), *LONG)
    wait_for(lambda: _process(mark, MOMENTS[moment]), 30, moment)
    run.kill()
    run.communicate()
    wait_for(lambda: not processes(mark), 30, "the end of all processes")


VICTIMS = ("ovsdb-server", "ovs-vswitchd", "controllers.launcher")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("victim", VICTIMS)
def test_the_death_of_a_part_ends_the_run_with_an_error_that_names_it(
    start: Start, mark: str, out: Path, victim: str
) -> None:
    run = start("run", SCENARIO, "--out", str(out), *LONG)
    wait_for(lambda: _process(mark, "mininet:h15") and _process(mark, victim), 30, f"{victim} to run")
    found = _process(mark, victim)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1, errors
    assert ("controller" if victim.startswith("controllers") else victim) in errors
    assert "SIGKILL" in errors


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_with_its_status(start: Start, mark: str, out: Path, number: signal.Signals) -> None:
    run = start("run", SCENARIO, "--out", str(out), *LONG)
    wait_for(lambda: _process(mark, "mininet:h15"), 30, "hosts to run")
    run.send_signal(number)
    run.communicate(timeout=60)
    assert run.returncode == 128 + number


@pytest.mark.usefixtures("unchanged", "mark")
def test_two_runs_at_once_give_what_one_alone_gives(start: Start, out: Path) -> None:
    import json

    runs = [start("run", SCENARIO, "--out", f"{out}{number}", "--quiet") for number in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    summaries = [json.loads(Path(f"{out}{number}", "summary.json").read_text()) for number in range(2)]
    for summary in summaries:
        del summary["wall"]
    assert summaries[0] == summaries[1]
