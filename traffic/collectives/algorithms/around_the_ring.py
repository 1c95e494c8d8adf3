"""What all algorithms on a ring have in common: each rank sends to the next one, part by part of n."""

from abc import abstractmethod
from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Piece


class AroundTheRing(Algorithm):
    """A ring in the order of the ranks."""

    def connections(self) -> Iterator[Connection]:
        n = self.shape.ranks
        return (Connection(rank, (rank + 1) % n) for rank in range(n))

    @property
    def longest_run(self) -> int:
        return self.shape.part(0)[1]

    def neighbours(self, rank: int) -> tuple[int, int]:
        """Return (left, right): whom a rank receives from, and whom it sends to."""
        n = self.shape.ranks
        return (rank - 1) % n, (rank + 1) % n

    def pieces(self, part: int) -> Iterator[Piece]:
        """Yield the messages of a part, which is counted modulo n."""
        return self.shape.pieces(*self.shape.part(part % self.shape.ranks))

    @abstractmethod
    def sent_parts(self, rank: int) -> Iterator[int]:
        """Yield the parts that a rank sends, each as often as it does."""

    def _sent_elements(self, rank: int) -> Iterator[int]:
        return (self.shape.part(part % self.shape.ranks)[1] for part in self.sent_parts(rank))

    def messages(self, rank: int) -> int:
        """ceil(part / piece) messages for each part sent."""
        return sum(map(self.shape.piece_count, self._sent_elements(rank)))

    def sent_bytes(self, rank: int) -> int:
        """S / n for each part sent, if n divides the elements."""
        return sum(self._sent_elements(rank)) * ELEMENT_BYTES
