"""Several runs side by side: one row a quantity, one column a run, differences from the first run marked.

Where there are more runs than fit beside each other, a row is a run and a column a quantity, with the difference
beneath the value. Quantities are read from the runs' summaries; one that is nothing but zeros, or that no run has, is
left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import takewhile
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from testbed.report import style
from testbed.report.style import BAD, GOOD, HEADING, QUIET, Signs
from testbed.units import format_size, format_time

Summary = Mapping[str, Any]
Value = int | float | None

_WORTH_SHARING = 4
"""Letters from which on what all runs' names start with is said once."""
_GAP = 2
"""Columns between two columns of the table."""


@dataclass(frozen=True)
class Compared:
    """A run: what it is called, and its summary."""

    name: str
    summary: Summary


@dataclass(frozen=True)
class Quantity:
    """A row: its name, its key in JSON (with the unit), how it is read from a summary and written, and which way is
    better; `less_is_better` None: neither, as with a mark, which is no harm in itself."""

    name: str
    key: str
    read: Callable[[Summary], Value]
    write: Callable[[Any], str]
    less_is_better: bool | None = True


def _count(value: int) -> str:
    return f"{value:,}"


def _gbps(value: float) -> str:
    return f"{style.rate(value)} Gb/s"


def _size(value: int) -> str:
    return format_size(value, 1)


def _completion_ps(summary: Summary) -> Value:
    """The collectives' and traces' completion time, the longest if there are several; else that of the last flow."""
    of_ranks = _of_ranks(summary)
    items = of_ranks or summary["flows"]
    if not items or any(item["failed"] for item in items):
        return None
    found: int = max(item["time_ps"] if of_ranks else item["end_ps"] for item in items)
    return found


def _of_ranks(summary: Summary) -> list[Summary]:
    """Return the results that have ranks: collectives, and traces where there are any."""
    return [*summary["collectives"], *summary.get("traces", ())]


def _least(kind: str, key: str) -> Callable[[Summary], Value]:
    def read(summary: Summary) -> Value:
        values = [item[key] for item in summary[kind]]
        return min(values) if values and None not in values else None

    return read


def _stall_max_ps(summary: Summary) -> Value:
    values = [item["stall_max_ps"] for item in _of_ranks(summary)]
    return max(values) if values else None


def _stall_sum_ps(summary: Summary) -> Value:
    values = [stall for item in _of_ranks(summary) for stall in item["stall_ps_by_rank"].values()]
    return sum(values) if values else None


def _total(counter: str) -> Callable[[Summary], Value]:
    def read(summary: Summary) -> Value:
        found: int = summary["totals"][counter]
        return found

    return read


def _peak_queue(summary: Summary) -> Value:
    return max((port["peak_queue_bytes"] for port in summary["ports"].values()), default=0)


QUANTITIES = (
    Quantity("completion time", "completion_time_ps", _completion_ps, format_time),
    Quantity("busbw, slowest", "busbw_gbps", _least("collectives", "busbw_gbps"), _gbps, less_is_better=False),
    Quantity("slowest flow", "slowest_flow_gbps", _least("flows", "goodput_gbps"), _gbps, less_is_better=False),
    Quantity("stall, worst rank", "stall_max_ps", _stall_max_ps, format_time),
    Quantity("stall, all ranks", "stall_sum_ps", _stall_sum_ps, format_time),
    Quantity("frames dropped", "dropped_frames", lambda summary: summary["drops"]["total"], _count),
    Quantity("packets sent again", "retransmitted_packets", lambda summary: summary["retransmitted_packets"], _count),
    Quantity("NAKs", "packet_seq_err", _total("packet_seq_err"), _count),
    Quantity("timeouts", "local_ack_timeout_err", _total("local_ack_timeout_err"), _count),
    Quantity("packets marked", "ecn_marked_packets", _total("ecn_marked_packets"), _count, less_is_better=None),
    Quantity("CNPs sent", "cnps_sent", _total("cnps_sent"), _count, less_is_better=None),
    Quantity("pauses", "pauses", _total("pauses"), _count),
    Quantity("time paused, all ports", "pfc_pause_duration_ps", _total("pfc_pause_duration_ps"), format_time),
    Quantity("watchdog storms", "watchdog_storms", _total("watchdog_storms"), _count),
    Quantity("deadlocks", "deadlocks", _total("deadlocks"), _count),
    Quantity("time without credit", "credit_wait_ps", _total("credit_wait_ps"), format_time),
    Quantity("longest queue", "peak_queue_bytes", _peak_queue, _size),
)


def rows(runs: Sequence[Compared]) -> list[tuple[Quantity, list[Value]]]:
    """Return the quantities that say something about these runs, with their values."""
    found = [(quantity, [quantity.read(run.summary) for run in runs]) for quantity in QUANTITIES]
    return [(quantity, values) for quantity, values in found if any(values)]


def as_json(runs: Sequence[Compared]) -> list[dict[str, Any]]:
    """Return all quantities of each run, in picoseconds, Gb/s, frames and bytes, and whether it is as expected."""
    return [
        {
            "run": run.name,
            "title": run.summary["title"],
            "ok": run.summary["ok"],
            "failure": run.summary["failure"],
            **{quantity.key: quantity.read(run.summary) for quantity in QUANTITIES},
        }
        for run in runs
    ]


def print_comparison(console: Console, runs: Sequence[Compared]) -> None:
    """Print the table, then which runs are not as expected. Beside a value that differs stands by how much."""
    found = rows(runs)
    cells = [_cells(quantity, values) for quantity, values in found]
    tables = [_upright(runs, found, cells)]
    if _width(tables[0]) + 1 > console.width:
        tables = list(_transposed(runs, found, cells, console.width - 1))
    with console.capture() as captured:
        for part in (*tables, *_failures(runs, Signs(console))):
            console.print()
            console.print(Padding(part, (0, 0, 0, 1), expand=False))
        console.print()
    style.write_tidy(console, captured.get())


Cell = tuple[Text, Text]
"""A value, and by how much it differs from the first run's: nothing when it does not."""

Rows = Sequence[tuple[Quantity, Sequence[Value]]]


def _upright(runs: Sequence[Compared], found: Rows, cells: Sequence[Sequence[Cell]]) -> Table:
    """A row a quantity; each run but the first has a second column for the differences."""
    table = _plain()
    shared, names = _without_shared_start([run.name for run in runs])
    table.add_column(Text(shared), no_wrap=True)
    for index, name in enumerate(names):
        table.add_column(Text(name), justify="right", no_wrap=True)
        if index:
            table.add_column(Text(""), no_wrap=True)
    for (quantity, _), row in zip(found, cells, strict=True):
        table.add_row(Text(quantity.name), row[0][0], *(text for cell in row[1:] for text in cell))
    return table


def _transposed(runs: Sequence[Compared], found: Rows, cells: Sequence[Sequence[Cell]], width: int) -> Iterator[Table]:
    """Yield tables of as many quantities as fit: a row a run."""
    columns = [(Text(_stacked(quantity.name)), each) for (quantity, _), each in zip(found, cells, strict=True)]
    while columns:
        taken = len(columns)
        while taken > 1 and _width(_runs_table(runs, columns[:taken])) > width:
            taken -= 1
        yield _runs_table(runs, columns[:taken])
        columns = columns[taken:]


def _runs_table(runs: Sequence[Compared], columns: Sequence[tuple[Text, Sequence[Cell]]]) -> Table:
    """A row a run, the differences beneath the values."""
    table = _plain()
    shared, names = _without_shared_start([run.name for run in runs])
    table.add_column(Text(shared), overflow="fold", min_width=max(min(len(name), 40) for name in names))
    for title, _ in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for name, row in zip(names, zip(*(cells for _, cells in columns), strict=True), strict=True):
        table.add_row(Text(name), *(Text("\n").join(text for text in cell if text) for cell in row))
    return table


def _without_shared_start(names: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the words (ending in - or /) with which all names start, and the names without them."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    start = "".join(letters[0] for letters in same)
    shared = start[: max(start.rfind("-"), start.rfind("/")) + 1]
    if len(names) < 2 or len(shared) < _WORTH_SHARING or shared in names:
        return "", names
    return f"{shared}...", [name[len(shared) :] for name in names]


def _plain() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style=HEADING)


def _width(table: Table) -> int:
    """Return the columns that a table takes when nothing in it is broken."""
    wide = Console(width=10_000, file=StringIO())
    return table.__rich_measure__(wide, wide.options).maximum


def _stacked(name: str) -> str:
    """Break a name in two lines where that makes it shortest."""
    words = name.split()
    breaks = [("\n".join((" ".join(words[:at]), " ".join(words[at:])))) for at in range(1, len(words))] or [name]
    return min(breaks, key=lambda text: max(map(len, text.split("\n"))))


def _cells(quantity: Quantity, values: Sequence[Value]) -> list[Cell]:
    return [_cell(quantity, value, values[0]) for value in values]


def _cell(quantity: Quantity, value: Value, reference: Value) -> Cell:
    if value is None:
        return Text("n/a", QUIET), Text("")
    text = Text(quantity.write(value))
    if reference is None or value == reference:
        return text, Text("")
    colour = QUIET
    if quantity.less_is_better is not None:
        colour = GOOD if (value < reference) == quantity.less_is_better else BAD
    return text, Text(_difference(value, reference), colour)


def _difference(value: int | float, reference: int | float) -> str:
    """``+12.0 %`` up to twice as much, then ``x3.1``; below a tenth ``/31.0``; ``new`` and ``none`` for 0."""
    if not reference or not value:
        return "none" if reference else "new"
    ratio = value / reference
    if ratio >= 2:
        return f"x{ratio:,.1f}"
    return f"/{1 / ratio:,.1f}" if ratio < 0.1 else f"{(ratio - 1) * 100:+.1f} %"


def _failures(runs: Sequence[Compared], signs: Signs) -> Iterator[RenderableType]:
    """Name the runs that are not as their scenarios expect, or whose work failed."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for run in runs:
        for text, expected in _problems(run.summary):
            table.add_row(signs.check(expected), Text(f"{run.name}: {text}", "" if expected else BAD))
    if table.row_count:
        yield table


def _problems(summary: Summary) -> Iterator[tuple[str, bool]]:
    """Yield what went wrong, each with whether the scenario expects it."""
    if summary["failure"]:
        yield f"the work failed: {summary['failure']}", summary["ok"]
    for kind in ("expectation", "invariant"):
        for item in summary[f"{kind}s"]:
            if not item["ok"]:
                yield f"{kind} {item['name']}: {item['detail']}", False
