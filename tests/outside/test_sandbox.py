"""The outer process of the sandbox: how it stops (Ctrl-Z) and ends with the inner one, and what the terminal shows.

Each test makes an outer process that has an inner one, without namespaces, and looks at it as a shell does.
"""

import os
import pty
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from testbed.outside import sandbox
from testbed.outside.shared_screen import LEAVE, SharedScreen

Wait = Callable[..., Any]


def inner(work: Callable[[], int]) -> int:
    """Return the id of a child that does `work` and ends with that status."""
    pid = os.fork()
    if pid == 0:
        os._exit(work())
    return pid


def outer(work: Callable[[], int], screen: SharedScreen | None = None) -> int:
    """Return the id of a child that waits, as the outer process does, for one that does `work`."""
    return inner(lambda: sandbox._wait(inner(work), screen or SharedScreen()))


def ended(pid: int) -> int | None:
    """Wait until `pid` ends or stops; return its exit status, or None when it has stopped: then it is killed."""
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        return os.waitstatus_to_exitcode(status)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def before(call: Wait, first: Callable[..., object]) -> Wait:
    """Return `call` with `first` done before it, the first time."""
    ahead = [first]

    def both(*arguments: Any) -> Any:
        if ahead:
            ahead.pop()(*arguments)
        return call(*arguments)

    return both


def ctrl_z(*_arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGTSTP)


@pytest.mark.parametrize("taken", [True, False])
def test_what_an_inner_process_that_is_killed_drew_on_is_given_back_before_the_reason(taken: bool) -> None:
    ours, theirs = pty.openpty()
    screen = SharedScreen(theirs)

    def draw_and_die() -> int:
        screen.taken = taken
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def onto_terminal() -> int:
        os.dup2(theirs, 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  # ends with the process
        return sandbox._wait(inner(draw_and_die), screen)

    assert ended(inner(onto_terminal)) == 128 + signal.SIGKILL
    told = b"rocelab: the run was ended by SIGKILL\r\n"
    assert os.read(ours, 1024) == (LEAVE if taken else b"") + told
    os.close(ours)
    os.close(theirs)


def test_a_second_ctrl_z_while_the_first_is_at_work_is_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    go_read, go_write = os.pipe()
    monkeypatch.setattr("os.waitid", before(os.waitid, ctrl_z))
    monkeypatch.setattr("os.waitpid", before(os.waitpid, ctrl_z))
    pid = outer(lambda: os.read(go_read, 1)[0])
    monkeypatch.undo()
    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    os.kill(pid, signal.SIGCONT)
    os.write(go_write, b"\x07")
    assert ended(pid) == 7, "stopped again"
    os.close(go_read)
    os.close(go_write)


def test_ctrl_z_stops_nothing_when_the_inner_process_has_just_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended_and_ctrl_z(pid: int, _options: int) -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        ctrl_z()

    monkeypatch.setattr("os.waitpid", before(os.waitpid, ended_and_ctrl_z))
    pid = outer(lambda: 7)
    monkeypatch.undo()
    assert ended(pid) == 7
