"""What the lab tests need of a machine: they run the real thing, as root and as an ordinary user."""

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.marked import MARK, processes, wait_for
from tests.lab.runs import LEAF_SPINE, ROOT, Run, good, run, skip_without_lab

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
    """Start ``rocelab ARGUMENTS`` as `user` in `root`, marked, and return the process; options are Popen's."""
    skip_without_lab()

    def start_command(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "testbed", *arguments]
        if os.geteuid() == 0:
            if user == "ordinary user":
                command = [sys.executable, str(ORDINARY_USER), *_PLACES, "--", *command]
            holder = root.parts[2]
            command = ["nsenter", f"--target={holder}", "--mount", f"--wd={ROOT}", *command]
        return subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, MARK: mark}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip

    return start_command


LOSSY: dict[str, Any] = {
    "title": "A ring All-Reduce on links that lose and corrupt frames at random",
    "seed": 7,
    "fabric": {"topology": LEAF_SPINE},
    "transport": {"mtu": 1024, "qps_per_connection": 8, "timeout": 4},
    "workload": [{"kind": "all-reduce", "size": "256KiB", "chunk": "4KiB"}],
    "faults": [
        {"kind": "loss", "port": "h1-eth0", "probability": 0.02, "frames": "any"},
        {"kind": "corrupt", "port": "h0-eth0", "probability": 0.02, "frames": "any"},
        {"kind": "corrupt", "port": "leaf1-eth1", "probability": 0.02, "frames": "any"},
    ],
    "measure": {"capture": "all"},
    "expect": {"collectives.0.verified": True},
}
"""Loss in front of the switches, corruption in front of and behind them, and paths chosen by hash."""


@pytest.fixture(scope="session")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of `LOSSY`, shared."""
    skip_without_lab()
    return good(run(tmp_path_factory.mktemp("lossy"), LOSSY))
