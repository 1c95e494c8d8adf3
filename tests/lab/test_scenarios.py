"""The built-in scenarios: each runs as its file promises, and prints what ``tests/golden`` has, digit by digit.

Run as a user would, without ``--out``; ``--update-golden`` rewrites the golden files. Lines about wall time are left
out. The way of a flow is a hash of Open vSwitch's: another release may choose other ways, and shift a time by some
nanoseconds.
"""

import re
from pathlib import Path

import pytest

from testbed.cli.scenarios import builtin_scenarios
from tests.conftest import GoldenCheck
from tests.lab.runs import ROOT, Run, rocelab, skip_without_lab

GOLDEN = ROOT / "tests" / "golden"
SCENARIOS = {Path(item["file"]).stem: Path(item["file"]) for item in builtin_scenarios()}
_WALL = re.compile(r".* of model time in .* to start\n.* packet-hops, .* of memory\n")


@pytest.fixture(scope="module", params=SCENARIOS)
def reported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Run]:
    """A scenario's name and its run, by a user in a folder of his own."""
    skip_without_lab()
    here = tmp_path_factory.mktemp(request.param)
    done = rocelab("run", SCENARIOS[request.param], cwd=here)
    return request.param, Run(done.returncode, done.stdout, done.stderr, here / "runs" / f"{request.param}-1")


def test_it_runs_as_it_promises(reported: tuple[str, Run]) -> None:
    name, done = reported
    assert (done.status, done.errors) == (0, ""), done.output
    assert done.summary["ok"]
    assert done.summary["expectations"], f"scenarios/{name}.yaml expects nothing"


def test_it_prints_the_golden_table(reported: tuple[str, Run], golden: GoldenCheck) -> None:
    name, done = reported
    report, walls = _WALL.subn("", done.output)
    assert walls == 1
    golden(GOLDEN / f"{name}.txt", report)


def test_its_report_in_a_pipe_has_no_escape_codes(reported: tuple[str, Run]) -> None:
    _, done = reported
    assert "\x1b" not in done.output
    assert "\r" not in done.output


def test_every_golden_table_has_its_scenario() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(SCENARIOS)
