"""Time series, packed: a track is an object, a priority and what is measured, with its values from the first interval
that is not 0 to the last.

Of queue pairs, which a large run has very many of, those that sent most are kept.
"""

from collections.abc import Iterator
from typing import Any

from testbed.report.html.read import Rows

_KEPT = ("sent_bytes", "queue_bytes", "ecn_marked_packets", "paused_ps", "sent_packets", "rate_bps", "window_bytes")
_OF_QUEUE_PAIRS = ("sent_packets", "rate_bps", "window_bytes")
_MOST_QUEUE_PAIRS = 96

Track = dict[str, Any]


def tracks(series: Rows | None, interval_ps: int) -> list[Track]:
    """Return the tracks: object, priority (or None), what, first (interval), values."""
    if series is None:
        return []
    found: dict[tuple[str, int | None, str], dict[int, int]] = {}
    columns = (series[name] for name in ("object", "priority", "what", "time_ps", "value"))
    for thing, priority, what, time_ps, value in zip(*columns, strict=True):
        if what in _KEPT:
            found.setdefault((thing, priority, what), {})[time_ps // interval_ps] = value
    packets = {
        thing: sum(found.get((thing, None, "sent_packets"), {}).values()) for thing, _, _ in found if "/" in thing
    }
    shown = _busiest(packets)
    return [
        {"object": thing, "priority": priority, "what": what, **_packed(values)}
        for (thing, priority, what), values in found.items()
        if what not in _OF_QUEUE_PAIRS or thing in shown
    ]


def _busiest(packets: dict[str, int]) -> set[str]:
    return set(sorted(packets, key=lambda name: (-packets[name], name))[:_MOST_QUEUE_PAIRS])


def _packed(values: dict[int, int]) -> Track:
    first, last = min(values), max(values)
    return {"first": first, "values": [values.get(interval, 0) for interval in range(first, last + 1)]}


def events(table: Rows | None, most: int = 4000) -> dict[str, Any]:
    """Return the events to draw ([time_ps, kind, where, detail]), and how many were left out.

    Of kinds with very many (marks, CNPs) every n-th is kept, so that none is missing where it matters: at its time.
    """
    if table is None:
        return {"rows": [], "left_out": 0}
    rows = list(zip(*(table[name] for name in ("time_ps", "kind", "where", "detail")), strict=True))
    kept = list(_thinned([row for row in rows if row[1] not in ("cnp_handled", "resume")], most // 4))
    kept.sort(key=lambda row: row[0])
    return {"rows": kept, "left_out": len(rows) - len(kept)}


def _thinned(rows: list[tuple[Any, ...]], most_of_a_kind: int) -> Iterator[tuple[Any, ...]]:
    kinds: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        kinds.setdefault(row[1], []).append(row)
    for of_kind in kinds.values():
        step = -(-len(of_kind) // most_of_a_kind)
        yield from of_kind[::step]
