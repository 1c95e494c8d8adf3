"""Bruck's All-Gather: what a rank has doubles with each step, so that ceil(log2 n) steps do for any number of ranks.

Before step k = 0, 1, ... rank r has the parts r, r + 1, ... r + 2^k - 1. It sends them to rank r - 2^k, and receives as
many from rank r + 2^k, those from r + 2^k on (all modulo n); in the last step only the n - 2^k parts that are missing.
Every rank sends n - 1 parts, S (n - 1) / n bytes, as in a ring, but in log2 n steps in place of n - 1.

The textbook's rank keeps its parts in the order of their coming and turns them round in the end. Here a part is written
to its place in the data at once; parts that go past the end of it are two runs, and so two messages.

References: J. Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing systems,
1997; R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in MPICH, 2005.
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Piece, Shape, Side
from traffic.collectives.algorithms import algorithms


def doublings(ranks: int) -> tuple[tuple[int, int], ...]:
    """Return (distance of the peer, parts that are sent) for each step: 1, 2, 4, ...; the parts are n - 1 in all."""
    distances = (1 << step for step in range((ranks - 1).bit_length()))
    return tuple((distance, min(distance, ranks - distance)) for distance in distances)


def arcs(shape: Shape, first: int, parts: int) -> Iterator[tuple[int, int]]:
    """Yield (first element, elements) of `parts` from part `first` on, modulo n: one run, or two around the end.

    A run without elements is left out.
    """
    start, end = first % shape.ranks, first % shape.ranks + parts
    for low, high in ((start, min(end, shape.ranks)), (0, end - shape.ranks)):
        if low < high:
            begin = shape.part(low)[0]
            last, size = shape.part(high - 1)
            if last + size > begin:
                yield begin, last + size - begin


def arc_pieces(shape: Shape, first: int, parts: int) -> Iterator[Piece]:
    """Yield the messages of `arcs`, numbered through."""
    number = 0
    for arc in arcs(shape, first, parts):
        for piece in shape.pieces(*arc):
            yield piece._replace(number=number)
            number += 1


@algorithms.register("all-gather/bruck")
class BruckAllGather(Algorithm):
    """Any number of ranks."""

    @property
    def steps(self) -> int:
        """ceil(log2 n)."""
        return len(doublings(self.shape.ranks))

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "all-gather"

    def connections(self) -> Iterator[Connection]:
        n = self.shape.ranks
        return (Connection(rank, (rank - distance) % n) for distance, _ in doublings(n) for rank in range(n))

    async def run(self, side: Side) -> None:
        rank, n = side.rank, self.shape.ranks
        for step, (distance, parts) in enumerate(doublings(n)):
            for piece in arc_pieces(self.shape, rank, parts):
                place = side.data(piece.offset)
                side.send((rank - distance) % n, step, piece.number, source=place, target=place, size=piece.size)
            for piece in arc_pieces(self.shape, rank + distance, parts):
                await side.receive((rank + distance) % n, step, piece.number)

    def _sent_runs(self, rank: int) -> Iterator[int]:
        """The elements of every run that a rank sends."""
        for _, parts in doublings(self.shape.ranks):
            yield from (elements for _, elements in arcs(self.shape, rank, parts))

    def messages(self, rank: int) -> int:
        """One or two runs a step; ceil(run / piece) messages each."""
        return sum(map(self.shape.piece_count, self._sent_runs(rank)))

    def sent_bytes(self, rank: int) -> int:
        """S (n - 1) / n if n divides the elements."""
        return sum(self._sent_runs(rank)) * ELEMENT_BYTES
