"""How a mistake in a trace is reported: ``file: byte 1234: expected ..., found ...``.

A place is what leads a reader there in the file's own terms: ``byte 1234`` (of the unpacked file) in protobuf,
``12:5`` (line and column) in text.
"""

from testbed.errors import ScenarioError


class TraceError(ScenarioError):
    """A trace cannot be read, or does not fit together; the message has a line for each mistake, with its place."""


def mistake(file: str, place: str | None, text: str) -> TraceError:
    """Return the error that `text` is wrong at `place` of `file`; no place: the file as a whole."""
    where = file if place is None else f"{file}: {place}" if place.startswith("byte") else f"{file}:{place}"
    return TraceError(f"{where}: {text}")


def shorten(text: str, most: int = 60) -> str:
    """Return `text` for a message, in quotes, cut where it is long."""
    return repr(text if len(text) <= most else f"{text[:most]}...")
