"""Several runs side by side: one row a quantity, one column a run, differences from the first run marked.

Quantities are read from the runs' summaries; a row that is nothing but zeros, or that no run has, is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from testbed.report import style
from testbed.report.style import BAD, GOOD, HEADING, QUIET
from testbed.units import format_time

Summary = Mapping[str, Any]
Value = int | float | None


@dataclass(frozen=True)
class Quantity:
    """A row: its name, how its value is read from a summary, how it is written, and whether less is better."""

    name: str
    read: Callable[[Summary], Value]
    write: Callable[[Any], str]
    less_is_better: bool = True


def _count(value: int) -> str:
    return f"{value:,}"


def _gbps(value: float) -> str:
    return f"{value:.2f} Gb/s"


def _completion_ps(summary: Summary) -> Value:
    """The collectives' completion time, the longest if there are several; else that of the last flow."""
    times = [item["time_ps"] for item in summary["collectives"]] or [item["end_ps"] for item in summary["flows"]]
    return max(times) if times and None not in times else None


def _busbw(summary: Summary) -> Value:
    values = [item["busbw_gbps"] for item in summary["collectives"]]
    return min(values) if values and None not in values else None


def _stall_max_ps(summary: Summary) -> Value:
    values = [item["stall_max_ps"] for item in summary["collectives"]]
    return max(values) if values else None


def _stall_sum_ps(summary: Summary) -> Value:
    values = [stall for item in summary["collectives"] for stall in item["stall_ps_by_rank"].values()]
    return sum(values) if values else None


def _slowest_flow_gbps(summary: Summary) -> Value:
    values = [item["goodput_gbps"] for item in summary["flows"]]
    return min(values) if values and None not in values else None


def _nic(counter: str) -> Callable[[Summary], Value]:
    return lambda summary: sum(counters.get(counter, 0) for counters in summary["nic"].values())


def _ports(counter: str) -> Callable[[Summary], Value]:
    return lambda summary: sum(port.get(counter, 0) for port in summary["ports"].values())


def _peak_queue(summary: Summary) -> Value:
    return max((port["peak_queue_bytes"] for port in summary["ports"].values()), default=0)


QUANTITIES = (
    Quantity("completion time", _completion_ps, format_time),
    Quantity("busbw, slowest", _busbw, _gbps, less_is_better=False),
    Quantity("goodput, slowest flow", _slowest_flow_gbps, _gbps, less_is_better=False),
    Quantity("stall, worst rank", _stall_max_ps, format_time),
    Quantity("stall, all ranks", _stall_sum_ps, format_time),
    Quantity("frames dropped", lambda summary: summary["drops"]["total"], _count),
    Quantity("packets retransmitted", lambda summary: summary["retransmitted_packets"], _count),
    Quantity("NAKs for a lost packet", _nic("packet_seq_err"), _count),
    Quantity("timeouts", _nic("local_ack_timeout_err"), _count),
    Quantity("frames marked (CE)", _ports("ecn_marked_packets"), _count),
    Quantity("CNPs sent", _nic("np_cnp_sent"), _count),
    Quantity("pauses sent (XOFF)", _ports("pfc_xoff_tx"), _count),
    Quantity("time paused, all ports", _ports("pfc_pause_duration_ps"), format_time),
    Quantity("time without credit, all ports", _ports("credit_wait_ps"), format_time),
    Quantity("longest queue", _peak_queue, _count),
)


def rows(summaries: Sequence[Summary]) -> list[tuple[Quantity, list[Value]]]:
    """Return the quantities that say something about these runs, with their values."""
    found = [(quantity, [quantity.read(summary) for summary in summaries]) for quantity in QUANTITIES]
    return [(quantity, values) for quantity, values in found if any(values)]


def as_json(names: Sequence[str], summaries: Sequence[Summary]) -> dict[str, dict[str, Value]]:
    """Return quantity -> run -> value, in picoseconds, Gb/s, frames and bytes."""
    return {quantity.name: dict(zip(names, values, strict=True)) for quantity, values in rows(summaries)}


def print_comparison(console: Console, names: Sequence[str], summaries: Sequence[Summary]) -> None:
    """Print the table. Beside each value that differs from the first run's stands by how much."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style=HEADING)
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right", overflow="fold")
    for quantity, values in rows(summaries):
        cells = [_cell(quantity, value, values[0], first=index == 0) for index, value in enumerate(values)]
        table.add_row(Text(quantity.name), *cells)
    failures = [
        (name, summary["failure"]) for name, summary in zip(names, summaries, strict=True) if summary["failure"]
    ]
    with console.capture() as captured:
        console.print()
        console.print(Padding(table, (0, 0, 0, 1)))
        for name, failure in failures:
            console.print(Padding(Text(f"{name}: {failure}", BAD), (1, 0, 0, 1)))
        console.print()
    style.write_tidy(console, captured.get())


def _cell(quantity: Quantity, value: Value, reference: Value, *, first: bool) -> Text:
    if value is None:
        return Text("n/a", QUIET)
    text = Text(quantity.write(value))
    if first or value == reference or reference is None:
        return text
    better = (value < reference) == quantity.less_is_better
    text.append(f" {_difference(value, reference)}", GOOD if better else BAD)
    return text


def _difference(value: int | float, reference: int | float) -> str:
    """``+12 %`` up to twice as much, then ``x3.1``; a number that was 0 has neither, and says ``new``."""
    if not reference:
        return "new"
    ratio = value / reference
    return f"x{ratio:.1f}" if ratio >= 2 else f"{(ratio - 1) * 100:+.1f} %"
