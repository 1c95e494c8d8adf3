"""Ring All-Gather: n - 1 steps around the ring, after which every rank has all parts.

In step s = 0 .. n-2, rank r sends part r - s to its right neighbour and receives part r - s - 1 from its left (modulo
n). What is received in step s is what is sent in step s + 1. Every rank sends all parts but r + 1, S (n - 1) / n bytes.
A part arrives in its place in the data.

References: R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in MPICH, 2005.
"""

from collections.abc import Iterator

from traffic.collectives.algorithm import Piece, Side
from traffic.collectives.algorithms import algorithms
from traffic.collectives.algorithms.around_the_ring import AroundTheRing


@algorithms.register("all-gather/ring")
class RingAllGather(AroundTheRing):
    """The ring, in the order of the ranks."""

    @property
    def steps(self) -> int:
        """n - 1."""
        return self.shape.ranks - 1

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "all-gather"

    async def run(self, side: Side) -> None:
        rank = side.rank
        left, right = self.neighbours(rank)

        def send(step: int, piece: Piece) -> None:
            place = side.data(piece.offset)
            side.send(right, step, piece.number, source=place, target=place, size=piece.size)

        for piece in self.pieces(rank):
            send(0, piece)
        for step in range(self.steps):
            for piece in self.pieces(rank - step - 1):
                await side.receive(left, step, piece.number)
                if step + 1 < self.steps:
                    send(step + 1, piece)

    def sent_parts(self, rank: int) -> Iterator[int]:
        """Every part but its right neighbour's own."""
        return (rank - step for step in range(self.steps))
