"""What ``rocelab trace info`` prints: what is inside a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Column
from rich.text import Text

from testbed.report.style import (
    BAD,
    HEADING,
    QUIET,
    WARNING,
    Signs,
    count,
    indented,
    plain_table,
    sizes_alike,
    times_alike,
    write_tidy,
)
from testbed.units import format_size, format_time
from traffic.traces.survey import Survey

_MOST_ROWS = 16
"""Rows of a table that can be long; ``--json`` has all."""


def print_survey(console: Console, found: Survey) -> None:
    """Print all that is known about a trace."""
    with console.capture() as captured:
        console.print(Group(*_parts(found, Signs(console))))
    write_tidy(console, captured.get())


def _parts(found: Survey, signs: Signs) -> Iterator[RenderableType]:
    yield _headline(found)
    yield _section("Nodes")
    rows = [(what, f"{number:,}") for what, number in found.nodes.items()]
    yield _table([Column(""), Column("", justify="right")], rows, signs)
    if found.collectives:
        yield _section("Collectives", "sizes as nccl-tests counts them")
        yield _collectives(found, signs)
    if found.messages:
        yield _section("Messages")
        yield _messages(found, signs)
    yield _section("Ranks")
    yield _ranks(found, signs)
    if found.critical_path_ps is not None:
        text = f"Critical path of the calculations: {format_time(found.critical_path_ps)}"
        yield indented(Text(text))
    yield from _notes(found)


def _headline(found: Survey) -> Text:
    text = Text.assemble((f"{found.format} trace", HEADING))
    nodes = sum(found.nodes.values())
    text.append(f": {count(len(found.ranks), 'rank')}, {count(nodes, 'node')}, {count(len(found.files), 'file')}")
    return text


def _section(title: str, note: str = "") -> Text:
    return Text.assemble("\n", (title, HEADING), (f"  {note}" if note else "", QUIET))


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]], signs: Signs) -> RenderableType:
    table = plain_table(*columns)
    for row in rows[:_MOST_ROWS]:
        table.add_row(*row)
    left = len(rows) - _MOST_ROWS
    return Group(table, indented(Text(f"{signs.more} {left:,} more (--json has all)", QUIET))) if left > 0 else table


def _right(*names: str) -> list[Column]:
    return [Column(name, justify="right") for name in names]


def _collectives(found: Survey, signs: Signs) -> RenderableType:
    rows = found.collectives
    sizes = sizes_alike([row.size_bytes for row in rows])
    totals = sizes_alike([row.total_bytes for row in rows])
    columns = [Column("kind"), Column("group"), *_right("ranks", "size", "count", "total")]
    texts = [
        (row.kind, _group(row.group, found), f"{row.ranks}", size, f"{row.count:,}", total)
        for row, size, total in zip(rows, sizes, totals, strict=True)
    ]
    return _table(columns, texts, signs)


def _group(name: str, found: Survey) -> str:
    return f"{name or 'all'}{' (inferred)' if name in found.inferred else ''}"


def _messages(found: Survey, signs: Signs) -> RenderableType:
    rows = found.messages
    sizes = sizes_alike([row.size_bytes for row in rows])
    totals = sizes_alike([row.size_bytes * row.count for row in rows])
    texts = [
        (f"{row.source} {signs.to} {row.destination}", size, f"{row.count:,}", total)
        for row, size, total in zip(rows, sizes, totals, strict=True)
    ]
    return _table([Column("ranks"), *_right("size", "count", "total")], texts, signs)


def _ranks(found: Survey, signs: Signs) -> RenderableType:
    rows = found.ranks
    times = times_alike([row.compute_ps for row in rows])
    columns = _right("rank", "nodes", "compute", "collectives", "bytes", "sends", "bytes")
    texts = [
        (
            f"{row.rank}", f"{row.nodes:,}", time, f"{row.collectives:,}", format_size(row.collective_bytes, 1),
            f"{row.sends:,}", format_size(row.sent_bytes, 1),
        )
        for row, time in zip(rows, times, strict=True)
    ]  # fmt: skip
    return _table(columns, texts, signs)


def _notes(found: Survey) -> Iterator[Text]:
    """Yield what a reader must know before believing a replay."""
    if found.unknown:
        yield _section("Not understood", "replayed as nodes that take no time")
        for what, number in found.unknown.items():
            yield Text(f"  {number:,} {what}", WARNING)
    if found.left_out:
        yield _section("Left out", "takes no time and holds nothing up")
        for what, number in found.left_out.items():
            yield Text(f"  {number:,} {what}", QUIET)
    if found.mistakes:
        yield _section("Cannot be replayed")
        for line in found.mistakes:
            yield Text(f"  {line}", BAD)
