"""A rate limiter that is exact in model time: after each packet, the next may start one serialisation at the rate
later.

    gap = bits / rate,   in whole picoseconds; what is left over is carried into the next gap
    next start = this packet's due time + gap

A packet is due when the one before allows it. It may start later, because the wire is busy with another QP's: as long
as it is late by less than its gap, the next one's time is counted from when it was due, so that the QP gets its rate
all the same. Otherwise the QP had nothing to send, or was held up, and the time is counted from now. So nothing is
saved up: no two packets ever start closer together than one gap less what the wire delayed the first of them.

The part of a picosecond that a gap leaves over is not lost: n packets in a row start within 1 ps of where the rate puts
them, however large n is.
"""

from testbed.engine.frame import wire_bytes
from testbed.units import SECOND


class Pacer:
    """Spaces one QP's packets. `rate_bps` counts wire bits: preamble, gap and FCS included, as a link's rate does."""

    __slots__ = ("_due_ps", "_remainder", "rate_bps")

    def __init__(self, rate_bps: int) -> None:
        self.rate_bps = rate_bps
        self._due_ps = 0
        self._remainder = 0  # of the last gap, in 1 / rate_bps ps; always less than a picosecond

    def set_rate(self, rate_bps: int) -> None:
        """Space packets by `rate_bps` from now on; the part of a picosecond that is owed stays the same time."""
        self._remainder = self._remainder * rate_bps // self.rate_bps
        self.rate_bps = rate_bps

    def next_start_ps(self, frame_bytes: int, now: int) -> int:
        """A frame of `frame_bytes` (without FCS) starts `now`: return when the next may."""
        gap, self._remainder = divmod(wire_bytes(frame_bytes) * 8 * SECOND + self._remainder, self.rate_bps)
        due = self._due_ps
        if now - due >= gap:
            due = now
        self._due_ps = due = due + gap
        return due
