"""Time series against counters: what was sampled must add up to what was counted, exactly."""

from collections import Counter
from collections.abc import Iterator, Sequence

from testbed.engine.fabric import ModelFabric
from testbed.engine.qos_switch import QosPort
from testbed.measurement import series
from testbed.measurement.records import DropRecord, Invariant
from testbed.measurement.series import SeriesRecord

Key = tuple[str, str, int | None]
"""What, of which port, of which priority."""


def series_invariants(
    found: SeriesRecord | None, fabric: ModelFabric, drops: Sequence[DropRecord]
) -> Iterator[Invariant]:
    """Yield the invariant `series`; nothing where no series were kept."""
    if found is None:
        return
    counted = {key: value for key, value in _counted(fabric, drops) if value}
    sampled = {
        (track.what, track.object, track.priority): _total(track)
        for track in found.tracks
        if track.what in (series.SENT_BYTES, series.QUEUE_BYTES, series.MARKED, series.PAUSED_PS, series.DROPPED)
    }
    problems = [
        f"{what} of {where}: {sampled.get((what, where, priority), 0)} in the series, "
        f"{counted.get((what, where, priority), 0)} counted"
        for what, where, priority in sorted({*counted, *sampled}, key=str)
        if sampled.get((what, where, priority), 0) != counted.get((what, where, priority), 0)
    ]
    fine = f"{len(counted)} sums and peaks of time series are those counted"
    yield Invariant("series", not problems, "; ".join(problems) or fine)


def _total(track: series.Track) -> int:
    return max(track.values) if track.what == series.QUEUE_BYTES else sum(track.values)


def _counted(fabric: ModelFabric, drops: Sequence[DropRecord]) -> Iterator[tuple[Key, int]]:
    for name, wire in fabric.transmitters.items():
        yield (series.SENT_BYTES, name, None), wire.sent_bytes
    for name, port in fabric.ports.items():
        if not isinstance(port, QosPort):
            yield (series.QUEUE_BYTES, name, None), port.queue.peak_bytes
            continue
        for queue in port.scheduler.queues:
            yield (series.QUEUE_BYTES, name, queue.priority), queue.peak_bytes
            yield (series.MARKED, name, queue.priority), queue.marked_frames
    if fabric.flow_control is not None:
        for name, receiver in fabric.flow_control.receivers.items():
            for priority in receiver.enabled:
                yield (series.PAUSED_PS, name, priority), receiver.duration_ps(priority)
    for where, frames in Counter(drop.where for drop in drops).items():
        yield (series.DROPPED, where, None), frames
