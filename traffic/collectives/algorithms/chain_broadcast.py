"""Chain Broadcast: the root sends to the next rank, that one to the next, and so on to the last.

Each piece goes on as soon as it is there, so with P pieces the last rank has all after P + n - 2 times a piece's
serialisation, and the way of each hop: for many pieces little more than S bytes take on one link. Every rank but the
last sends S bytes. Ranks are counted from the root on (modulo n); the one at distance d receives in step d - 1.

References: NCCL's broadcast is this chain (a ring without its last link).
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Side
from traffic.collectives.algorithms import algorithms


@algorithms.register("broadcast/chain")
class ChainBroadcast(Algorithm):
    """From the root on, in the order of the ranks."""

    @property
    def steps(self) -> int:
        """n - 1: one for each hop."""
        return self.shape.ranks - 1

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "broadcast"

    def distance(self, rank: int) -> int:
        """Return how many hops a rank is from the root."""
        return (rank - self.shape.root) % self.shape.ranks

    def connections(self) -> Iterator[Connection]:
        n = self.shape.ranks
        return (Connection(rank, (rank + 1) % n) for rank in range(n) if self.distance(rank) < n - 1)

    async def run(self, side: Side) -> None:
        n, distance = self.shape.ranks, self.distance(side.rank)
        before, after = (side.rank - 1) % n, (side.rank + 1) % n
        for piece in self.shape.pieces(0, self.shape.elements):
            if distance > 0:
                await side.receive(before, distance - 1, piece.number)
            if distance < n - 1:
                place = side.data(piece.offset)
                side.send(after, distance, piece.number, source=place, target=place, size=piece.size)

    def messages(self, rank: int) -> int:
        """All pieces; none from the last rank."""
        return self.shape.piece_count(self.shape.elements) if self.distance(rank) < self.shape.ranks - 1 else 0

    def sent_bytes(self, rank: int) -> int:
        """S; nothing from the last rank."""
        return self.shape.elements * ELEMENT_BYTES if self.distance(rank) < self.shape.ranks - 1 else 0
