"""How the terminal report looks: its few colours, its signs and their plain forms, and how numbers are written.

Where the output's encoding has no other letters than ASCII the signs are ASCII too; where there is no terminal there
are no colours. Neither changes what is said.
"""

import os
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

from testbed.units import MICROSECOND, MILLISECOND, NANOSECOND, SECOND

PIPE_WIDTH = 100
"""Columns where there is no terminal to ask."""

HEADING = "bold"
QUIET = "dim"
GOOD = "green"
BAD = "bold red"
WARNING = "yellow"
BAR = "cyan"

_TIME_UNITS = (("s", SECOND), ("ms", MILLISECOND), ("us", MICROSECOND), ("ns", NANOSECOND))
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def console_for(stream: TextIO) -> Console:
    """Return a console on `stream` (stdout, stderr) that neither guesses at colours nor at markup in our texts."""
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def write_tidy(console: Console, rendered: str) -> None:
    """Write rendered text without the spaces that pad its lines, and with ``?`` for what the encoding does not have."""
    text = "".join(line.rstrip() + "\n" for line in rendered.splitlines())
    console.file.write(text.encode(console.encoding, "replace").decode(console.encoding))
    console.file.flush()


class Signs:
    """The signs that a console can show."""

    def __init__(self, console: Console) -> None:
        self._ascii = console.options.ascii_only
        self.more = "..." if self._ascii else "…"
        self.to = "->" if self._ascii else "→"

    def check(self, ok: bool) -> Text:
        """Return the mark of something that holds, or does not."""
        if self._ascii:
            return Text("ok" if ok else "FAIL", GOOD if ok else BAD)
        return Text("✓" if ok else "✗", GOOD if ok else BAD)

    def bar(self, value: int, most: int, width: int) -> Text:
        """Return a bar for `value`, `width` columns long for `most`; anything above nothing shows."""
        eighths = max(1, value * width * 8 // most) if value and most else 0
        if self._ascii:
            return Text("#" * -(-eighths // 8), BAR)
        return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), BAR)


def microseconds(time_ps: int | None) -> str:
    """Return a time for a column in microseconds, with as many decimals as keep it readable; n/a for None."""
    if time_ps is None:
        return "n/a"
    decimals = 3 if time_ps < MILLISECOND else 1 if time_ps < SECOND else 0
    return f"{time_ps / MICROSECOND:.{decimals}f}"


def times_alike(times_ps: Sequence[int]) -> list[str]:
    """Return times for a column, all in the unit of the longest and with three decimals."""
    longest = max(times_ps, default=0)
    unit, scale = next(((unit, scale) for unit, scale in _TIME_UNITS if longest >= scale), _TIME_UNITS[-1])
    return [f"{time_ps / scale:.3f}{unit}" for time_ps in times_ps]


def rate(gbps: float | None) -> str:
    """Return a bandwidth for a column in Gb/s, with a third decimal where two would be almost nothing; n/a for None."""
    return "n/a" if gbps is None else f"{gbps:.{2 if gbps >= 0.1 or gbps == 0 else 3}f}"


def count(number: int, noun: str) -> str:
    """``count(1, "frame")`` is "1 frame", ``count(2000, "frame")`` "2,000 frames"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
