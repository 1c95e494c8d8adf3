"""The table of ``rocelab bench``: nccl-tests' columns and units, so that what reads one reads the other.

As there, lines that begin with ``#`` are for people, and the rest are numbers; size and times are bytes and
microseconds, bandwidths GB/s. Count is what a rank passes to the call: the size's elements, and in a reduce-scatter, an
all-gather or an all-to-all its n-th part. nccl-tests measures out of place and in place; here there is one of each
number, since the model has no copy whose time would differ. On a wide terminal, and always in JSON, follow the share of
the contention-free time, and what was dropped, sent again and paused.

References: nccl-tests src/common.cu (columns), doc/PERFORMANCE.md (bandwidths).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from testbed.measurement.records import Measurements
from testbed.scenario.collectives import Broadcast, Collective
from testbed.scenario.limits import ELEMENT_BYTES
from testbed.scenario.model import Scenario
from testbed.scenario.placement import Rank
from testbed.units import MICROSECOND, format_rate, format_size

WIDE = 118
"""Columns from which on the table has those that nccl-tests has not."""

_SHARED_OUT = ("reduce-scatter", "all-gather", "all-to-all")
_BITS = 8
_DECIMALS = 3


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One size. Times are model time in picoseconds, bandwidths Gb/s as in summary.json; None where there is none.

    `count`: elements that a rank passes to the call; `root`: the rank of a broadcast's root, else -1.
    `share_of_ideal`: the contention-free time over this one. `wrong_elements`: None where nothing was compared.
    `pauses`: how often flow control paused a link. `problems`: why the row does not count, empty if it does.
    """

    size_bytes: int
    count: int
    data_type: str
    operation: str
    root: int
    collective: str
    algorithm: str
    ranks: int
    iterations: int
    time_ps: int | None
    ideal_ps: int
    share_of_ideal: float | None
    algbw_gbps: float | None
    busbw_gbps: float | None
    wrong_elements: int | None
    dropped_frames: int
    retransmitted_packets: int
    pauses: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the sums are right and all that must hold did."""
        return not self.problems


def bench_row(measured: Measurements, position: int) -> BenchRow:
    """Return the row of the collective at `position` of a run."""
    result = measured.collectives[position]
    work = [work for work in measured.scenario.workload if isinstance(work, Collective)][position]
    elements = result.size_bytes // ELEMENT_BYTES
    return BenchRow(
        size_bytes=result.size_bytes,
        count=elements // len(result.ranks) if result.kind in _SHARED_OUT else elements,
        data_type="float",
        operation=result.operation,
        root=_root(work, result.ranks),
        collective=result.kind,
        algorithm=result.algorithm,
        ranks=len(result.ranks),
        iterations=result.iterations,
        time_ps=result.time_ps,
        ideal_ps=result.ideal_ps,
        share_of_ideal=round(result.ideal_ps / result.time_ps, _DECIMALS) if result.time_ps else None,
        algbw_gbps=_rounded(result.algbw_gbps),
        busbw_gbps=_rounded(result.busbw_gbps),
        wrong_elements=None if result.verified is None else result.wrong_elements,
        dropped_frames=len(measured.drops),
        retransmitted_packets=measured.retransmitted_packets,
        pauses=len(measured.pauses.pauses) if measured.pauses else 0,
        problems=tuple(_problems(measured)),
    )


def _root(work: Collective, ranks: Sequence[str]) -> int:
    if not isinstance(work, Broadcast):
        return -1
    return 0 if work.root is None else ranks.index(work.root)


def _problems(measured: Measurements) -> Iterator[str]:
    if measured.failure is not None:
        yield f"the workload failed: {measured.failure}"
    yield from (f"{each.name}: {each.detail}" for each in measured.invariants if not each.ok)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def as_json(row: BenchRow) -> dict[str, Any]:
    """Return a row as an object of JSON."""
    return {**asdict(row), "problems": list(row.problems), "ok": row.ok}


# --- lines for a terminal --------------------------------------------------------------------------------------------


def head(
    scenario: Scenario, ranks: Sequence[Rank], work: Collective, sizes: Sequence[int], *, wide: bool, context: str = ""
) -> list[str]:
    """Return the lines above the table: what is measured, among whom, and the names of the columns.

    `context` says what became of the scenario's other work.
    """
    rate = format_rate(scenario.fabric.link.rate)
    return [
        f"# {scenario.title}",
        f"# {work.kind}, {work.algorithm}{', ' * bool(context)}{context}",
        f"# minBytes {min(sizes)} maxBytes {max(sizes)} sizes: {len(sizes)} warmup iters: 0 iters: {work.iterations} "
        f"validation: {int(work.verify)}",
        "#",
        "# Using ranks",
        *(
            f"#  Rank {number:2} on {rank.host:>10} device {rank.local:2} link {rate}"
            for number, rank in enumerate(ranks)
        ),
        "#",
        "# Times are model time, and the same in every run: no warm-up, and no second column for in-place.",
        *(_line("#", row, wide) for row in _COLUMN_HEADS),
    ]


_COLUMN_HEADS = (
    (
        "size",
        "count",
        "type",
        "redop",
        "root",
        "time",
        "algbw",
        "busbw",
        "#wrong",
        "ideal",
        "drops",
        "resent",
        "pauses",
    ),
    ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(%)", "", "", ""),
)
_WIDTHS = (13, 13, 7, 6, 6, 11, 8, 8, 7, 7, 8, 8, 8)
_NCCL_COLUMNS = 9


def line(row: BenchRow, *, wide: bool) -> str:
    """Return the line of a row."""
    share = None if row.share_of_ideal is None else 100 * row.share_of_ideal
    cells = (
        str(row.size_bytes),
        str(row.count),
        row.data_type,
        row.operation,
        str(row.root),
        _number(None if row.time_ps is None else row.time_ps / MICROSECOND),
        _number(None if row.algbw_gbps is None else row.algbw_gbps / _BITS),
        _number(None if row.busbw_gbps is None else row.busbw_gbps / _BITS),
        "N/A" if row.wrong_elements is None else str(row.wrong_elements),
        "N/A" if share is None else f"{share:.1f}",
        str(row.dropped_frames),
        str(row.retransmitted_packets),
        str(row.pauses),
    )
    return _line("", cells, wide)


def _line(mark: str, cells: Sequence[str], wide: bool) -> str:
    shown = len(cells) if wide else _NCCL_COLUMNS
    text = "".join(cell.rjust(width) for cell, width in zip(cells[:shown], _WIDTHS, strict=False))
    return (mark + text[len(mark) :]).rstrip()


def _number(value: float | None) -> str:
    return "N/A" if value is None else f"{value:.2f}"


def foot(rows: Sequence[BenchRow]) -> list[str]:
    """Return the lines below the table."""
    wrong = sum(row.wrong_elements or 0 for row in rows)
    bandwidths = [row.busbw_gbps / _BITS for row in rows if row.busbw_gbps is not None]
    average = f"{sum(bandwidths) / len(bandwidths):.6g}" if bandwidths else "N/A"
    return [
        f"# Out of bounds values : {wrong} {'OK' if all(row.ok for row in rows) else 'FAILED'}",
        f"# Avg bus bandwidth    : {average}",
        "#",
    ]


def problems(rows: Sequence[BenchRow]) -> Iterator[str]:
    """Yield what went wrong, a line each."""
    for row in rows:
        yield from (f"{format_size(row.size_bytes)}: {problem}" for problem in row.problems)
