"""``rocelab show`` and ``rocelab scenarios``."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.cli import scenarios
from testbed.cli.scenarios import FOLDER
from testbed.fabric.build import build_plan
from testbed.fabric.canvas import to_ascii
from testbed.fabric.picture import draw
from testbed.scenario.load import load_scenario
from tests.cli.test_check import BROKEN, RIGHT, run


def show(encoding: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "testbed", "show", str(RIGHT)],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )
    return result.stdout.decode(encoding)


def test_picture() -> None:
    scenario = load_scenario(RIGHT)
    assert show("utf-8") == f"{scenario.title}\n{draw(build_plan(scenario.fabric))}\n"


def test_picture_in_ascii_where_the_output_has_no_boxes() -> None:
    assert show("ascii") == to_ascii(show("utf-8"))


def test_overrides_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", str(RIGHT), "--set", "fabric.topology.spines=3") == 0
    assert "spine2" in capsys.readouterr().out


def test_a_broken_scenario_is_not_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", str(BROKEN)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "did you mean 'leaves'?" in err


def test_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scenarios") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(FOLDER.glob("*.yaml")))
    assert lines[0].split(maxsplit=2) == ["01", "ring-all-reduce", load_scenario(RIGHT).title]


def test_scenarios_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scenarios", "--json") == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first == {
        "number": "01",
        "name": "ring-all-reduce",
        "title": load_scenario(RIGHT).title,
        "file": str(RIGHT),
    }


def test_a_scenario_that_cannot_be_read_is_listed_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    (tmp_path / "07-torn.yaml").write_text("title: [")
    assert run("scenarios") == 0
    assert capsys.readouterr().out == f"07  torn  (not readable: rocelab check {tmp_path}/07-torn.yaml)\n"


def test_no_scenarios_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scenarios, "FOLDER", tmp_path)
    assert run("scenarios") == 3
    assert f"expected scenarios in {tmp_path}, found none" in capsys.readouterr().err
