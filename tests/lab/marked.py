"""Processes of a test's own, found by a mark in their environment which all their descendants inherit; and what a
machine looks like before and after."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MARK = "ROCELAB_TEST_MARK"


@dataclass(frozen=True)
class Process:
    """A live process: its id on the machine, and its command line, words joined by blanks."""

    pid: int
    command: str


def processes(mark: str) -> list[Process]:
    """Return the live processes that carry `mark`, oldest id first."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and wanted in _read(folder / "environ").split(b"\0"):
            command = _read(folder / "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
            found.append(Process(int(folder.name), command))
    return sorted(found, key=lambda process: process.pid)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended meanwhile, or is somebody else's
        return b""


def wait_for(condition: Callable[[], object], seconds: float, what: str | Callable[[], str]) -> object:
    """Return what `condition` returns once it is true; fail with `what` when that takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what if isinstance(what, str) else what()}")
        time.sleep(0.01)
    return value


@dataclass(frozen=True)
class MachineState:
    """What a run must leave as it was: interfaces and mounts of the machine, and files under /run and /tmp as `root`
    (a folder such as /proc/PID/root) has them."""

    interfaces: frozenset[str]
    mounts: frozenset[str]
    files: frozenset[str]

    @classmethod
    def now(cls, root: Path, ignore: Path) -> "MachineState":
        """Look at the machine; `ignore`, a run's own directory, does not count."""
        return cls(
            interfaces=frozenset(os.listdir("/sys/class/net")),
            mounts=frozenset(Path("/proc/self/mounts").read_text().splitlines()),
            files=frozenset(_files(root / "run", ignore) | _files(root / "tmp", ignore)),
        )

    def changes(self, later: "MachineState") -> list[str]:
        """Return what has come until `later`, and which interfaces have gone; none: a run has left no trace.

        A mount or a file that has gone is not looked at: it was not a run's, and somebody else may have removed it.
        """
        come = (later.interfaces - self.interfaces, later.mounts - self.mounts, later.files - self.files)
        return [
            *(f"+{name}" for names in come for name in names),
            *(f"-{x}" for x in self.interfaces - later.interfaces),
        ]


def _files(folder: Path, ignore: Path) -> set[str]:
    found: set[str] = set()
    for path, folders, files in os.walk(folder):
        here = Path(path)
        folders[:] = [name for name in folders if here / name != ignore]
        found.update(str(here / name) for name in (*folders, *files))
    return found
