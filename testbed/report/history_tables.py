"""The tables of what happened when: time series, events, messages."""

from array import array
from collections.abc import Iterator, Sequence

from testbed.measurement.records import Measurements
from testbed.measurement.series import SeriesRecord
from testbed.report.columns import INTEGER, TEXT, TRUTH, Column, Row
from traffic.results import MessageRecord

SERIES = (
    Column("object", TEXT, "port, switch, NIC, or NIC/number of a queue pair"),
    Column("priority", INTEGER, "priority of the queue, or of what is paused", optional=True),
    Column("what", TEXT, "what the value is, with its unit: docs/timeline.md has the list"),
    Column("time_ps", INTEGER, "model time at which the interval begins; its length is series.interval_ps"),
    Column("value", INTEGER, "its value in the interval; where there is no row, 0"),
)

EVENTS = (
    Column("time_ps", INTEGER, "model time of the event"),
    Column("kind", TEXT, "what happened: docs/timeline.md has the list"),
    Column("where", TEXT, "port, NIC, switch or link where it did"),
    Column("priority", INTEGER, "priority of the queue, or of what is paused", optional=True),
    Column("source", TEXT, "host whose packet, or data, it is about", optional=True),
    Column("destination", TEXT, "host that this is for", optional=True),
    Column("qp", INTEGER, "queue pair: that a packet is for; of a NIC's event, its own", optional=True),
    Column("psn", INTEGER, "packet sequence number", optional=True),
    Column("detail", TEXT, "what else there is to say"),
)

MESSAGES = (
    Column("job", TEXT, "name of the job"),
    Column("collective", INTEGER, "index in collectives of summary.json; none: of no collective", optional=True),
    Column("flow", INTEGER, "index in flows of summary.json; none: of no flow", optional=True),
    Column("trace", INTEGER, "index in traces of summary.json; none: of no trace", optional=True),
    Column("source", TEXT, "rank that sent"),
    Column("destination", TEXT, "rank that received"),
    Column("step", INTEGER, "step, counted over all iterations"),
    Column("piece", INTEGER, "piece of the step"),
    Column("size_bytes", INTEGER, "payload"),
    Column("posted_ps", INTEGER, "model time when the sender had it to send"),
    Column("granted_ps", INTEGER, "when the receiver's clear-to-send had come; none: none was needed", optional=True),
    Column("sent_ps", INTEGER, "when its first packet went out; none: not known", optional=True),
    Column("arrived_ps", INTEGER, "when all of it had arrived; none: never", optional=True),
    Column("nic", TEXT, "interface of the sender"),
    Column("queue_pair", INTEGER, "the sender's queue pair; none: over NVLink", optional=True),
    Column("first_sequence", INTEGER, "its first packet on the queue pair, counted from 0"),
    Column("end_sequence", INTEGER, "the packet behind its last one"),
    Column("control", TRUTH, "a clear-to-send, or word that a buffer is free, rather than data"),
)


def event_rows(measurements: Measurements) -> Iterator[Row]:
    for e in measurements.events.records if measurements.events is not None else ():
        yield e.time_ps, e.kind, e.where, e.priority, e.source, e.destination, e.qp, e.psn, e.detail


def message_rows(measurements: Measurements) -> Iterator[Row]:
    for index, collective in enumerate(measurements.collectives):
        yield from ((collective.name, index, None, None, *_message(message)) for message in collective.messages)
    for index, flow in enumerate(measurements.flows):
        yield from ((flow.name, None, index, None, *_message(message)) for message in flow.messages)
    for index, trace in enumerate(measurements.traces):
        yield from ((trace.name, None, None, index, *_message(message)) for message in trace.messages)


def _message(m: MessageRecord) -> Row:
    times = m.posted_ps, m.granted_ps, m.sent_ps, m.arrived_ps
    where = m.nic, m.queue_pair, m.first_sequence, m.end_sequence
    return m.source, m.destination, m.step, m.piece, m.size_bytes, *times, *where, m.control


def series_values(series: SeriesRecord) -> tuple[Sequence[object], ...]:
    """Return the columns of the table of time series: it has too many rows to make each one an object."""
    objects: list[str] = []
    priorities: list[int | None] = []
    whats: list[str] = []
    times, values = array("q"), array("q")
    for track in series.tracks:
        rows = len(track.intervals)
        objects += [track.object] * rows
        priorities += [track.priority] * rows
        whats += [track.what] * rows
        times.extend(interval * series.interval_ps for interval in track.intervals)
        values.extend(track.values)
    return objects, priorities, whats, times, values
