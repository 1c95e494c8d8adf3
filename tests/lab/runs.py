"""Runs of the command for the lab tests: a scenario goes in as a mapping; exit status, output and run directory come
out."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from testbed.errors import MachineError
from testbed.outside.machine import require_machine

ROOT = Path(__file__).resolve().parents[2]
LEAF_SPINE = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
_PATIENCE_S = 180
_CHANGES_OUTPUT = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "ROCELAB_RYU")

Scenario = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """A finished run: what it left, and where."""

    status: int
    output: str
    errors: str
    directory: Path

    @cached_property
    def text(self) -> str:
        """summary.json as it stands there."""
        return (self.directory / "summary.json").read_text(encoding="utf-8")

    @cached_property
    def summary(self) -> dict[str, Any]:
        found = json.loads(self.text)
        assert isinstance(found, dict)
        return found

    @property
    def text_before_wall(self) -> str:
        """summary.json up to its block `wall`, which is the last."""
        before, _, wall = self.text.rpartition('\n  "wall": ')
        assert isinstance(json.loads(wall.rsplit("}", 1)[0]), dict), "the block `wall` is not the last one"
        return before

    def result_without(self, *names: str) -> dict[str, Any]:
        """Return the summary without `wall` and some more of its blocks."""
        return {name: value for name, value in self.summary.items() if name not in ("wall", *names)}


def rocelab(
    *arguments: str | Path, cwd: Path = ROOT, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run ``rocelab ARGUMENTS`` as the user that the tests run as, and return what it said."""
    return subprocess.run(
        [sys.executable, "-m", "testbed", *map(str, arguments)], cwd=cwd, env=plain_environment(environment or {}),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", timeout=_PATIENCE_S,
    )  # fmt: skip


def plain_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without what changes output, and with `more`."""
    mine = {name: value for name, value in os.environ.items() if name not in _CHANGES_OUTPUT}
    return {**mine, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **more}


def run(folder: Path, scenario: Scenario | Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Run:
    """Run `scenario`, a mapping or a file, into ``folder/run``, quietly unless the arguments ask for JSON."""
    file = scenario if isinstance(scenario, Path) else write(folder, scenario)
    out = folder / "run"
    how = () if "--json" in arguments else ("--quiet",)
    done = rocelab("run", file, "--out", out, *how, *arguments, environment=environment)
    return Run(done.returncode, done.stdout, done.stderr, out)


def good(done: Run) -> Run:
    """Return a run that went as expected, and said nothing since nobody asked."""
    assert (done.status, done.output, done.errors) == (0, "", ""), done.errors
    return done


def write(folder: Path, scenario: Scenario) -> Path:
    """Write a scenario as a file, and return that. JSON is YAML."""
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(scenario, indent=1), encoding="utf-8")
    return file


def skip_without_lab() -> None:
    """Skip a test, with the reason, on a machine that cannot run the real thing."""
    try:
        require_machine()
    except MachineError as error:
        pytest.skip(str(error))
