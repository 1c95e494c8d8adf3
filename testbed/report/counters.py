"""``rocelab counters``: the counters of NICs and switches of a finished run, read from its summary.

    NICs        a line a counter, under mlx5's and ethtool's names, a column a NIC
    queues      a line an egress queue: watermark, packets, marks, drops by reason
    pauses      a line a port and priority: PFC frames in and out, time paused, storms

Rows of nothing but zeros are left out unless `everything` is asked for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column
from rich.text import Text

from testbed.report import style
from testbed.report.flow_control import PAUSE
from testbed.report.style import HEADING, QUIET, plain_table

Summary = Mapping[str, Any]


def nodes(summary: Summary) -> list[str]:
    """Return the names that a choice of node may be: of NICs, their hosts, switches and switches' ports."""
    switches = _switches(summary)
    ports = [port for ports in switches.values() for port in ports]
    nics = list(summary["nic"])
    return [*dict.fromkeys(_host(nic) for nic in nics), *nics, *switches, *ports]


def _host(nic: str) -> str:
    return nic.rpartition("-")[0]


def _switches(summary: Summary) -> dict[str, list[str]]:
    """Return the ports of each switch."""
    found: dict[str, list[str]] = {}
    for port in summary["ports"]:
        if port not in summary["nic"]:
            found.setdefault(_host(port), []).append(port)
    return found


def counters(summary: Summary, node: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the counters of NICs and of switches' ports, and the drops by place; of `node` alone if it is given."""
    switches = _switches(summary)
    return {
        "nic": {name: dict(each) for name, each in summary["nic"].items() if node in (None, name, _host(name))},
        "switch": {
            port: {**summary["ports"][port], **_classes(summary, switch, port)}
            for switch, ports in switches.items()
            for port in ports
            if node in (None, switch, port)
        },
        "drops": {
            place: dict(counts)
            for place, counts in summary["drops"]["by_port"].items()
            if node in (None, place, _host(place))
        },
    }


def _classes(summary: Summary, switch: str, port: str) -> Summary:
    """Return what there is of a switch's port by queue and group; nothing without traffic classes."""
    found: Summary = summary.get("switches", {}).get(switch, {}).get("ports", {}).get(port, {})
    return found


def print_counters(console: Console, summary: Summary, node: str | None, *, everything: bool) -> None:
    """Print the tables that have something in them."""
    parts = counter_tables(summary, node, console.width, everything=everything)
    with console.capture() as captured:
        for part in parts or [Text("every counter is 0; see all of them with --all", QUIET)]:
            console.print()
            console.print(Padding(part, (0, 0, 0, 1), expand=False))
        console.print()
    style.write_tidy(console, captured.get())


def counter_tables(summary: Summary, node: str | None, width: int, *, everything: bool = False) -> list[RenderableType]:
    """Return the tables that have something in them, for `width` columns."""
    found = counters(summary, node)
    return [
        *_nics(found["nic"], width, everything),
        *_table("Switch ports", *_ports(found["switch"]), everything),
        *_table("Switch queues", *_queues(found["switch"]), everything),
        *_table("Ingress groups", *_groups(found["switch"]), everything),
        *_table("Pauses of switch ports", *_pauses(found["switch"]), everything),
        *_table("Virtual lanes", *_lanes(found["switch"]), everything),
        *_table("PFC watchdog", *_storms(found["switch"]), everything),
        *_table("Drops by reason", *_drops(found["drops"]), everything),
    ]


# --- NICs ------------------------------------------------------------------------------------------------------------


def _nics(nics: Mapping[str, Mapping[str, int]], width: int, everything: bool) -> Iterator[RenderableType]:
    """Yield tables of as many NICs as fit beside each other."""
    names = list(dict.fromkeys(counter for each in nics.values() for counter in each))
    shown = [name for name in names if everything or any(each.get(name, 0) for each in nics.values())]
    nics = {nic: each for nic, each in nics.items() if everything or any(each.values())}
    if not shown or not nics:
        return
    label = max(len(name) for name in shown)
    cells = [len(f"{value:,}") for each in nics.values() for value in each.values()]
    column = 2 + max([*cells, *(len(nic) for nic in nics)])
    fit = max(1, (width - label - 4) // column)
    for first in range(0, len(nics), fit):
        some = list(nics)[first : first + fit]
        table = plain_table(Column(Text("NICs", HEADING), no_wrap=True))
        for nic in some:
            table.add_column(Text(nic), justify="right", no_wrap=True, min_width=column - 2)
        for name in shown:
            table.add_row(name, *(_number(nics[nic].get(name)) for nic in some))
        yield table


def _number(value: int | None) -> Text:
    return Text("" if value is None else f"{value:,}", QUIET if value == 0 else "")


# --- switches --------------------------------------------------------------------------------------------------------

_COUNT, _SIZE, _TIME, _LIMIT, _LIMIT_BLOCKS = "count", "size", "time", "limit", "limit in blocks"
"""Kinds of a column. A limit is only there to compare with: it makes neither a row nor a column worth showing."""

Columns = Sequence[tuple[str, str]]
"""Name and kind of each column."""

Rows = Iterable[tuple[str, Sequence[int]]]
"""Name of each row, and its values."""


def _table(title: str, columns: Columns, rows: Rows, everything: bool) -> Iterator[RenderableType]:
    """Yield a table under its title, unless it would be empty; a column's quantities are all in one unit."""
    matters = [kind not in (_LIMIT, _LIMIT_BLOCKS) for _, kind in columns]
    found = list(rows)
    shown = [row for row in found if everything or any(compress(row[1], matters))]
    if not shown:
        return
    table = plain_table(Column(Text(title, HEADING), no_wrap=True))
    cells = []
    for (name, kind), values in zip(columns, zip(*(values for _, values in shown), strict=True), strict=True):
        if everything or any(values):
            table.add_column(Text(name), justify="right", no_wrap=True)
            texts = _written(kind, values)
            cells.append([Text(text, "" if value else QUIET) for text, value in zip(texts, values, strict=True)])
    for (name, _), row in zip(shown, zip(*cells, strict=True), strict=True):
        table.add_row(name, *row)
    yield table


def _written(kind: str, values: Sequence[int]) -> list[str]:
    if kind in (_COUNT, _LIMIT_BLOCKS):
        return [f"{value:,}" for value in values]
    return style.times_alike(values) if kind == _TIME else style.sizes_alike(values)


def _ports(ports: Mapping[str, Summary]) -> tuple[Columns, Rows]:
    columns = (
        ("sent", _COUNT), ("busy", _TIME), ("watermark", _SIZE), ("dropped", _COUNT), ("no credit", _TIME),
    )  # fmt: skip
    names = ("sent_frames", "busy_ps", "peak_queue_bytes", "dropped", "credit_wait_ps")
    return columns, ((name, [port.get(counter, 0) for counter in names]) for name, port in ports.items())


def _by_priority(ports: Mapping[str, Summary], part: str, names: Sequence[str]) -> Rows:
    """Yield the counters called `names` of each priority in that part of every port."""
    for port_name, port in ports.items():
        for priority, counts in port.get(part, {}).items():
            what = "PAUSE" if priority == PAUSE else f"priority {priority}"
            yield f"{port_name} {what}", [counts.get(name, 0) for name in names]


def _queues(ports: Mapping[str, Summary]) -> tuple[Columns, Rows]:
    columns = (
        ("packets", _COUNT), ("bytes", _SIZE), ("watermark", _SIZE), ("left over", _SIZE), ("marked", _COUNT),
        ("dropped", _COUNT),
    )  # fmt: skip
    names = ("out_packets", "out_bytes", "peak_bytes", "queue_bytes", "ecn_marked_packets", "dropped")
    return columns, _by_priority(ports, "queues", names)


def _groups(ports: Mapping[str, Summary]) -> tuple[Columns, Rows]:
    columns = (("headroom used", _SIZE), ("of", _LIMIT), ("left over", _SIZE), ("dropped", _COUNT))
    names = ("headroom_peak_bytes", "headroom_limit_bytes", "held_bytes", "dropped")
    return columns, _by_priority(ports, "groups", names)


def _pauses(ports: Mapping[str, Summary]) -> tuple[Columns, Rows]:
    columns = (
        ("XOFF tx", _COUNT), ("XON tx", _COUNT), ("XOFF rx", _COUNT), ("XON rx", _COUNT), ("paused", _TIME),
        ("times", _COUNT),
    )  # fmt: skip
    names = ("out_pfc", "out_pfc_xon", "in_pfc", "in_pfc_xon", "rx_pfc_duration_ps", "rx_pfc_transitions")
    return columns, _by_priority(ports, "pauses", names)


def _lanes(ports: Mapping[str, Summary]) -> tuple[Columns, Rows]:
    columns = (
        ("no credit", _TIME), ("times", _COUNT), ("buffer used", _COUNT), ("of", _LIMIT_BLOCKS), ("left over", _COUNT),
    )  # fmt: skip
    names = ("credit_wait_ps", "credit_waits", "peak_blocks", "buffer_blocks", "held_blocks")
    return columns, _by_priority(ports, "credits", names)


def _storms(ports: Mapping[str, Summary]) -> tuple[Columns, Rows]:
    names = ("pfc_storms_detected", "pfc_storms_restored")
    columns = (("storms detected", _COUNT), ("restored", _COUNT))
    return columns, ((name, [port.get(counter, 0) for counter in names]) for name, port in ports.items())


def _drops(places: Mapping[str, Mapping[str, int]]) -> tuple[Columns, Rows]:
    reasons = sorted({reason for counts in places.values() for reason in counts})
    return [(reason, _COUNT) for reason in reasons], (
        (place, [counts.get(reason, 0) for reason in reasons]) for place, counts in places.items()
    )
