"""Ring All-Reduce: reduce-scatter, then all-gather, both once around the ring (n - 1 steps each).

The buffer of S bytes is cut into n parts. In step s, rank r sends a part to its right neighbour and receives one from
its left:

    reduce-scatter, s = 0 .. n-2: sends part r - s, receives part r - s - 1 and adds it to its own
    all-gather, s = n-1 .. 2n-3: sends and receives the same way; what it receives is final and replaces its own

(all modulo n). What is received in step s is what is sent in step s + 1, so each piece of a part goes on as soon as it
is there: with several pieces a part, steps overlap. Every rank sends 2 (n - 1) parts, 2 S (n - 1) / n bytes in all.

In reduce-scatter a part arrives in its place in the scratch and is added to its place in the data; in all-gather it
arrives in its place in the data. One scratch is enough for all rounds: rank r uses its scratch of part k once in a
round, when it adds it (not at all for k = r). The left neighbour writes there again in the next round, which it begins
when it has the final value of every part; that of k comes about by the additions of all ranks but k, that of r among
them. So r has added before it can be overwritten.

References: P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
"""

from collections.abc import Iterator

from traffic.collectives.algorithm import Piece, Side
from traffic.collectives.algorithms import algorithms
from traffic.collectives.algorithms.around_the_ring import AroundTheRing


@algorithms.register("all-reduce/ring")
class RingAllReduce(AroundTheRing):
    """The ring, in the order of the ranks."""

    shares_scratch = True

    @property
    def steps(self) -> int:
        """2 (n - 1)."""
        return 2 * (self.shape.ranks - 1)

    def phase(self, step: int) -> str:
        return "reduce-scatter" if step < self.shape.ranks - 1 else "all-gather"

    @property
    def scratch_elements(self) -> int:
        return self.shape.elements

    async def run(self, side: Side) -> None:
        rank, n = side.rank, self.shape.ranks
        left, right = self.neighbours(rank)

        def send(step: int, piece: Piece) -> None:
            source = side.data(piece.offset)
            target = side.scratch(piece.offset) if step < n - 1 else source
            side.send(right, step, piece.number, source=source, target=target, size=piece.size)

        for piece in self.pieces(rank):
            send(0, piece)
        for step in range(self.steps):
            for piece in self.pieces(rank - step - 1):
                await side.receive(left, step, piece.number)
                if step < n - 1:
                    side.add(side.data(piece.offset), side.scratch(piece.offset), piece.size)
                if step + 1 < self.steps:
                    send(step + 1, piece)

    def sent_parts(self, rank: int) -> Iterator[int]:
        """Every part twice, but r + 1, which it receives last of reduce-scatter, and r + 2, last of all-gather."""
        return (rank - step for step in range(self.steps))
