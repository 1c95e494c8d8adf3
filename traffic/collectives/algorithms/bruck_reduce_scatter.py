"""Reduce-Scatter by Bruck's All-Gather backwards: what a rank sums up halves with each step, ceil(log2 n) of them.

The steps have the distances d = ..., 4, 2, 1. Before each, rank r has to see to the parts from r on: twice d of them,
or all n in the first step. It sends those from r + d on to rank r + d, whose first they are, and receives from rank
r - d what that one has of the parts from r on, which it adds to its own (all modulo n). In the end it sees to part r
alone. Where a part spreads from its rank in the all-gather, it is gathered here on the same ways, so each rank's
numbers are added exactly once. Every rank sends n - 1 parts, S (n - 1) / n bytes, as in a ring. For n a power of two
this is recursive halving, but for who talks to whom; it needs no step more for other n.

What is received lies in the scratch, where each step has a place of its own: the peer of a step does not know whether
its receiver has added what came before. A part that was sent is not touched any more.

References: J. Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing systems,
1997; J. L. Traff, Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024.
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Piece, Shape, Side
from traffic.collectives.algorithms import algorithms
from traffic.collectives.algorithms.bruck_all_gather import arc_pieces, arcs, doublings


@algorithms.register("reduce-scatter/bruck")
class BruckReduceScatter(Algorithm):
    """Any number of ranks."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.halvings = tuple(reversed(doublings(shape.ranks)))

    @property
    def steps(self) -> int:
        """ceil(log2 n)."""
        return len(self.halvings)

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "reduce-scatter"

    def connections(self) -> Iterator[Connection]:
        n = self.shape.ranks
        return (Connection(rank, (rank + distance) % n) for distance, _ in self.halvings for rank in range(n))

    @property
    def _largest_part(self) -> int:
        return self.shape.part(0)[1]

    @property
    def scratch_elements(self) -> int:
        """n - 1 parts are received."""
        return (self.shape.ranks - 1) * self._largest_part

    async def run(self, side: Side) -> None:
        rank, n = side.rank, self.shape.ranks
        area = 0  # of this step, in bytes of the scratch
        for step, (distance, parts) in enumerate(self.halvings):
            peer = (rank + distance) % n
            for piece in arc_pieces(self.shape, peer, parts):
                source, target = side.data(piece.offset), side.scratch(area + self._behind(peer, piece))
                side.send(peer, step, piece.number, source=source, target=target, size=piece.size)
            for piece in arc_pieces(self.shape, rank, parts):
                await side.receive((rank - distance) % n, step, piece.number)
                side.add(side.data(piece.offset), side.scratch(area + self._behind(rank, piece)), piece.size)
            area += parts * self._largest_part * ELEMENT_BYTES

    def _behind(self, rank: int, piece: Piece) -> int:
        """Return how many bytes behind the beginning of part `rank` a piece lies, around the end of the data."""
        return (piece.offset - self.shape.part(rank)[0] * ELEMENT_BYTES) % (self.shape.elements * ELEMENT_BYTES)

    def _sent_runs(self, rank: int) -> Iterator[int]:
        """The elements of every run that a rank sends."""
        for distance, parts in self.halvings:
            yield from (elements for _, elements in arcs(self.shape, rank + distance, parts))

    def messages(self, rank: int) -> int:
        """One or two runs a step; ceil(run / piece) messages each."""
        return sum(map(self.shape.piece_count, self._sent_runs(rank)))

    def sent_bytes(self, rank: int) -> int:
        """S (n - 1) / n if n divides the elements."""
        return sum(self._sent_runs(rank)) * ELEMENT_BYTES
