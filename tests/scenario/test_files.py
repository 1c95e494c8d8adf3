"""Files that a scenario names: found beside it, written as it has them."""

from pathlib import Path

import pytest

from testbed.scenario.load import load_scenario
from testbed.scenario.traces import TraceReplay

SCENARIO = """
title: A trace
fabric: {topology: {kind: single-switch, hosts: 2}}
workload:
  - kind: trace
    files: [traces/two.goal]
"""


def _write(directory: Path) -> Path:
    (directory / "traces").mkdir(parents=True)
    (directory / "traces/two.goal").write_text("num_ranks 2\nrank 0 {\n}\nrank 1 {\n}\n")
    (directory / "s.yaml").write_text(SCENARIO)
    return directory / "s.yaml"


def test_a_name_is_relative_to_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _write(tmp_path / "lab")
    monkeypatch.chdir(tmp_path)
    for way in (file, file.relative_to(tmp_path)):
        scenario = load_scenario(way)
        (work,) = scenario.workload
        assert isinstance(work, TraceReplay)
        assert work.files == (str(way.parent / "traces/two.goal"),)
        assert scenario.model_dump(mode="json")["workload"][0]["files"] == ["traces/two.goal"]


def test_so_is_that_of_an_override(tmp_path: Path) -> None:
    file = _write(tmp_path / "lab")
    (file.parent / "other.goal").write_text("num_ranks 1\nrank 0 {\n}\n")
    (work,) = load_scenario(file, ["workload.0.files=[other.goal]"]).workload
    assert isinstance(work, TraceReplay)
    assert work.files == (str(file.parent / "other.goal"),)
