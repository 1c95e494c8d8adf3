"""Ring Reduce-Scatter: n - 1 steps around the ring, after which rank r has the sum of part r.

In step s = 0 .. n-2, rank r sends part r - s - 1 to its right neighbour and receives part r - s - 2 from its left,
which it adds to its own (all modulo n). What is received in step s is what is sent in step s + 1; the part that is
received last is r. Every rank sends n - 1 parts, S (n - 1) / n bytes.

A part arrives in its place in the scratch and is added to its place in the data.

References: P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
"""

from collections.abc import Iterator

from traffic.collectives.algorithm import Piece, Side
from traffic.collectives.algorithms import algorithms
from traffic.collectives.algorithms.around_the_ring import AroundTheRing


@algorithms.register("reduce-scatter/ring")
class RingReduceScatter(AroundTheRing):
    """The ring, in the order of the ranks."""

    @property
    def steps(self) -> int:
        """n - 1."""
        return self.shape.ranks - 1

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "reduce-scatter"

    @property
    def scratch_elements(self) -> int:
        return self.shape.elements

    async def run(self, side: Side) -> None:
        rank = side.rank
        left, right = self.neighbours(rank)

        def send(step: int, piece: Piece) -> None:
            source, target = side.data(piece.offset), side.scratch(piece.offset)
            side.send(right, step, piece.number, source=source, target=target, size=piece.size)

        for piece in self.pieces(rank - 1):
            send(0, piece)
        for step in range(self.steps):
            for piece in self.pieces(rank - step - 2):
                await side.receive(left, step, piece.number)
                side.add(side.data(piece.offset), side.scratch(piece.offset), piece.size)
                if step + 1 < self.steps:
                    send(step + 1, piece)

    def sent_parts(self, rank: int) -> Iterator[int]:
        """Every part but its own."""
        return (rank - step - 1 for step in range(self.steps))
