"""What a program sees of the network: one endpoint for each rank, with a few verbs.

Two things implement it: the communicator over RDMA (`communicator`) and the contention-free model (`contention_free`).
One and the same program runs over both, which is what makes its stall measurable.
"""

from collections.abc import Sequence
from typing import Protocol

from traffic.collectives.process import Sleep

Receive = tuple[int, int, int, int]
"""A message that a rank is going to receive: (peer, channel, step, piece)."""


class Endpoint(Protocol):
    """One rank's end. Every rank has a buffer of the same layout; offsets and sizes are in bytes."""

    rank: int

    @property
    def now(self) -> int:
        """Model time in picoseconds."""

    def send(
        self,
        peer: int,
        step: int,
        piece: int,
        *,
        source_offset: int,
        target_offset: int,
        size_bytes: int,
        channel: int = 0,
    ) -> None:
        """Write a piece of this rank's buffer into the buffer of `peer`, which is told of its arrival."""

    async def receive(self, peer: int, step: int, piece: int, channel: int = 0) -> None:
        """Wait until that piece from `peer` is in this rank's buffer."""

    def sleep(self, duration_ps: int, what: str) -> Sleep:
        """Return a pause to await; `what` says what the rank does meanwhile."""

    async def begin(self, number: int, receives: Sequence[Receive]) -> None:
        """Begin round `number`, in which the rank is going to receive `receives`, in this order: wait until its places
        may be used (`traffic.collectives.memory`), and let the peers know what may be sent."""

    async def end(self, number: int) -> None:
        """Round `number` is over for this rank: it has received everything, and needs nothing of it any more."""
