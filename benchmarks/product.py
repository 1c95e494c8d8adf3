"""Runs the product as a user does: a process of its own, and what it measured read from its summary.json."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]

Summary = dict[str, Any]


class BenchmarkError(Exception):
    """A benchmark could not be carried out, or what it measured cannot be right."""


def run_product(scenario: str, settings: Sequence[str] = ()) -> Summary:
    """Run a scenario (its path below the project's root) with ``--set`` of `settings`, and return its summary.

    Raises BenchmarkError, with the product's own words, when the run fails or anything in it is not as expected.
    """
    arguments = ["-m", "testbed", "run", scenario, *set_options(settings), "--json"]
    with TemporaryDirectory(prefix="rocelab-benchmark-") as directory:
        text = run_python([*arguments, "--out", f"{directory}/run"])
    summary: Summary = json.loads(text)
    return summary


def set_options(settings: Sequence[str]) -> list[str]:
    """Return `settings` (``workload.0.size=1MiB``) as options of the command line."""
    return [word for setting in settings for word in ("--set", setting)]


def run_python(arguments: Sequence[str]) -> str:
    """Run this Python with `arguments` in the project's root; return its standard output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        what = f"python {' '.join(arguments)}: exit status {done.returncode}"
        raise BenchmarkError(f"{what}\n{done.stderr[-2000:]}{_failures(done.stdout)}")
    return done.stdout


def _failures(output: str) -> str:
    """Return which expectations or invariants failed, where the output is a summary."""
    try:
        summary = json.loads(output)
    except ValueError:
        return ""
    checks = [*summary.get("expectations", ()), *summary.get("invariants", ())]
    return "\n".join(f"{check['name']}: {check['detail']}" for check in checks if not check["ok"])


def same_results(summaries: Sequence[Summary]) -> Summary:
    """Return what is equal in all runs of one scenario. Raises BenchmarkError when more than `wall` differs."""
    stripped = [{key: value for key, value in summary.items() if key != "wall"} for summary in summaries]
    for other in stripped[1:]:
        if other != stripped[0]:
            different = [key for key in stripped[0] if stripped[0][key] != other.get(key)]
            raise BenchmarkError(f"two runs of one scenario differ in {', '.join(different)}")
    return stripped[0]
