"""What the ports of ranks can carry in all: a lower bound where several connections share one.

All that a port passes from the time at which the first of it was posted has to go through it at its rate, in whatever
order; before its first bit, and after its last, a packet crosses the rest of its way, at the least the smallest packet
on the shortest of the ways. So the last of the messages arrives no earlier than

    first posted + least way + bits / rate

For a rank that receives from several peers, that is when it can have finished a round at the earliest; for a rank that
sends to several, when the whole job can have ended. It holds for the messages of one round, and for those of several
rounds together: whichever of the two is later.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbed.units import SECOND


@dataclass(frozen=True, slots=True)
class PortLoad:
    """`bits` that go through one port in one direction, the first posted at `first_ps`; the rest of a way takes
    `least_way_ps` at the least."""

    rate_bps: int
    first_ps: int
    least_way_ps: int
    bits: int

    @property
    def through_ps(self) -> int:
        """The earliest time at which all of it can have arrived."""
        return self.first_ps + self.least_way_ps + self.bits * SECOND // self.rate_bps

    def __add__(self, other: PortLoad) -> PortLoad:
        """Both together, in whatever order."""
        return PortLoad(
            self.rate_bps,
            min(self.first_ps, other.first_ps),
            min(self.least_way_ps, other.least_way_ps),
            self.bits + other.bits,
        )

    def after(self, earlier: PortLoad | None) -> PortLoad:
        """Return what bounds this round's load best: it alone, or it with the load of the rounds before."""
        together = self if earlier is None else earlier + self
        return max(self, together, key=lambda load: load.through_ps)
