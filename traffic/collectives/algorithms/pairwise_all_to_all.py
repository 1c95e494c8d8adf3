"""Pairwise All-to-All: every rank sends its block for each other one directly, all at once.

Rank r posts its blocks for r + 1, r + 2, ... r + n - 1 (modulo n), in this order, so that no two ranks begin with the
same receiver; its NIC lets the connections take turns. It receives from r - 1, r - 2, ... Its own block is copied.
Every rank sends n - 1 blocks, S (n - 1) / n bytes if they are alike. In an all-to-all-v they are not, and a block
without elements is not sent at all.

References: NCCL's all-to-all is such a group of sends and receives.
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Side
from traffic.collectives.algorithms import algorithms


@algorithms.register("all-to-all/pairwise")
@algorithms.register("all-to-all-v/pairwise")
class PairwiseAllToAll(Algorithm):
    """Everyone to everyone."""

    @property
    def steps(self) -> int:
        """n - 1: step s is the exchange with the rank s + 1 away."""
        return self.shape.ranks - 1

    def phase(self, step: int) -> str:  # noqa: ARG002 - there is but one
        return "exchange"

    def connections(self) -> Iterator[Connection]:
        n = self.shape.ranks
        for distance in range(1, n):
            for rank in range(n):
                if self.shape.counts[rank][(rank + distance) % n]:
                    yield Connection(rank, (rank + distance) % n)

    @property
    def longest_run(self) -> int:
        return max(map(max, self.shape.counts))

    async def run(self, side: Side) -> None:
        rank, n = side.rank, self.shape.ranks
        for distance in range(1, n):
            self._send(side, (rank + distance) % n, distance - 1)
        first, own = self.shape.sent_block(rank, rank)
        there, _ = self.shape.received_block(rank, rank)
        side.copy(side.data(there * ELEMENT_BYTES), side.input(first * ELEMENT_BYTES), own * ELEMENT_BYTES)
        for distance in range(1, n):
            peer = (rank - distance) % n
            for piece in self.shape.pieces(*self.shape.received_block(peer, rank)):
                await side.receive(peer, distance - 1, piece.number)

    def _send(self, side: Side, peer: int, step: int) -> None:
        """Send the whole block for `peer`, which puts it where blocks from here go."""
        first, elements = self.shape.sent_block(side.rank, peer)
        moved = (self.shape.received_block(side.rank, peer)[0] - first) * ELEMENT_BYTES
        for piece in self.shape.pieces(first, elements):
            source, target = side.input(piece.offset), side.data(piece.offset + moved)
            side.send(peer, step, piece.number, source=source, target=target, size=piece.size)

    def _others(self, rank: int) -> Iterator[int]:
        """The elements of the blocks for others."""
        return (count for peer, count in enumerate(self.shape.counts[rank]) if peer != rank)

    def messages(self, rank: int) -> int:
        """n - 1 blocks; ceil(block / piece) messages each."""
        return sum(map(self.shape.piece_count, self._others(rank)))

    def sent_bytes(self, rank: int) -> int:
        """S (n - 1) / n if blocks are alike."""
        return sum(self._others(rank)) * ELEMENT_BYTES
