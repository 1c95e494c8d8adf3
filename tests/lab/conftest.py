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
def start(mark: str, user: str) -> Start:
    """Start ``rocelab ARGUMENTS`` as `user`, marked, and return the process."""

    def start_command(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "testbed", *arguments]
        if user == "ordinary user" and os.geteuid() == 0:
            reach = [word for path in (ROOT, Path(sys.prefix), Path(sys.base_prefix)) for word in ("--reach", str(path))]
            command = [sys.executable, str(ORDINARY_USER), *reach, "--", *command]
        return subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, MARK: mark}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return start_command
