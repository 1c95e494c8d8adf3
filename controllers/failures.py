"""How an exception of an application is told: its traceback without our own frames, and one line that says where."""

import os
import sys
import traceback
from types import TracebackType


def report(error: BaseException, source_file: str | None) -> str:
    """Print the traceback of `error` to standard error; return ``file:line: Error: text`` for one line.

    `source_file` is the application's: frames before its first one are left out, and its innermost one is the place.
    """
    trace = _from_file(error.__traceback__, source_file)
    traceback.print_exception(type(error), error, trace)
    sys.stderr.flush()
    return f"{_place(error, trace, source_file)}: {type(error).__name__}: {error}"


def _from_file(trace: TracebackType | None, source_file: str | None) -> TracebackType | None:
    """Return the part of `trace` from the first frame of `source_file` on; all of it if there is none."""
    here = trace
    while here is not None and here.tb_frame.f_code.co_filename != source_file:
        here = here.tb_next
    return here or trace


def _place(error: BaseException, trace: TracebackType | None, source_file: str | None) -> str:
    if isinstance(error, SyntaxError):
        return f"{_shown(error.filename or '?')}:{error.lineno}"
    frames = traceback.extract_tb(trace)
    frame = next((frame for frame in reversed(frames) if frame.filename == source_file), frames[-1])
    return f"{_shown(frame.filename)}:{frame.lineno}"


def place_of(file: str, line: int | None) -> str:
    """Return ``file:line`` as it is shown; without a line, the file."""
    return _shown(file) if line is None else f"{_shown(file)}:{line}"


def _shown(file: str) -> str:
    """Return `file` as seen from the working directory if it is below that."""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative
