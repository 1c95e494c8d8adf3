"""A run's tables as Parquet: what a notebook reads when summary.json is not enough.

    drops.parquet    one row a lost frame
    ports.parquet    one row a port
    steps.parquet    one row a rank's step of a collective
    waits.parquet    one row a time that a rank of a collective or trace waited, or computed: for what, and how long
    flows.parquet    one row a point-to-point transfer
    queues.parquet   one row an egress queue of a switch with traffic classes, and its ingress group
    pauses.parquet   one row a pause: who paused whom, for how long, and where it began
    causes.parquet   one row a cause of a rank's stall, or of a flow's delay; a rank's durations add up to its stall
    series.parquet   one row an interval of model time in which a port, queue, NIC or queue pair did something
    events.parquet   one row an event: a drop, mark, pause, timeout, retransmission ...
    messages.parquet one row a message between ranks: posted, sent, arrived
    nodes.parquet    one row a node of a trace: when it started and ended, here and without contention
    rates.parquet    one row a change of a queue pair's congestion control, and value (`measure: {rates: true}`)

A column's unit is in its name, and what it is in its metadata (`description`); the file's metadata say which run it
is of. A table without rows is not written. Equal runs give equal files.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.measurement.records import Measurements
from testbed.report import history_tables
from testbed.report.columns import INTEGER, NUMBER, TEXT, TRUTH, Column, Row

if TYPE_CHECKING:
    import pyarrow

    from testbed.engine.statistics import GroupStatistics

_DROPS = (
    Column("time_ps", INTEGER, "model time of the loss"),
    Column("where", TEXT, "port or switch that lost the frame"),
    Column("reason", TEXT, "why, by its name in drops.by_reason of summary.json"),
    Column("kind", TEXT, "data, ack, nak, cnp, pause or other"),
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
    Column("collective", INTEGER, "index in collectives of summary.json; none: of a trace", optional=True),
    Column("trace", INTEGER, "index in traces of summary.json; none: of a collective", optional=True),
    Column("rank", TEXT, "rank that waited"),
    Column("what", TEXT, "what it waited for; of a trace, the node that ended the wait"),
    Column("step", INTEGER, "step, counted over all iterations; of a trace, the wait's number at the rank"),
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

_QUEUES = (
    Column("switch", TEXT, "switch"),
    Column("port", TEXT, "interface of the egress queue, and of the ingress group"),
    Column("priority", INTEGER, "traffic class of the one, priority group of the other"),
    Column("out_packets", INTEGER, "frames that left the queue"),
    Column("out_bytes", INTEGER, "bytes of them, without FCS"),
    Column("peak_bytes", INTEGER, "most bytes that the queue ever held"),
    Column("queue_bytes", INTEGER, "bytes that it held at the end"),
    Column("ecn_marked_packets", INTEGER, "frames that it marked CE"),
    Column("queue_dropped_frames", INTEGER, "frames that the queue dropped"),
    Column("held_bytes", INTEGER, "bytes that the ingress group held at the end", optional=True),
    Column("headroom_peak_bytes", INTEGER, "most bytes that its headroom ever held", optional=True),
    Column("headroom_limit_bytes", INTEGER, "size of its headroom", optional=True),
    Column("group_dropped_frames", INTEGER, "frames that it dropped", optional=True),
)

_PAUSES = (
    Column("start_ps", INTEGER, "model time when the sender decided to pause"),
    Column("end_ps", INTEGER, "model time when it decided to let go on; none: it never did", optional=True),
    Column("sender", TEXT, "port that sent the pause frames"),
    Column("paused", TEXT, "port at the other end of its link, which had to stop"),
    Column("priority", INTEGER, "priority that had to stop; none: all (PAUSE)", optional=True),
    Column("refreshes", INTEGER, "how often the pause was prolonged"),
    Column("root", TEXT, "port where the pauses that led to this one began"),
    Column("depth", INTEGER, "how many pauses lie between the root and this one"),
)

_CAUSES = (
    Column("collective", INTEGER, "index in collectives of summary.json; none: the row is of none", optional=True),
    Column("flow", INTEGER, "index in flows of summary.json; none: the row is of no flow", optional=True),
    Column("trace", INTEGER, "index in traces of summary.json; none: the row is of no trace", optional=True),
    Column("rank", TEXT, "rank that stalled; of a flow, the host that it went to"),
    Column("cause", TEXT, "what the time was lost to, by its name in docs/explain.md"),
    Column("where", TEXT, "port, NIC or rank where it was lost"),
    Column("detail", TEXT, "the flow that was in front, the packet that was lost, who paused"),
    Column("origin", TEXT, "where it began: the root of a pause, the port that marked"),
    Column("reason", TEXT, "of a lost packet, why, by its name in drops.by_reason of summary.json", optional=True),
    Column("duration_ps", INTEGER, "time of the stall that is due to it"),
    Column("first_ps", INTEGER, "model time from which on it was lost"),
    Column("last_ps", INTEGER, "model time until which it was lost"),
)

_NODES = (
    Column("trace", INTEGER, "index in traces of summary.json"),
    Column("rank", TEXT, "rank of the fabric"),
    Column("node", TEXT, "the node's name in the trace: its number or label"),
    Column("name", TEXT, "what the trace calls it"),
    Column("what", TEXT, "compute, send, receive, marker, unknown, or the kind of collective"),
    Column("stream", TEXT, "stream of a calculation, group of a collective (empty: all ranks)"),
    Column("start_ps", INTEGER, "model time when it started", optional=True),
    Column("end_ps", INTEGER, "model time when it ended", optional=True),
    Column("ideal_start_ps", INTEGER, "the same in the contention-free replay", optional=True),
    Column("ideal_end_ps", INTEGER, "the same in the contention-free replay", optional=True),
)

_RATES = (
    Column("time_ps", INTEGER, "model time of the change"),
    Column("nic", TEXT, "interface of the sender"),
    Column("queue_pair", INTEGER, "number of its queue pair"),
    Column("what", TEXT, "what the value is, with its unit: rate_bps, window_bytes, alpha"),
    Column("value", NUMBER, "what it changed to"),
)


def _drop_rows(measurements: Measurements) -> Iterator[Row]:
    for d in measurements.drops:
        yield d.time_ps, d.where, d.reason, d.kind, d.source, d.destination, d.qp, d.psn


def _port_rows(measurements: Measurements) -> Iterator[Row]:
    for p in measurements.ports:
        counts = p.sent_frames, p.sent_bytes, p.data_packets, p.busy_ps, p.peak_queue_bytes
        yield p.name, p.node, p.peer, p.rate_bps, *counts, sum(p.dropped.values())


def _step_rows(measurements: Measurements) -> Iterator[Row]:
    for index, collective in enumerate(measurements.collectives):
        for s in collective.steps:
            yield index, s.rank, s.iteration, s.step, s.phase, s.send_ps, s.receive_ps, s.wait_ps


def _wait_rows(measurements: Measurements) -> Iterator[Row]:
    for index, collective in enumerate(measurements.collectives):
        for w in collective.waits:
            yield index, None, w.rank, w.what, w.step, w.piece, w.start_ps, w.end_ps
    for index, trace in enumerate(measurements.traces):
        for w in trace.waits:
            yield None, index, w.rank, w.what, w.step, w.piece, w.start_ps, w.end_ps


def _flow_rows(measurements: Measurements) -> Iterator[Row]:
    for index, f in enumerate(measurements.flows):
        times = f.start_ps, f.end_ps, f.time_ps, f.ideal_ps
        yield index, f.source, f.destination, f.size_bytes, *times, f.goodput_gbps, f.verified, f.wrong_bytes, f.failure


def _queue_rows(measurements: Measurements) -> Iterator[Row]:
    """Queues that nothing ever entered or was refused are left out."""
    if measurements.scenario.fabric.qos is None:
        return
    for switch in measurements.switches.values():
        for port in switch.ports.values():
            groups = {group.priority: group for group in port.groups}
            for q in port.queues:
                g = groups.get(q.priority)
                if q.peak_bytes or q.dropped or (g and (g.headroom_limit_bytes or g.dropped)):
                    sizes = q.out_packets, q.out_bytes, q.peak_bytes, q.queue_bytes, q.ecn_marked_packets
                    yield switch.name, port.name, q.priority, *sizes, sum(q.dropped.values()), *_group_values(g)


def _group_values(group: "GroupStatistics | None") -> tuple[int | None, ...]:
    if group is None:
        return (None,) * 4
    headroom = group.headroom_peak_bytes, group.headroom_limit_bytes
    return group.held_bytes, *headroom, sum(group.dropped.values())


def _pause_rows(measurements: Measurements) -> Iterator[Row]:
    for p in measurements.pauses.pauses if measurements.pauses else ():
        yield p.start_ps, p.end_ps, p.sender, p.paused, p.priority, p.refreshes, p.root, p.depth


def _cause_rows(measurements: Measurements) -> Iterator[Row]:
    found = measurements.explanation
    for stall in found.stalls if found is not None else ():
        for part in stall.parts:
            assert found is not None
            cause = found.causes[part.cause]
            reason = (cause.packet.reason or None) if cause.packet is not None else None
            what = cause.kind, cause.where, cause.detail, cause.origin or cause.where, reason
            of = stall.collective, stall.flow, stall.trace, stall.rank
            yield *of, *what, part.duration_ps, part.first_ps, part.last_ps


def _node_rows(measurements: Measurements) -> Iterator[Row]:
    for index, result in enumerate(measurements.traces):
        for n in result.nodes:
            times = n.start_ps, n.end_ps, n.ideal_start_ps, n.ideal_end_ps
            yield index, n.rank, n.node, n.name, n.what, n.stream, *times


def _rate_rows(measurements: Measurements) -> Iterator[Row]:
    for sample in measurements.congestion_samples:
        for name, value in sample.values.items():
            yield sample.time_ps, sample.nic, sample.queue_pair, name, float(value)


TABLES: dict[str, tuple[tuple[Column, ...], Callable[[Measurements], Iterator[Row]]]] = {
    "drops": (_DROPS, _drop_rows),
    "ports": (_PORTS, _port_rows),
    "steps": (_STEPS, _step_rows),
    "waits": (_WAITS, _wait_rows),
    "flows": (_FLOWS, _flow_rows),
    "queues": (_QUEUES, _queue_rows),
    "pauses": (_PAUSES, _pause_rows),
    "causes": (_CAUSES, _cause_rows),
    "events": (history_tables.EVENTS, history_tables.event_rows),
    "messages": (history_tables.MESSAGES, history_tables.message_rows),
    "nodes": (_NODES, _node_rows),
    "rates": (_RATES, _rate_rows),
}
"""Each table by its file's name without suffix: its columns, and its rows in a run. That of time series is not among
them (`history_tables.SERIES`): it is made by columns."""


def write_tables(directory: Path, measurements: Measurements) -> tuple[Path, ...]:
    """Write the run's tables into `directory`; return their paths."""
    about = {
        "title": measurements.scenario.title,
        "seed": str(measurements.scenario.seed),
        "rocelab": measurements.versions.get("rocelab", ""),
        "units": "time in picoseconds of model time (_ps), sizes in bytes, rates in bit/s (_bps) and Gb/s (_gbps)",
    }
    paths = []
    for name, (columns, rows_of) in TABLES.items():
        rows = tuple(rows_of(measurements))
        if rows:
            paths.append(_write(directory / f"{name}.parquet", columns, tuple(zip(*rows, strict=True)), about))
    if measurements.series is not None and measurements.series.tracks:
        values = history_tables.series_values(measurements.series)
        paths.append(_write(directory / "series.parquet", history_tables.SERIES, values, about))
    return tuple(paths)


def _write(path: Path, columns: tuple[Column, ...], values: Sequence[Sequence[Any]], about: dict[str, str]) -> Path:
    from pyarrow import parquet  # slow to import, and a run is not to wait for it before it has results

    parquet.write_table(_arrow(columns, values, about), path, compression="zstd")
    return path


def _arrow(columns: tuple[Column, ...], values: Sequence[Sequence[Any]], about: dict[str, str]) -> "pyarrow.Table":
    import pyarrow

    types = {TEXT: pyarrow.string(), INTEGER: pyarrow.int64(), NUMBER: pyarrow.float64(), TRUTH: pyarrow.bool_()}
    schema = pyarrow.schema(
        [
            pyarrow.field(c.name, types[c.kind], nullable=c.optional, metadata={"description": c.description})
            for c in columns
        ],
        metadata=about,
    )
    arrays = [pyarrow.array(column, type=field.type) for column, field in zip(values, schema, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def read_table(path: Path) -> dict[str, list[Any]] | None:
    """Return the columns of a table that `write_tables` wrote; None when there is none."""
    if not path.exists():
        return None
    from pyarrow import parquet

    columns: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
    return columns
