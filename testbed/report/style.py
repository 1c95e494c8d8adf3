"""How the terminal report looks: its few colours, its signs and their plain forms, and how numbers are written.

Where the output's encoding has no other letters than ASCII the signs are ASCII too; where there is no terminal there
are no colours. Neither changes what is said.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
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
_SIZE_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
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
        self.times = "x" if self._ascii else "\u00d7"
        self.fork, self.last, self.trunk = ("|- ", "`- ", "|  ") if self._ascii else ("├─ ", "└─ ", "│  ")

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


def sizes_alike(sizes_bytes: Sequence[int]) -> list[str]:
    """Return sizes for a column, all in the unit of the largest and, above bytes, with one decimal."""
    largest = max(sizes_bytes, default=0)
    unit, scale = next(((unit, scale) for unit, scale in _SIZE_UNITS if largest >= scale), ("B", 1))
    return [f"{size / scale:.{0 if scale == 1 else 1}f}{unit}" for size in sizes_bytes]


def rate(gbps: float | None) -> str:
    """Return a bandwidth for a column in Gb/s, with a third decimal where two would be almost nothing; n/a for None."""
    return "n/a" if gbps is None else f"{gbps:.{2 if gbps >= 0.1 or gbps == 0 else 3}f}"


def count(number: int, noun: str) -> str:
    """``count(1, "frame")`` is "1 frame", ``count(2000, "frame")`` "2,000 frames"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def plain_table(*columns: Column) -> Table:
    """Return a table without lines, indented by two; with a header if its columns have one."""
    has_header = not columns or bool(columns[0].header)
    return Table(*columns, box=None, show_header=has_header, header_style=QUIET, padding=(0, 0, 0, 2))


def indented(text: RenderableType) -> RenderableType:
    """Return `text` indented as a table's rows are."""
    return Padding(text, (0, 0, 0, 2))


def places_with_most(counts: Mapping[str, int], word: str, signs: Signs, most_shown: int = 8) -> str:
    """Return the places with most first: ``at leaf0-eth1 (3), h2-eth0``; one frame needs no number."""
    most = sorted((item for item in counts.items() if item[1]), key=lambda item: -item[1])
    texts = [f"{name} ({number:,})" if number > 1 and len(most) > 1 else name for name, number in most[:most_shown]]
    more = [f"{signs.more} {len(most) - most_shown} more"] if len(most) > most_shown else []
    return f"{word} {', '.join([*texts, *more])}"
