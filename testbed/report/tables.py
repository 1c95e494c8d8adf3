"""A run's tables as Parquet: what a notebook reads when summary.json is not enough.

    drops.parquet    one row a lost frame
    ports.parquet    one row a port
    steps.parquet    one row a rank's step of a collective
    waits.parquet    one row a time that a rank waited: what it waited for, and how long
    flows.parquet    one row a point-to-point transfer

A column's unit is in its name, and what it is in its metadata (`description`); the file's metadata say which run it
is of. A table without rows is not written. Equal runs give equal files.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from testbed.measurement.records import Measurements

if TYPE_CHECKING:
    import pyarrow

TEXT, INTEGER, NUMBER, TRUTH = "text", "integer", "number", "truth"


class Column(NamedTuple):
    """A column: its name with unit, its type, whether it may have no value, and what it is."""

    name: str
    kind: str
    description: str
    optional: bool = False


@dataclass(frozen=True)
class TableOf:
    """A table to be written: its file's name without suffix, its columns, its rows as tuples in their order."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]


_DROPS = (
    Column("time_ps", INTEGER, "model time of the loss"),
    Column("where", TEXT, "port or switch that lost the frame"),
    Column("reason", TEXT, "why, by its name in drops.by_reason of summary.json"),
    Column("kind", TEXT, "data, ack, nak or other"),
    Column("source", TEXT, "host that sent the frame", optional=True),
    Column("destination", TEXT, "host that it was for", optional=True),
    Column("qp", INTEGER, "destination queue pair of a RoCE frame", optional=True),
    Column("psn", INTEGER, "packet sequence number of a RoCE frame", optional=True),
)

_PORTS = (
    Column("port", TEXT, "interface"),
    Column("node", TEXT, "switch or host that it belongs to"),
    Column("peer", TEXT, "node at the other end of its link"),
    Column("rate_bps", INTEGER, "rate of the link"),
    Column("sent_frames", INTEGER, "frames put on the wire"),
    Column("sent_bytes", INTEGER, "bytes of them on the wire, preamble, FCS and gap included"),
    Column("data_packets", INTEGER, "packets with RDMA payload among them: packet-hops"),
    Column("busy_ps", INTEGER, "time that the wire was occupied"),
    Column("peak_queue_bytes", INTEGER, "most bytes that waited in the port's queue"),
    Column("dropped_frames", INTEGER, "frames lost on the port's wire or refused by its queue"),
)

_STEPS = (
    Column("collective", INTEGER, "index in collectives of summary.json"),
    Column("rank", TEXT, "host"),
    Column("iteration", INTEGER, "counted from 0"),
    Column("step", INTEGER, "counted from 0 in each iteration"),
    Column("phase", TEXT, "reduce-scatter or all-gather"),
    Column("send_ps", INTEGER, "model time when the step's first piece was posted", optional=True),
    Column("receive_ps", INTEGER, "model time when its last piece had arrived", optional=True),
    Column("wait_ps", INTEGER, "time for which the rank did nothing but wait for pieces of the step"),
)

_WAITS = (
    Column("collective", INTEGER, "index in collectives of summary.json"),
    Column("rank", TEXT, "host that waited"),
    Column("what", TEXT, "what it waited for"),
    Column("step", INTEGER, "step, counted over all iterations"),
    Column("piece", INTEGER, "piece of the step"),
    Column("start_ps", INTEGER, "model time when the wait began"),
    Column("end_ps", INTEGER, "model time when it ended"),
)

_FLOWS = (
    Column("flow", INTEGER, "index in flows of summary.json"),
    Column("source", TEXT, "host that sent"),
    Column("destination", TEXT, "host that received"),
    Column("size_bytes", INTEGER, "payload"),
    Column("start_ps", INTEGER, "model time when the transfer was posted"),
    Column("end_ps", INTEGER, "model time when its last packet had arrived, or it failed"),
    Column("time_ps", INTEGER, "flow completion time", optional=True),
    Column("ideal_ps", INTEGER, "the same with the fabric to itself"),
    Column("goodput_gbps", NUMBER, "payload over time, Gb/s", optional=True),
    Column("verified", TRUTH, "the bytes that arrived were those sent; none: not asked for", optional=True),
    Column("wrong_bytes", INTEGER, "bytes that were not"),
    Column("failure", TEXT, "why the transfer failed", optional=True),
)


def tables(measurements: Measurements) -> Iterator[TableOf]:
    """Yield the tables of a run that have rows."""
    drops = (
        (d.time_ps, d.where, d.reason, d.kind, d.source, d.destination, d.qp, d.psn) for d in measurements.drops
    )
    ports = (
        (p.name, p.node, p.peer, p.rate_bps, p.sent_frames, p.sent_bytes, p.data_packets, p.busy_ps,
         p.peak_queue_bytes, sum(p.dropped.values()))
        for p in measurements.ports
    )  # fmt: skip
    steps = (
        (index, s.rank, s.iteration, s.step, s.phase, s.send_ps, s.receive_ps, s.wait_ps)
        for index, collective in enumerate(measurements.collectives)
        for s in collective.steps
    )
    waits = (
        (index, w.rank, w.what, w.step, w.piece, w.start_ps, w.end_ps)
        for index, collective in enumerate(measurements.collectives)
        for w in collective.waits
    )
    flows = (
        (index, f.source, f.destination, f.size_bytes, f.start_ps, f.end_ps, f.time_ps, f.ideal_ps, f.goodput_gbps,
         f.verified, f.wrong_bytes, f.failure)
        for index, f in enumerate(measurements.flows)
    )  # fmt: skip
    all_rows: tuple[tuple[str, tuple[Column, ...], Iterable[tuple[Any, ...]]], ...] = (
        ("drops", _DROPS, drops),
        ("ports", _PORTS, ports),
        ("steps", _STEPS, steps),
        ("waits", _WAITS, waits),
        ("flows", _FLOWS, flows),
    )
    for name, columns, rows in all_rows:
        table = TableOf(name, columns, tuple(rows))
        if table.rows:
            yield table


def write_tables(directory: Path, measurements: Measurements) -> tuple[Path, ...]:
    """Write the run's tables into `directory`; return their paths."""
    about = {
        "title": measurements.scenario.title,
        "seed": str(measurements.scenario.seed),
        "rocelab": measurements.versions.get("rocelab", ""),
        "units": "time in picoseconds of model time (_ps), sizes in bytes, rates in bit/s (_bps) and Gb/s (_gbps)",
    }
    return tuple(_write(directory / f"{table.name}.parquet", table, about) for table in tables(measurements))


def _write(path: Path, table: TableOf, about: dict[str, str]) -> Path:
    from pyarrow import parquet  # slow to import, and a run is not to wait for it before it has results

    parquet.write_table(_arrow(table, about), path, compression="zstd")
    return path


def _arrow(table: TableOf, about: dict[str, str]) -> "pyarrow.Table":
    import pyarrow

    types = {TEXT: pyarrow.string(), INTEGER: pyarrow.int64(), NUMBER: pyarrow.float64(), TRUTH: pyarrow.bool_()}
    schema = pyarrow.schema(
        [
            pyarrow.field(c.name, types[c.kind], nullable=c.optional, metadata={"description": c.description})
            for c in table.columns
        ],
        metadata=about,
    )
    columns = zip(*table.rows, strict=True)
    arrays = [pyarrow.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=schema)
