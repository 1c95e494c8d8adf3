"""How late events ran: a histogram over eight decades of wall time, in constant memory.

Buckets are eight to an octave, so that a percentile read from them is at most an eighth too high.
"""

_SUB_BITS = 3
_SUB = 1 << _SUB_BITS


def _bucket(late_ns: int) -> int:
    """Return the bucket of a lateness: the octave, then the next three bits."""
    shift = late_ns.bit_length() - 1 - _SUB_BITS
    return late_ns if shift <= 0 else (shift << _SUB_BITS) + (late_ns >> shift)


def _upper_ns(bucket: int) -> int:
    """Return the largest lateness that falls into a bucket."""
    shift = (bucket >> _SUB_BITS) - 1
    if shift <= 0:
        return bucket
    return (bucket - (shift << _SUB_BITS) + 1 << shift) - 1


class Lateness:
    """Counts events by lateness, in ns of wall time. `events`: so far; `worst_ns`: the latest of them."""

    __slots__ = ("_counts", "events", "worst_ns")

    def __init__(self) -> None:
        self.events = 0
        self.worst_ns = 0
        self._counts: dict[int, int] = {}

    def add(self, late_ns: int) -> None:
        """An event ran `late_ns` after its time; one that ran early (the clock's rounding) counts as on time."""
        late_ns = max(late_ns, 0)
        self.events += 1
        if late_ns > self.worst_ns:
            self.worst_ns = late_ns
        bucket = _bucket(late_ns)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1

    def percentile_ns(self, share: float) -> int:
        """Return what `share` (0 to 1) of the events were not later than; 0 without events."""
        wanted = share * self.events
        seen = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= wanted:
                return min(_upper_ns(bucket), self.worst_ns)
        return 0
