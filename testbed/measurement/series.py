"""Time series: what a run's ports, switches, NICs and queue pairs did in each interval of model time.

An interval begins as one microsecond. Whenever a run needs more than `MOST_INTERVALS` of them, each two become one of
twice the length, so that a run of any length has from half of that number up to all of it. Of two intervals sums are
added (`sent_bytes`), of the most that there was the larger is kept (`queue_bytes`), and of what is read at the end of
an interval the later (`buffer_bytes`, `rate_bps`). What is 0 is not kept.

Known limits: a frame's bytes count in the interval in which it begins to be sent, so a short interval may show a little
more than the link's rate, and the next one less.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from testbed.units import MICROSECOND

MOST_INTERVALS = 1000
FIRST_INTERVAL_PS = MICROSECOND

SENT_BYTES, QUEUE_BYTES, PAUSED_PS = "sent_bytes", "queue_bytes", "paused_ps"
MARKED, DROPPED, BUFFER_BYTES = "ecn_marked_packets", "dropped_frames", "buffer_bytes"
CNP_SENT, CNP_HANDLED, SENT_PACKETS = "cnp_sent", "cnp_handled", "sent_packets"

_LARGEST = frozenset({QUEUE_BYTES})
_SUMS = frozenset({SENT_BYTES, PAUSED_PS, MARKED, DROPPED, CNP_SENT, CNP_HANDLED, SENT_PACKETS})


class Track:
    """One series: `what` of `object` (a port, a switch, a NIC, or ``NIC/QP``), of one `priority` or of none.

    `intervals` are those, by number, in which it is not 0, and `values` what it is there.
    """

    __slots__ = ("intervals", "object", "priority", "values", "what")

    def __init__(self, object: str, what: str, priority: int | None = None) -> None:
        self.object = object
        self.what = what
        self.priority = priority
        self.intervals = array("q")
        self.values = array("q")

    def add(self, interval: int, value: int) -> None:
        """In `interval`, which is the last one so far or a later one, there was `value`, not 0."""
        intervals = self.intervals
        if intervals and intervals[-1] == interval:
            self.values[-1] = self._both(self.values[-1], value)
        else:
            intervals.append(interval)
            self.values.append(value)

    def double(self) -> None:
        """Make each two intervals one."""
        old = zip(self.intervals, self.values, strict=True)
        self.intervals, self.values = array("q"), array("q")
        for interval, value in old:
            self.add(interval >> 1, value)

    def _both(self, earlier: int, later: int) -> int:
        if self.what in _SUMS:
            return earlier + later
        return max(earlier, later) if self.what in _LARGEST else later

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield (interval, value)."""
        return zip(self.intervals, self.values, strict=True)


@dataclass(frozen=True, slots=True)
class SeriesRecord:
    """All series of a run, none of them empty. There are `intervals` of `interval_ps`, the last one perhaps cut short
    by the run's end. `queue_pairs`: how many sent something; `left_out`: of how many of these there is no series.
    """

    interval_ps: int
    intervals: int
    tracks: tuple[Track, ...]
    queue_pairs: int
    left_out: int

    def of(self, what: str) -> Iterator[Track]:
        """Yield the series of `what`."""
        return (track for track in self.tracks if track.what == what)
