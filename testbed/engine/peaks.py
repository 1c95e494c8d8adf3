"""The most bytes that a queue ever held, and since several lookers last looked, at the price of one comparison a frame.

A queue keeps one peak as frames enter, `recent_bytes`. Whoever looks, at whichever peak, hands it on to all of them,
and it begins afresh with what waits then.
"""


class PeakBytes:
    """What waits, and its peaks: those of policies, of time series, of a watcher, and of all time.

    Attributes:
        bytes: waiting now. recent_bytes: the most since anybody looked at a peak; both are the queue's to keep.
    """

    __slots__ = ("_interval_bytes", "_peak_bytes", "_seen_bytes", "_watermark_bytes", "bytes", "recent_bytes")

    def __init__(self) -> None:
        self.bytes = self.recent_bytes = 0
        self._watermark_bytes = self._interval_bytes = self._seen_bytes = self._peak_bytes = 0

    def _look(self) -> None:
        """Hand `recent_bytes` on to all peaks, and begin it afresh with what waits now."""
        recent = self.recent_bytes  # compared, not max(): a time series looks at every queue every microsecond
        if recent > self._watermark_bytes:
            self._watermark_bytes = recent
        if recent > self._interval_bytes:
            self._interval_bytes = recent
        if recent > self._seen_bytes:
            self._seen_bytes = recent
        if recent > self._peak_bytes:
            self._peak_bytes = recent
        self.recent_bytes = self.bytes

    @property
    def peak_bytes(self) -> int:
        """The most bytes that ever waited."""
        return max(self._peak_bytes, self.recent_bytes)

    @property
    def watermark_bytes(self) -> int:
        """The most bytes that waited since `clear_watermark`."""
        return max(self._watermark_bytes, self.recent_bytes)

    def clear_watermark(self) -> None:
        """Begin a new interval: the watermark is what waits now."""
        self._look()
        self._watermark_bytes = 0

    @property
    def interval_bytes(self) -> int:
        """The most bytes that waited since `take_interval_peak`."""
        recent, most = self.recent_bytes, self._interval_bytes
        return recent if recent > most else most

    def take_interval_peak(self) -> int:
        """Return the most bytes that waited since this was last called: what a time series keeps."""
        self._look()
        most, self._interval_bytes = self._interval_bytes, 0
        return most

    def take_seen_peak(self) -> int:
        """Return the most bytes that waited since this was last called: what a watcher of the run is shown."""
        self._look()
        most, self._seen_bytes = self._seen_bytes, 0
        return most
