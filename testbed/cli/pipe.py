"""Output that nobody reads: whoever did has seen enough (``| head``), there never was anybody (``>&-``), or what it
goes to takes no more (a full disk)."""

import os
import sys

import click

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
            os.set_inheritable(file, True)  # else the programs that are started have it closed again
            setattr(sys, name, os.fdopen(file, "w" if file else "r", closefd=False))


def stop_writing(error: OSError) -> int:
    """`error` has ended a command: let nothing more be written to standard output, not even at exit, and return the
    exit status. Says why, unless whoever read it has only seen enough. Raises `error` if it came from elsewhere."""
    if not isinstance(error, BrokenPipeError):
        if not _takes_no_more():
            raise error
        click.echo(f"rocelab: standard output cannot be written: {error.strerror}", err=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE_STATUS


def _takes_no_more() -> bool:
    """Whether standard output takes not even an empty line."""
    try:
        print(flush=True)
    except OSError:
        return True
    return False
