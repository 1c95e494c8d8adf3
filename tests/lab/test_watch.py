"""``rocelab run --watch`` on the real thing, in a terminal of its own (a pseudo-terminal) and without one."""

import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSCTTY, TIOCSWINSZ
from typing import Any

import pytest

from tests.lab.runs import ROOT, plain_environment, rocelab, skip_without_lab, write

pytestmark = pytest.mark.alone

ENTER, LEAVE, SHOW_CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"
_PATIENCE_S = 60
SMALL: dict[str, Any] = {
    "title": "Two hosts on a switch",
    "fabric": {"topology": {"kind": "single-switch", "hosts": 2}},
    "workload": [{"kind": "all-reduce", "size": "8MiB", "verify": False}],
    "measure": {"causes": False, "series": False},
}
ENDLESS = ("--set", "workload.0.size=1GiB")


@dataclass
class Terminal:
    """A command in a terminal of 80 columns by 24 lines: standard error is the terminal, standard output too or a
    pipe."""

    process: "subprocess.Popen[bytes]"
    file: int
    text: str = ""
    closed: bool = field(default=False)

    def read_until(self, found: Callable[[str], bool]) -> str:
        """Read what the command writes to the terminal until `found` says that it is enough, or it ends."""
        give_up_at = time.monotonic() + _PATIENCE_S
        while not self.closed and not found(self.text):
            assert time.monotonic() < give_up_at, f"not in time; the terminal has {self.text[-2000:]!r}"
            if select.select([self.file], [], [], 1)[0]:
                self._read()
        assert found(self.text) or self.closed
        return self.text

    def _read(self) -> None:
        try:
            data = os.read(self.file, 65536)
        except OSError:  # nobody has the terminal open any more
            data = b""
        self.closed = not data
        self.text += data.decode("utf-8", "replace")

    def end(self) -> int:
        """Read to the end; return the exit status."""
        self.read_until(lambda _text: False)
        return self.process.wait(_PATIENCE_S)


Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    skip_without_lab()
    begun: list[Terminal] = []

    def begin(
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdout: int | None = None,
        scenario: Mapping[str, Any] = SMALL,
        its_own: bool = False,
    ) -> Terminal:
        """`its_own`: the terminal controls the command, as a shell's does: keys become signals."""
        ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-m", "testbed", "run", str(write(tmp_path, scenario)), "--watch", *arguments]
        process = subprocess.Popen(
            [*command, "--out", str(tmp_path / "run")], cwd=ROOT, stdin=theirs, start_new_session=True,
            stdout=theirs if stdout is None else stdout, stderr=theirs,
            env=plain_environment({"TERM": "xterm-256color", **(environment or {})}),
            preexec_fn=(lambda: ioctl(theirs, TIOCSCTTY, 0)) if its_own else None,
        )  # fmt: skip
        os.close(theirs)
        begun.append(Terminal(process, ours))
        return begun[-1]

    yield begin
    for terminal in begun:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()
        os.close(terminal.file)


def is_clean(text: str) -> bool:
    """Whether the terminal is as it was: its own screen, and with a cursor."""
    return text.count(ENTER) == text.count(LEAVE) and text.rfind(SHOW_CURSOR) > text.rfind("\x1b[?25l")


def test_the_fabric_is_shown_and_then_the_report(start: Start) -> None:
    terminal = start()
    assert terminal.end() == 0
    shown, report = terminal.text.split(LEAVE)
    assert ENTER in shown
    for words in ("ranks: data received", "ports: link in use, queue", "h0", "packet-hops", "retransmissions"):
        assert words in shown
    assert "busbw" in report
    assert "Checks" in report
    assert is_clean(terminal.text)


def test_json_is_alone_on_standard_output(start: Start, tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as output:
        terminal = start("--json", stdout=output.fileno())
        assert terminal.end() == 0
    assert json.loads((tmp_path / "out").read_text())["ok"] is True
    assert ENTER in terminal.text
    assert is_clean(terminal.text)


def test_quiet_has_no_report(start: Start) -> None:
    terminal = start("--quiet")
    assert terminal.end() == 0
    assert ENTER in terminal.text
    assert terminal.text.split(LEAVE)[1].replace(SHOW_CURSOR, "").strip() == ""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_signal_leaves_the_terminal_clean(start: Start, number: int, status: int, tmp_path: Path) -> None:
    terminal = start(*ENDLESS)
    terminal.read_until(lambda text: "packet-hops" in text)
    os.killpg(terminal.process.pid, number)
    assert terminal.end() == status
    assert is_clean(terminal.text)
    assert not (tmp_path / "run").exists()


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again(start: Start) -> None:
    terminal = start(*ENDLESS, its_own=True)
    terminal.read_until(lambda text: "packet-hops" in text)
    os.write(terminal.file, b"\x1a")
    os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    terminal.read_until(is_clean)
    seen = len(terminal.text)
    assert not select.select([terminal.file], [], [], 0.5)[0], "a stopped run draws nothing"
    os.killpg(terminal.process.pid, signal.SIGCONT)
    terminal.read_until(lambda text: ENTER in text[seen:] and "packet-hops" in text[seen:])
    os.write(terminal.file, b"\x03")
    assert terminal.end() == 130
    assert is_clean(terminal.text)


def test_ctrl_c_before_there_is_anything_to_see(start: Start) -> None:
    terminal = start(*ENDLESS)
    time.sleep(1.0)
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() in (130, -signal.SIGINT), "the latter before its handlers are there"
    assert is_clean(terminal.text) or "\x1b" not in terminal.text


def test_an_error_leaves_the_terminal_clean_and_is_told_after_it(start: Start) -> None:
    terminal = start(*ENDLESS, environment={"PYTHONFAULTHANDLER": "1"})
    terminal.read_until(lambda text: "packet-hops" in text)
    kill_controller(terminal.process.pid)
    assert terminal.end() == 1
    assert is_clean(terminal.text)
    assert "rocelab: controller l3-ecmp: it ended with" in terminal.text.split(LEAVE)[1]


def kill_controller(pid: int) -> None:
    """Kill the controller of the run `pid`: a process below it."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"controllers.launcher" in command and pid in ancestors(int(folder.name)):
            os.kill(int(folder.name), signal.SIGKILL)
            return
    raise AssertionError("no controller")


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        yield pid


def test_after_a_resize_it_is_as_large_as_the_terminal(start: Start) -> None:
    terminal = start(*ENDLESS)
    terminal.read_until(lambda text: "packet-hops" in text)
    ioctl(terminal.file, TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    seen = len(terminal.text)
    wide = "─" * 60
    terminal.read_until(lambda text: wide in text[seen:])
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert is_clean(terminal.text)


@pytest.mark.parametrize(
    ("environment", "colours"), [({}, True), ({"NO_COLOR": "1"}, False)], ids=["colours", "NO_COLOR"]
)
def test_no_color_is_honoured(start: Start, environment: dict[str, str], colours: bool) -> None:
    terminal = start(environment=environment)
    assert terminal.end() == 0
    assert ("\x1b[36m" in terminal.text) is colours


def test_columns_are_honoured(start: Start) -> None:
    terminal = start("--quiet", environment={"COLUMNS": "60", "LINES": "20"})
    assert terminal.end() == 0
    drawn = terminal.text.split(LEAVE)[0]
    assert "╰" + "─" * 58 + "╯" in drawn


def test_a_dumb_terminal_gets_no_escape_codes(start: Start) -> None:
    terminal = start(environment={"TERM": "dumb"})
    assert terminal.end() == 0
    assert "\x1b" not in terminal.text
    assert "busbw" in terminal.text


def test_in_a_pipe_the_report_is_as_ever(tmp_path: Path) -> None:
    skip_without_lab()
    file = write(tmp_path, SMALL)
    done = rocelab("run", file, "--watch", "--out", tmp_path / "run")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert "busbw" in done.stdout
    assert all(line.startswith("rocelab: ") for line in done.stderr.splitlines())
    quiet = rocelab("run", file, "--watch", "--json", "--out", tmp_path / "other")
    assert json.loads(quiet.stdout)["ok"] is True
