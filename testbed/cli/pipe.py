"""Output that nobody reads: whoever did has seen enough (``| head``), or there never was anybody (``>&-``)."""

import os
import sys

BROKEN_PIPE_STATUS = 1
_STANDARD_STREAMS = ("stdin", "stdout", "stderr")


def open_closed_streams() -> None:
    """Let standard streams that the process was started without lead to nowhere.

    Otherwise the next files that are opened would take their numbers, and get what is meant for a terminal.
    """
    for file, name in enumerate(_STANDARD_STREAMS):
        try:
            os.fstat(file)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
            setattr(sys, name, os.fdopen(file, "w" if file else "r", closefd=False))


def stop_writing() -> int:
    """Let nothing more be written to standard output, not even at exit; return the exit status for this."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE_STATUS
