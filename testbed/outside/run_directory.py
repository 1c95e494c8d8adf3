"""The directory of a run: made and claimed before anything is built, and kept open while the run lasts.

Claimed, so that two runs never write into one; kept open, since the sandbox covers /run, where it may lie: inside, it
is reached by its file, whatever is mounted over its path.
"""

import fcntl
import os
from contextlib import suppress
from itertools import count
from pathlib import Path

from testbed.errors import ScenarioError

RUNS = Path("runs")


class RunDirectory:
    """`path` is where the user finds it; `inside` the same directory as the sandbox's first process has it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self.inside = Path(f"/proc/1/fd/{self._file}")

    def claim(self) -> bool:
        """Take the directory for this run; False when another run has it, or something is in it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return not any(self.path.iterdir())

    def close(self) -> None:
        """Let it go; a directory that a run left nothing in is taken back."""
        os.close(self._file)
        with suppress(OSError):
            self.path.rmdir()


def make_run_directory(out: Path | None, name: str) -> RunDirectory:
    """Make and claim the run directory: `out`, or the next free ``runs/NAME-n``.

    Raises ScenarioError when `out` is taken, since a run never overwrites another's results, or cannot be made.
    """
    try:
        return _given(out) if out is not None else _next(name)
    except OSError as error:
        raise ScenarioError(
            f"cannot make the run directory {error.filename}: {error.strerror}\n"
            "  name one that you may write to: --out DIR"
        ) from error


def next_run_directory(name: str) -> Path:
    """Make the next free ``runs/NAME-n``, empty, for a run that is to be given it as its --out.

    Raises ScenarioError when it cannot be made.
    """
    try:
        RUNS.mkdir(exist_ok=True)
        for number in count(1):
            with suppress(FileExistsError):
                path = RUNS / f"{name}-{number}"
                path.mkdir()
                return path
    except OSError as error:
        raise ScenarioError(f"cannot make the run directory {error.filename}: {error.strerror}") from error
    raise AssertionError("numbers do not end")


def _given(out: Path) -> RunDirectory:
    out.mkdir(parents=True, exist_ok=True)
    directory = RunDirectory(out.resolve())
    if not directory.claim():
        raise ScenarioError(
            f"--out {out}: expected a new or empty directory, found something in it, or a run under way"
        )
    return directory


def _next(name: str) -> RunDirectory:
    RUNS.mkdir(exist_ok=True)
    for number in count(1):
        with suppress(FileExistsError):
            path = RUNS / f"{name}-{number}"
            path.mkdir()
            directory = RunDirectory(path.resolve())
            if directory.claim():
                return directory
    raise AssertionError("numbers do not end")
