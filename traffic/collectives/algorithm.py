"""What an algorithm of a collective is: a shape, and one rank's side of a round, as the textbook has them.

An algorithm knows ranks, parts and steps. It knows no network, no clock and no numbers: it says who sends which bytes
to whom in which step, and awaits what others send. So the same few lines run over RDMA, over the contention-free
fabric, and over nothing at all, where they are only counted (`traffic.collectives.rehearsal`).

    @algorithms.register("all-reduce/ring")
    class RingAllReduce(Algorithm): ...

Every rank has one buffer of the same layout, of up to three areas; positions in it are bytes from its beginning:

    data      the result. Where a rank brings something in, it lies here already, in its place (but for an all-to-all)
    input     what a rank brings into an all-to-all; of no size otherwise
    scratch   `scratch_elements` long: where partial results of others arrive

Rules for `run`: it receives every message that is sent to its rank in the round; it receives the messages of one peer
on one channel in the order in which that peer sends them (the contention-free time is a lower bound only then); (step,
piece) names a message of one peer on one channel, once in a round. A place in the buffer is written at most once in a
round, by a peer or by `add`'s and `copy`'s own rank, unless the algorithm's order makes it safe.
"""

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from testbed.scenario.limits import ELEMENT_BYTES


class Piece(NamedTuple):
    """One message of a run of elements: its number in the run, its first byte in an area, its bytes."""

    number: int
    offset: int
    size: int


class Connection(NamedTuple):
    """Rank `source` sends to rank `destination`; each of several channels between them has queue pairs of its own."""

    source: int
    destination: int
    channel: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """A collective among `ranks`, of `elements` of float32 in a rank's data (nccl-tests' count).

    Messages have at most `piece_elements`. `hosts` says for each rank which host it is on: equal numbers, same host;
    they count from 0 in the order in which they first come. `root` is where a broadcast starts. `microbatches` go
    through a pipeline one behind the other; a stage computes for `microbatch_ps` on each. `counts` of an
    all-to-all(-v): the elements that go from rank i to rank j in ``counts[i][j]``.
    """

    collective: str
    ranks: int
    elements: int
    piece_elements: int
    hosts: tuple[int, ...] = ()
    root: int = 0
    microbatches: int = 1
    microbatch_ps: int = 0
    counts: tuple[tuple[int, ...], ...] = ()

    def part(self, index: int, parts: int | None = None) -> tuple[int, int]:
        """Return (first element, elements) of part `index` of `parts` (none: one for each rank).

        Parts differ by at most one element, the larger ones come first.
        """
        size, larger = divmod(self.elements, self.ranks if parts is None else parts)
        return index * size + min(index, larger), size + (index < larger)

    def sent_block(self, source: int, destination: int) -> tuple[int, int]:
        """Return (first element in the input of rank `source`, elements) of what goes to rank `destination`.

        Blocks lie one behind the other, in the order of the ranks that they go to.
        """
        row = self.counts[source]
        return sum(row[:destination]), row[destination]

    def received_block(self, source: int, destination: int) -> tuple[int, int]:
        """Return (first element in the data of rank `destination`, elements) of what comes from rank `source`.

        Blocks lie one behind the other, in the order of the ranks that they come from.
        """
        return sum(row[destination] for row in self.counts[:source]), self.counts[source][destination]

    def pieces(self, start: int, elements: int) -> Iterator[Piece]:
        """Yield the messages of a run of `elements` from element `start` on; a run without elements has none."""
        for number, first in enumerate(range(start, start + elements, self.piece_elements)):
            size = min(self.piece_elements, start + elements - first)
            yield Piece(number, first * ELEMENT_BYTES, size * ELEMENT_BYTES)

    def piece_count(self, elements: int) -> int:
        """Return how many messages a run of `elements` takes."""
        return -(-elements // self.piece_elements)


class Side(Protocol):
    """One rank's side of one round; `run` is written with it. Offsets and sizes in bytes."""

    @property
    def rank(self) -> int:
        """Whose side this is."""

    def data(self, offset: int) -> int:
        """Return the position of byte `offset` of the data, this round's result; equal on all ranks."""

    def input(self, offset: int) -> int:
        """Return the position of byte `offset` of an all-to-all's input."""

    def scratch(self, offset: int) -> int:
        """Return the position of byte `offset` of the scratch."""

    def send(self, peer: int, step: int, piece: int, *, source: int, target: int, size: int, channel: int = 0) -> None:
        """Write `size` bytes at position `source` of this rank's buffer to position `target` of the peer's.

        It returns at once. The source must keep its value until the round's end.
        """

    async def receive(self, peer: int, step: int, piece: int, channel: int = 0) -> None:
        """Wait until that message of `peer` is in this rank's buffer."""

    def add(self, target: int, source: int, size: int) -> None:
        """Add the elements at position `source` of this rank's buffer to those at `target`."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within this rank's buffer."""

    async def compute(self, duration_ps: int) -> None:
        """Compute for `duration_ps` (what a pipeline's stage does with a microbatch)."""

    async def together(self, *branches: Coroutine[Any, Any, None]) -> None:
        """Run several coroutines side by side until all have returned; their messages need a channel each."""


class Algorithm(ABC):
    """One algorithm for one collective, of a given shape.

    Attributes:
        shape: see `Shape`.
        shares_scratch: one scratch is enough for all rounds (otherwise rounds take turns between two). It needs a
            proof that no rank writes there before the last use in the round before.
    """

    shares_scratch: ClassVar[bool] = False

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    @classmethod
    def refusal(cls, shape: Shape) -> str | None:  # noqa: ARG003 - what an algorithm may look at
        """Return why the algorithm cannot do `shape`: what it expects, what it found, and an example; None if it can.

        The text is the end of an error message: ``expected the same number of ranks on each host, found 2 and 3; ...``
        """
        return None

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many steps a round has; each `step` of a message is below it."""

    @abstractmethod
    def phase(self, step: int) -> str:
        """Return the name of the phase that a step belongs to (``reduce-scatter``)."""

    @abstractmethod
    def connections(self) -> Iterator[Connection]:
        """Yield every connection on which anything is ever sent, once."""

    @abstractmethod
    async def run(self, side: Side) -> None:
        """Run one rank's side of a round."""

    @property
    def scratch_elements(self) -> int:
        """How many elements of scratch a rank needs."""
        return 0

    @property
    def longest_run(self) -> int:
        """The most elements that `Shape.pieces` is asked for in one go: what must fit into the pieces of a step."""
        return self.shape.elements

    # --- closed forms, for one round ----------------------------------------------------------------------------------

    @abstractmethod
    def messages(self, rank: int) -> int:
        """Return how many messages a rank sends."""

    @abstractmethod
    def sent_bytes(self, rank: int) -> int:
        """Return how many bytes a rank sends."""
