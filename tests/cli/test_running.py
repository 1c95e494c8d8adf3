"""The inside of ``rocelab run``: what is left of a run whose explanation cannot be told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from testbed.cli import running
from testbed.cli.explain import explain
from testbed.errors import TestbedError
from testbed.measurement.causes.model import FAILURE, Cause, Explanation, Stall, StallPart
from testbed.measurement.records import Invariant, Measurements
from tests.report import examples


def carried_out(measurements: Measurements, directory: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Carry out a run that measures just `measurements`, and return its exit status."""
    monkeypatch.setattr(running, "run", lambda *_of: measurements)
    output = running.Output(directory, directory, as_json=False, quiet=True)
    return running.carry_out(measurements.scenario, (), output, 0.0)


def why_not(run: Path) -> str:
    """Return what ``rocelab explain`` says of a run that it cannot explain."""
    found = CliRunner().invoke(explain, [str(run)]).exception
    assert isinstance(found, TestbedError)
    return str(found)


def test_a_run_outlives_its_explainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Invariant("causes", ok=False, detail="the explainer failed: KeyError: 'h9' (naming.py:7)")
    assert carried_out(replace(examples.clean(), invariants=(failed,)), tmp_path, monkeypatch) == 1
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"summary.json", "report.html", "ports.parquet", "waits.parquet"}
    assert json.loads((tmp_path / "summary.json").read_text("utf-8"))["invariants"] == [
        {"name": "causes", "ok": False, "detail": failed.detail}
    ]
    assert why_not(tmp_path) == (
        f"{tmp_path}: the explainer failed: KeyError: 'h9' (naming.py:7); the run's results are whole, but nothing "
        "explains them. This is a mistake in rocelab, not in the scenario"
    )


def test_a_run_outlives_its_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The explanation adds up, but is of a kind that nobody has words for."""
    told = Explanation((Cause("weather", "h0", "rain"),), (Stall(None, 0, "h1", 5, (StallPart(0, 5, 0, 5),)),), {})
    held = Invariant("causes", ok=True, detail="all adds up")
    status = carried_out(replace(examples.clean(), explanation=told, invariants=(held,)), tmp_path, monkeypatch)
    assert status == 1
    assert (tmp_path / "summary.json").exists()
    assert not (tmp_path / "explanation.json").exists()
    assert f"{tmp_path}: the explainer failed: KeyError: 'weather'" in why_not(tmp_path)


def test_a_run_that_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Explanation((Cause(FAILURE, "", "so it goes"),), (Stall(None, 0, "h1", 5, (StallPart(0, 5, 0, 5),)),), {})
    assert carried_out(replace(examples.clean(), explanation=told), tmp_path, monkeypatch) == 0
    assert (tmp_path / "explanation.json").exists()
