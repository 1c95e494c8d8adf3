"""What an algorithm sees of the network: one endpoint for each rank, with three verbs.

Two things implement it: the communicator over RDMA (`communicator`) and the contention-free model (`contention_free`).
One and the same algorithm runs over both, which is what makes its stall measurable.
"""

from typing import Protocol

from traffic.collectives.process import Sleep


class Endpoint(Protocol):
    """One rank's end. Every rank has a buffer of the same layout; offsets and sizes are in bytes."""

    rank: int

    @property
    def now(self) -> int:
        """Model time in picoseconds."""

    def send(
        self, peer: int, step: int, piece: int, *, source_offset: int, target_offset: int, size_bytes: int
    ) -> None:
        """Write a piece of this rank's buffer into the buffer of `peer`, which is told of its arrival."""

    async def receive(self, peer: int, step: int, piece: int) -> None:
        """Wait until that piece from `peer` is in this rank's buffer."""

    def sleep(self, duration_ps: int, what: str) -> Sleep:
        """Return a pause to await; `what` says what the rank does meanwhile."""
