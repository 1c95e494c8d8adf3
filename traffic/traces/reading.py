"""A trace as a replay needs it: read, matched, and found to be without a circle of waiting."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from traffic.traces.load import load_trace
from traffic.traces.matching import Matching, match
from traffic.traces.model import Trace
from traffic.traces.order import order
from traffic.traces.repeat import repeat


def read_trace(files: Sequence[str], iterations: int = 1) -> tuple[Trace, Matching]:
    """Return the trace in `files`, `iterations` times over, and who does what with whom.

    Raises TraceError for all that is wrong with it, ValueError when it is too often.

    The last trace is kept: a scenario's is asked for when it is checked, and again when it runs.
    """
    paths = tuple(Path(file) for file in files)
    return _read(paths, iterations, tuple(_version(path) for path in paths))


@lru_cache(maxsize=1)
def _read(
    paths: tuple[Path, ...],
    iterations: int,
    versions: tuple[object, ...],  # noqa: ARG001 - what is kept is only good for these
) -> tuple[Trace, Matching]:
    trace = repeat(load_trace(paths), iterations)
    matching = match(trace)
    order(trace, matching)
    return trace, matching


def _version(path: Path) -> object:
    """Return something that changes when a file, or one in a directory, does; None when there is none."""
    if path.is_dir():
        return tuple((each.name, _version(each)) for each in sorted(path.iterdir()) if each.is_file())
    if not path.exists():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
