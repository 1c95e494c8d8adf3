"""The shared screen on a pseudo-terminal: what a process that stops writes there, and what its other half knows."""

import os
import pty
import select
from collections.abc import Iterator

import pytest

from testbed.outside.shared_screen import ENTER, LEAVE, SharedScreen


class Pseudo:
    """A pseudo-terminal: `theirs` is what a program writes to, `read` what came."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()

    def read(self) -> bytes:
        return os.read(self._ours, 1024) if select.select([self._ours], [], [], 0)[0] else b""

    def close(self) -> None:
        os.close(self._ours)
        os.close(self.theirs)


@pytest.fixture
def terminal() -> Iterator[Pseudo]:
    made = Pseudo()
    yield made
    made.close()


def test_a_screen_in_use_is_given_back_and_taken_again(terminal: Pseudo) -> None:
    screen = SharedScreen(terminal.theirs)
    screen.taken = True
    screen.hide()
    assert (terminal.read(), screen.hidden) == (LEAVE, True)
    screen.hide()
    assert terminal.read() == b"", "once is enough"
    screen.show_again()
    assert (terminal.read(), screen.hidden) == (ENTER, False)


def test_a_terminal_whose_screen_is_not_in_use_is_left_alone(terminal: Pseudo) -> None:
    screen = SharedScreen(terminal.theirs)
    screen.hide()
    screen.show_again()
    assert (terminal.read(), screen.hidden) == (b"", False)


def test_a_run_that_ended_in_the_background_takes_nothing_again(terminal: Pseudo) -> None:
    screen = SharedScreen(terminal.theirs)
    screen.taken = True
    screen.hide()
    screen.taken = False
    terminal.read()
    screen.show_again()
    assert (terminal.read(), screen.hidden) == (b"", False)


@pytest.mark.parametrize("hidden", [False, True])
def test_at_the_end_a_screen_that_is_still_shown_is_given_back(terminal: Pseudo, hidden: bool) -> None:
    """The process that drew was killed: while the screen was shown, or while the terminal was the shell's."""
    screen = SharedScreen(terminal.theirs)
    screen.taken = True
    if hidden:
        screen.hide()
        terminal.read()
    screen.end()
    assert terminal.read() == (b"" if hidden else LEAVE)
    screen.show_again()
    assert terminal.read() == b"", "never again"


def test_a_run_that_ends_while_its_screen_is_taken_again(terminal: Pseudo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run finds the screen hidden, and so does not leave it, when it is being switched on already."""
    screen = SharedScreen(terminal.theirs)
    screen.taken = True
    screen.hide()
    terminal.read()
    write = os.write

    def while_the_run_ends(file: int, text: bytes) -> int:
        screen.taken = False
        return write(file, text)

    monkeypatch.setattr("os.write", while_the_run_ends)
    screen.show_again()
    monkeypatch.undo()
    assert terminal.read() == ENTER
    screen.end()
    assert terminal.read() == LEAVE


def test_two_processes_see_one_screen(terminal: Pseudo) -> None:
    screen = SharedScreen(terminal.theirs)
    pid = os.fork()
    if pid == 0:
        screen.taken = True
        os._exit(0)
    os.waitpid(pid, 0)
    assert screen.taken


def test_in_the_background_it_waits_for_the_terminal(terminal: Pseudo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look finds the shell in the foreground, the next one us."""
    screen = SharedScreen(terminal.theirs)
    looks: list[float] = []
    monkeypatch.setattr("signal.signal", lambda _number, _handler: None)
    monkeypatch.setattr("signal.setitimer", lambda _which, seconds: looks.append(seconds))
    screen.taken = True
    screen.hide()
    terminal.read()
    monkeypatch.setattr("os.tcgetpgrp", lambda _file: os.getpgrp() + 1)
    screen.show_again()
    assert (terminal.read(), screen.hidden, len(looks)) == (b"", True, 1)
    monkeypatch.setattr("os.tcgetpgrp", lambda _file: os.getpgrp())
    screen._look(0, None)
    assert (terminal.read(), screen.hidden, len(looks)) == (ENTER, False, 1)
