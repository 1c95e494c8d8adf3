"""Recursive halving and doubling (Rabenseifner's All-Reduce): 2 log2 n steps, and no more bytes than a ring.

With n = 2^k ranks, in step s = 0 .. k-1 of the reduce-scatter, rank r exchanges with r xor n / 2^(s+1): they share a
range of the data, each sends the half that the other keeps, and adds what it receives to its own. In the end rank r has
the sum of part r. The all-gather goes back the same way, with ranges that double. Every rank sends 2 S (n - 1) / n
bytes.

If n is no power of two, let p be the largest one below and e = n - p: the first 2 e ranks pair up. In a step before,
the odd one of a pair sends all of its data to the even one; the even ones and the ranks from 2 e on do the above; in a
step behind, the even one sends the result back. These pairs send 2 S bytes more between them.

In reduce-scatter a range arrives in the scratch, where each step has a place of its own: ranges of later steps lie
within those of earlier ones, and the peer of a step does not know whether its receiver has added what came before. Of
the all-gather nobody writes where it would be too early: what is final has been summed up from what was there.

References: R. Rabenseifner, Optimization of Collective Reduction Operations, 2004; R. Thakur, R. Rabenseifner and W.
Gropp, Optimization of collective communication operations in MPICH, 2005.
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Shape, Side
from traffic.collectives.algorithms import algorithms

Run = tuple[int, int]
"""A run of elements: the first, and how many."""


@algorithms.register("all-reduce/halving-doubling")
class HalvingDoublingAllReduce(Algorithm):
    """Any number of ranks."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.halvings = shape.ranks.bit_length() - 1
        self.power = 1 << self.halvings
        self.extra = shape.ranks - self.power

    # --- who is who ---------------------------------------------------------------------------------------------------

    def place(self, rank: int) -> int | None:
        """Return the rank's number among the 2^k that take part in the exchange; None for one that does not."""
        if rank >= 2 * self.extra:
            return rank - self.extra
        return None if rank % 2 else rank // 2

    def rank_at(self, place: int) -> int:
        """Return the rank with a number in the exchange; `place` is the inverse."""
        return 2 * place if place < self.extra else place + self.extra

    def halves(self, place: int, step: int) -> tuple[Run, Run]:
        """Return (kept, given away): the halves of the range that the rank has in a step of the reduce-scatter.

        Ranges consist of the parts of the ranks that have the upper bits of `place` in common.
        """
        distance = self.power >> (step + 1)
        first = place & ~(2 * distance - 1)
        low, high = self._parts(first, distance), self._parts(first + distance, distance)
        return (high, low) if place & distance else (low, high)

    def _parts(self, first: int, count: int) -> Run:
        """The run of elements of some parts out of 2^k."""
        start = self.shape.part(first, self.power)[0]
        last, elements = self.shape.part(first + count - 1, self.power)
        return start, last + elements - start

    # --- shape --------------------------------------------------------------------------------------------------------

    @property
    def steps(self) -> int:
        """2 log2 n; for other n two more, the first and the last."""
        return 2 * self.halvings + (2 if self.extra else 0)

    @property
    def _first(self) -> int:
        """The first step of the exchange."""
        return 1 if self.extra else 0

    def phase(self, step: int) -> str:
        if self.extra and step in (0, self.steps - 1):
            return "before" if step == 0 else "behind"
        return "reduce-scatter" if step < self._first + self.halvings else "all-gather"

    def connections(self) -> Iterator[Connection]:
        for rank in range(self.shape.ranks):
            place = self.place(rank)
            if place is None:
                yield Connection(rank, rank - 1)
                continue
            if place < self.extra:
                yield Connection(rank, rank + 1)
            for step in range(self.halvings):
                yield Connection(rank, self.rank_at(place ^ self.power >> (step + 1)))

    def _place(self, step: int) -> int:
        """Return the element of the scratch where the range of a step of the reduce-scatter begins.

        A step's range is at most as many parts as its number says, each at most ceil(S / 2^k). Behind them all lies
        what the odd one of a pair sends.
        """
        parts = self.power - (self.power >> step)
        return parts * -(-self.shape.elements // self.power)

    @property
    def scratch_elements(self) -> int:
        return self._place(self.halvings) + (self.shape.elements if self.extra else 0)

    # --- a round ------------------------------------------------------------------------------------------------------

    async def run(self, side: Side) -> None:
        place, everything = self.place(side.rank), (0, self.shape.elements)
        if place is None:
            self._send(side, side.rank - 1, 0, everything, side.scratch(self._moved(self.halvings, everything)))
            await self._receive(side, side.rank - 1, self.steps - 1, everything)
            return
        if place < self.extra:
            await self._add(side, side.rank + 1, 0, everything, side.scratch(self._moved(self.halvings, everything)))
        for step in range(self.halvings):
            peer = self.rank_at(place ^ self.power >> (step + 1))
            kept, given = self.halves(place, step)
            self._send(side, peer, self._first + step, given, side.scratch(self._moved(step, given)))
            await self._add(side, peer, self._first + step, kept, side.scratch(self._moved(step, kept)))
        for step in reversed(range(self.halvings)):
            peer = self.rank_at(place ^ self.power >> (step + 1))
            kept, given = self.halves(place, step)
            number = self._first + 2 * self.halvings - 1 - step
            self._send(side, peer, number, kept, side.data(0))
            await self._receive(side, peer, number, given)
        if place < self.extra:
            self._send(side, side.rank + 1, self.steps - 1, everything, side.data(0))

    def _moved(self, step: int, run: Run) -> int:
        """How many bytes further than in the data a run lies in the scratch, in a step."""
        return (self._place(step) - run[0]) * ELEMENT_BYTES

    def _send(self, side: Side, peer: int, step: int, run: Run, area: int) -> None:
        """Send a run to the peer, where its byte b of the data goes to position `area` + b."""
        for piece in self.shape.pieces(*run):
            source, target = side.data(piece.offset), area + piece.offset
            side.send(peer, step, piece.number, source=source, target=target, size=piece.size)

    async def _receive(self, side: Side, peer: int, step: int, run: Run) -> None:
        for piece in self.shape.pieces(*run):
            await side.receive(peer, step, piece.number)

    async def _add(self, side: Side, peer: int, step: int, run: Run, area: int) -> None:
        for piece in self.shape.pieces(*run):
            await side.receive(peer, step, piece.number)
            side.add(side.data(piece.offset), area + piece.offset, piece.size)

    # --- closed forms -------------------------------------------------------------------------------------------------

    def _sent_runs(self, rank: int) -> Iterator[int]:
        """The elements of everything that a rank sends."""
        place = self.place(rank)
        if place is None:
            yield self.shape.elements
            return
        for step in range(self.halvings):
            kept, given = self.halves(place, step)
            yield from (given[1], kept[1])
        if place < self.extra:
            yield self.shape.elements

    def messages(self, rank: int) -> int:
        """2 log2 n ranges; ceil(range / piece) messages each."""
        return sum(map(self.shape.piece_count, self._sent_runs(rank)))

    def sent_bytes(self, rank: int) -> int:
        """2 S (n - 1) / n for a power of two that divides the elements."""
        return sum(self._sent_runs(rank)) * ELEMENT_BYTES
