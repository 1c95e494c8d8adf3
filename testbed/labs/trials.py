"""Runs that a check looks at. Each is a run of its own process, in a sandbox of its own, with a limit in wall time."""

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from testbed.scenario.expectations import value_at

PATIENCE_S = 180
_START = f"import sys; sys.path[0] = {str(Path(__file__).parents[2])!r}; from testbed.cli.main import main; main()"
"""Starts the command with the project in the place of the working folder, whose modules are the student's."""

_UNFINISHED = (2, 3)
"""Exit statuses of a run that did not come to results: a wrong scenario, a machine that lacks something."""


class TrialFailed(Exception):  # noqa: N818 - what the student's own file did, in words
    """A run came to no results; the text is what it said."""


class Trial:
    """The results of a run: ``trial["collectives.0.time_ps"]``, by the paths that ``expect:`` uses."""

    def __init__(self, summary: dict[str, Any]) -> None:
        self.summary = summary

    def __getitem__(self, path: str) -> Any:
        return value_at(self.summary, path)


class Trials:
    """Carries out runs; equal ones once."""

    def __init__(self) -> None:
        self._done: dict[tuple[str, ...], Trial] = {}

    def run(self, file: Path, options: Sequence[str] = ()) -> Trial:
        """Run the scenario in `file`. Raises TrialFailed when there are no results, or not in time."""
        key = (str(file), *options)
        if key not in self._done:
            self._done[key] = _run(file, options)
        return self._done[key]


def _run(file: Path, options: Sequence[str]) -> Trial:
    with tempfile.TemporaryDirectory(prefix="rocelab-lab-") as folder:
        command = [sys.executable, "-c", _START, "run", str(file), "--json", "--out", f"{folder}/run", *options]
        process = subprocess.Popen(
            command,
            cwd=file.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            output, errors = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            process.communicate()
            raise TrialFailed(f"{file.name}: no results within {PATIENCE_S} s") from None
        except BaseException:
            process.terminate()
            raise
    if process.returncode in _UNFINISHED or not output.strip():
        raise TrialFailed(errors.strip() or f"{file.name}: it ended with exit status {process.returncode}")
    return Trial(json.loads(output))
