"""The blocks of summary.json about time series and events: what a reader of the tables must know."""

from collections import Counter
from typing import Any

from testbed.measurement.records import Measurements


def history_block(measurements: Measurements) -> dict[str, Any]:
    """Return the blocks `series` and `events`; nothing where a run kept none."""
    series, events = measurements.series, measurements.events
    if series is None or events is None:
        return {}
    return {
        "series": {
            "interval_ps": series.interval_ps,
            "intervals": series.intervals,
            "queue_pairs": series.queue_pairs,
            "queue_pairs_left_out": series.left_out,
        },
        "events": {
            "by_kind": dict(sorted(Counter(event.kind for event in events.records).items())),
            "marks_left_out": events.marks_left_out,
        },
    }
