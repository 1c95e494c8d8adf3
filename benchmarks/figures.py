"""Figures and tables of benchmarks: medians with their range, shown by rich or as Markdown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing: on a machine that others use too, one number says little."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Return the spread of `values`. Raises ValueError when there are none."""
        found = tuple(values)
        if not found:
            raise ValueError("expected at least one measurement, found none")
        return cls(found)

    @property
    def median(self) -> float:
        return float(median(self.values))

    @property
    def lowest(self) -> float:
        return min(self.values)

    @property
    def highest(self) -> float:
        return max(self.values)

    def text(self, form: str = ",.0f") -> str:
        """``52,310 (50,904-53,120)``: median, then lowest and highest, each in the format `form`."""
        middle = format(self.median, form)
        if len(self.values) == 1:
            return middle
        return f"{middle} ({format(self.lowest, form)}-{format(self.highest, form)})"

    def as_json(self) -> dict[str, Any]:
        """Return median, range and every single value."""
        return {"median": self.median, "min": self.lowest, "max": self.highest, "values": list(self.values)}


@dataclass(frozen=True)
class Table:
    """A table of texts; the first column is a name, the others are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r}: expected {len(self.columns)} cells, found {row}")

    def markdown(self) -> str:
        """Return the table as Markdown, its title in bold above it."""
        alignment = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [_markdown_row(row) for row in (self.columns, alignment, *self.rows)]
        return "\n".join([f"**{self.title}**", "", *lines])

    def show(self, console: Console) -> None:
        """Print the table."""
        shown = RichTable(title=self.title, title_justify="left", title_style="bold", box=None, pad_edge=False)
        for number, column in enumerate(self.columns):
            shown.add_column(column, justify="right" if number else "left", overflow="fold")
        for row in self.rows:
            shown.add_row(*row)
        console.print(shown)
        console.print()


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


@dataclass(frozen=True)
class Result:
    """What one benchmark found: `tables` and `notes` for readers, `data` for programs."""

    name: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """How to run: each measurement `repeat` times; `quick` makes everything tiny, to see that it works. `say` gets a
    line about what is being measured now."""

    repeat: int
    quick: bool
    say: Callable[[str], None]
