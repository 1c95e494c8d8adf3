"""The counters of timeline.json, from the run's time series: throughput, queues, marks, rates."""

from collections.abc import Iterator
from copy import copy

from testbed.measurement import series
from testbed.measurement.records import Measurements
from testbed.measurement.series import SeriesRecord, Track
from testbed.report.timeline_tracks import Timeline

MOST_POINTS = 40_000
"""Points of all counters together; each takes about 100 bytes."""


def draw(drawn: Timeline, measurements: Measurements) -> int:
    """Draw all counters; return the interval that they have, joined until there are few enough points; 0: none."""
    found = measurements.series
    if found is None:
        return 0
    tracks, interval_ps = _few_enough(found)
    node_of = {port.name: port.node for port in measurements.plan.ports()}
    for track in tracks:
        port = track.object.partition("/")[0]
        name, unit = _name(track)
        for time_ps, value in _points(track, interval_ps):
            drawn.counter(node_of.get(port, port), name, time_ps, unit, value)
    return interval_ps


def _few_enough(found: SeriesRecord) -> tuple[list[Track], int]:
    tracks, interval_ps = [_copy(track) for track in found.tracks], found.interval_ps
    while sum(len(track.intervals) for track in tracks) > MOST_POINTS and max(t.intervals[-1] for t in tracks) > 0:
        interval_ps *= 2
        for track in tracks:
            track.double()
    return tracks, interval_ps


def _copy(track: Track) -> Track:
    """Return a track that can be doubled; the original's arrays are replaced, never changed, by that."""
    return copy(track)


def _name(track: Track) -> tuple[str, str]:
    """Return what a counter is called, and its unit."""
    name, unit = {
        series.SENT_BYTES: ("throughput", "Gb/s"),
        series.QUEUE_BYTES: ("queue", "bytes"),
        series.PAUSED_PS: ("paused", "share"),
        series.MARKED: ("marks", "packets"),
        series.DROPPED: ("drops", "frames"),
        series.BUFFER_BYTES: ("buffer", "bytes"),
        series.CNP_SENT: ("CNPs sent", "packets"),
        series.CNP_HANDLED: ("CNPs handled", "packets"),
        series.SENT_PACKETS: ("packets sent", "packets"),
        "rate_bps": ("rate limit", "Gb/s"),
        "window_bytes": ("window", "bytes"),
    }.get(track.what, (track.what, "value"))
    priority = "" if track.priority is None else f" priority {track.priority}"
    return f"{track.object}{priority} {name}", unit


def _points(track: Track, interval_ps: int) -> Iterator[tuple[int, float]]:
    """Yield (time, value) where the value changes; it is 0 wherever the series says nothing."""
    expected, shown = 0, 0.0
    for interval, raw in track:
        if interval > expected and shown:
            yield expected * interval_ps, 0
            shown = 0.0
        value = _value(track.what, raw, interval_ps)
        if value != shown:
            yield interval * interval_ps, value
            shown = value
        expected = interval + 1
    if shown:
        yield expected * interval_ps, 0


def _value(what: str, raw: int, interval_ps: int) -> float:
    if what == series.SENT_BYTES:
        return round(raw * 8_000 / interval_ps, 3)
    if what == "rate_bps":
        return round(raw / 1e9, 3)
    return round(raw / interval_ps, 4) if what == series.PAUSED_PS else raw
