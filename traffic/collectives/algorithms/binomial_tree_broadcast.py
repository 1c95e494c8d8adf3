"""Binomial tree Broadcast: with each step twice as many ranks have the data, so ceil(log2 n) steps do.

Ranks are counted from the root on (modulo n). Of rank d at distance d > 0, let b be the lowest bit that is set: its
parent is d - b, and its children are d + b / 2, d + b / 4, ... d + 1, as far as there are such ranks; for the root b is
the power of two from n on. The child with the most below it comes first. Rank d with lowest bit b receives in the step
in which ranks b apart talk; the largest b is that of step 0.

Each piece goes on to all children as soon as it is there. The root sends up to log2 n S bytes, and that is what a large
broadcast takes: a chain, whose ranks send S bytes, is better there; the tree is for small ones. As a NIC lets its queue
pairs take turns, children get a large message together, and not one after the other: give it a small `chunk`, or a
child that could send on waits for what goes to the others.

References: R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in MPICH, 2005.
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Side
from traffic.collectives.algorithms import algorithms


@algorithms.register("broadcast/binomial-tree")
class BinomialTreeBroadcast(Algorithm):
    """Any number of ranks, from any root."""

    @property
    def steps(self) -> int:
        """ceil(log2 n)."""
        return (self.shape.ranks - 1).bit_length()

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "broadcast"

    def distance(self, rank: int) -> int:
        """Return how far a rank is from the root, in the order of the ranks."""
        return (rank - self.shape.root) % self.shape.ranks

    def parent(self, rank: int) -> int | None:
        """Return who sends to a rank; None: it is the root."""
        distance = self.distance(rank)
        return (rank - (distance & -distance)) % self.shape.ranks if distance else None

    def children(self, rank: int) -> tuple[int, ...]:
        """Return to whom a rank sends, the one with the most below it first."""
        n, distance = self.shape.ranks, self.distance(rank)
        below = (distance & -distance or 1 << self.steps) >> 1
        bits = (below >> number for number in range(below.bit_length()))
        return tuple((rank + bit) % n for bit in bits if distance + bit < n)

    def _step(self, rank: int) -> int:
        """Return the step in which a rank receives."""
        distance = self.distance(rank)
        return self.steps - (distance & -distance).bit_length()

    def connections(self) -> Iterator[Connection]:
        return (Connection(rank, child) for rank in range(self.shape.ranks) for child in self.children(rank))

    async def run(self, side: Side) -> None:
        parent, children = self.parent(side.rank), self.children(side.rank)
        for piece in self.shape.pieces(0, self.shape.elements):
            if parent is not None:
                await side.receive(parent, self._step(side.rank), piece.number)
            place = side.data(piece.offset)
            for child in children:
                side.send(child, self._step(child), piece.number, source=place, target=place, size=piece.size)

    def messages(self, rank: int) -> int:
        """All pieces, for each child."""
        return len(self.children(rank)) * self.shape.piece_count(self.shape.elements)

    def sent_bytes(self, rank: int) -> int:
        """S for each child: up to log2 n S."""
        return len(self.children(rank)) * self.shape.elements * ELEMENT_BYTES
