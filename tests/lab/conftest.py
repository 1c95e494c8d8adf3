"""What the lab tests need of a machine: they run the real thing, as root and as an ordinary user."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.marked import MARK, processes, wait_for

ROOT = Path(__file__).resolve().parents[2]
ORDINARY_USER = ROOT / "tests" / "lab" / "ordinary_user.py"
PRIVATE_PLACE = ROOT / "tests" / "lab" / "private_place.py"

_PLACES = (str(ROOT), sys.prefix, sys.base_prefix)
"""What an ordinary user must reach: the project, and the Python it runs by."""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def mark() -> Iterator[str]:
    """A mark for a test's processes; none may be left at its end."""
    mark = uuid.uuid4().hex
    yield mark
    wait_for(lambda: not processes(mark), 30, f"the end of {processes(mark)}")


@pytest.fixture(params=["root", "ordinary user"])
def user(request: pytest.FixtureRequest) -> str:
    """Whom a run is started as. Tests that are not run as root can only be themselves."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root; runs here as an ordinary user only")
    return str(request.param)


@pytest.fixture
def root() -> Iterator[Path]:
    """A place like / with an empty /run and /tmp, where nobody but the test's runs leaves files; as a folder.

    Only root can make one; without, it is / itself.
    """
    if os.geteuid() != 0:
        yield Path("/")
        return
    holder = subprocess.Popen(
        [sys.executable, str(PRIVATE_PLACE), *_PLACES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "made\n", "no mount namespace"
    yield Path(f"/proc/{holder.pid}/root")
    holder.communicate()


@pytest.fixture
def start(mark: str, user: str, root: Path) -> Start:
    """Start ``rocelab ARGUMENTS`` as `user` in `root`, marked, and return the process."""

    def start_command(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "testbed", *arguments]
        if os.geteuid() == 0:
            if user == "ordinary user":
                command = [sys.executable, str(ORDINARY_USER), *_PLACES, "--", *command]
            holder = root.parts[2]
            command = ["nsenter", f"--target={holder}", "--mount", f"--wd={ROOT}", *command]
        return subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, MARK: mark}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return start_command
