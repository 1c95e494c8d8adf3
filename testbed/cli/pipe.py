"""When whoever reads our output has seen enough (``| head``)."""

import os
import sys

BROKEN_PIPE_STATUS = 1


def stop_writing() -> int:
    """Let nothing more be written to standard output, not even at exit; return the exit status for this."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE_STATUS
