"""The terminal: as it was before, whatever becomes of a program that has changed it."""

import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def terminal_as_it_was() -> Iterator[None]:
    """Put the settings of standard input's terminal back at the end: a shell that is ended by force cannot."""
    if sys.stdin is None or not sys.stdin.isatty():
        yield
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        yield
    finally:
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # this process may be in the background by now
        termios.tcsetattr(file, termios.TCSADRAIN, before)
