"""Hierarchical All-Reduce: within hosts over NVLink, between hosts on rails.

With g ranks on each of m hosts (n = g m), the buffer of S bytes is cut into g parts, and each part into m slices:

    1. reduce-scatter within each host: local rank l ends with the host's sum of part l. Every rank sends part l'
       straight to local rank l' of its host, all at once: the domain is a switch. Each arrives in a place of its own,
       and all are added.
    2. all-reduce of part l among the ranks with local number l, one on each host: a ring, slice by slice (2 (m - 1)
       steps), which stays on rail l.
    3. all-gather within each host: local rank l sends the final part l to all others of its host.

Between hosts a rank sends 2 (S / g) (m - 1) / m bytes, a g-th of what it sends in a flat ring over all hosts; within
its host 2 (S / g) (g - 1).

References: X. Jia et al., Highly Scalable Deep Learning Training System with Mixed-Precision: Training ImageNet in Four
Minutes, 2018 (hierarchical all-reduce).
"""

from collections.abc import Iterator

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Connection, Piece, Shape, Side
from traffic.collectives.algorithms import algorithms


@algorithms.register("all-reduce/hierarchical")
class HierarchicalAllReduce(Algorithm):
    """Ranks of one host follow each other; every host has as many."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.hosts = max(shape.hosts) + 1
        self.local = shape.ranks // self.hosts

    @classmethod
    def refusal(cls, shape: Shape) -> str | None:
        local = shape.hosts.count(0)
        hosts = shape.ranks // local
        if shape.hosts == tuple(host for host in range(hosts) for _ in range(local)):
            return None
        counts = [shape.hosts.count(host) for host in range(max(shape.hosts) + 1)]
        found = "them mixed" if len(set(counts)) == 1 else f"from {min(counts)} to {max(counts)} on a host"
        return (
            f"expected as many ranks on each host, host by host, for a hierarchical all-reduce, found {found}; "
            "for example 'ranks: {per_host: 4}'"
        )

    # --- shape --------------------------------------------------------------------------------------------------------

    @property
    def _ring_steps(self) -> int:
        return 2 * (self.hosts - 1)

    @property
    def steps(self) -> int:
        """One within the host, 2 (m - 1) on the rail, one within the host."""
        return self._ring_steps + 2

    def phase(self, step: int) -> str:
        if step == 0:
            return "reduce-scatter in host"
        if step > self._ring_steps:
            return "all-gather in host"
        return "reduce-scatter on rail" if step < self.hosts else "all-gather on rail"

    def _neighbours(self, rank: int) -> list[int]:
        """The other ranks of the host, from the next one around."""
        first, own = rank - rank % self.local, rank % self.local
        return [first + (own + distance) % self.local for distance in range(1, self.local)]

    def connections(self) -> Iterator[Connection]:
        n = self.shape.ranks
        for rank in range(n):
            yield from (Connection(rank, peer) for peer in self._neighbours(rank))
            if self.hosts > 1:
                yield Connection(rank, (rank + self.local) % n)

    @property
    def scratch_elements(self) -> int:
        """A place for the parts of all other ranks of the host, and one for the rail's."""
        return self.local * self.longest_run

    @property
    def longest_run(self) -> int:
        return self.shape.part(0, self.local)[1]

    def _slice(self, part: int, index: int) -> tuple[int, int]:
        """Return (first element, elements) of a slice of a part."""
        start, elements = self.shape.part(part, self.local)
        size, larger = divmod(elements, self.hosts)
        index %= self.hosts
        return start + index * size + min(index, larger), size + (index < larger)

    # --- a round ------------------------------------------------------------------------------------------------------

    async def run(self, side: Side) -> None:
        own = side.rank % self.local
        for peer in self._neighbours(side.rank):
            for piece in self.shape.pieces(*self.shape.part(peer % self.local, self.local)):
                self._send(side, peer, 0, piece, side.scratch(self._place(side.rank, peer, piece)))
        for peer in reversed(self._neighbours(side.rank)):
            for piece in self.shape.pieces(*self.shape.part(own, self.local)):
                await side.receive(peer, 0, piece.number)
                side.add(side.data(piece.offset), side.scratch(self._place(peer, side.rank, piece)), piece.size)
        if self.hosts > 1:
            await self._rail(side, own)
        for peer in self._neighbours(side.rank):
            for piece in self.shape.pieces(*self.shape.part(own, self.local)):
                self._send(side, peer, self._ring_steps + 1, piece, side.data(piece.offset))
        for peer in reversed(self._neighbours(side.rank)):
            for piece in self.shape.pieces(*self.shape.part(peer % self.local, self.local)):
                await side.receive(peer, self._ring_steps + 1, piece.number)

    async def _rail(self, side: Side, own: int) -> None:
        """Sum part `own` over the hosts: the ring, as in `ring_all_reduce`, of slices."""
        n, host = self.shape.ranks, side.rank // self.local
        left, right = (side.rank - self.local) % n, (side.rank + self.local) % n

        def send(step: int, piece: Piece) -> None:
            reducing = step < self.hosts - 1
            place = self._place(side.rank, side.rank, piece, own)
            self._send(side, right, step + 1, piece, side.scratch(place) if reducing else side.data(piece.offset))

        for piece in self.shape.pieces(*self._slice(own, host)):
            send(0, piece)
        for step in range(self._ring_steps):
            for piece in self.shape.pieces(*self._slice(own, host - step - 1)):
                await side.receive(left, step + 1, piece.number)
                if step < self.hosts - 1:
                    place = self._place(side.rank, side.rank, piece, own)
                    side.add(side.data(piece.offset), side.scratch(place), piece.size)
                if step + 1 < self._ring_steps:
                    send(step + 1, piece)

    def _place(self, source: int, destination: int, piece: Piece, part: int | None = None) -> int:
        """Return where in the scratch a piece of the destination's part goes: each source has a place, and the rail
        (source and destination the same) has the last one.
        """
        part = destination % self.local if part is None else part
        number = (source - destination) % self.local - 1 if source != destination else self.local - 1
        within = piece.offset - self.shape.part(part, self.local)[0] * ELEMENT_BYTES
        return number * self.longest_run * ELEMENT_BYTES + within

    def _send(self, side: Side, peer: int, step: int, piece: Piece, target: int) -> None:
        side.send(peer, step, piece.number, source=side.data(piece.offset), target=target, size=piece.size)

    # --- closed forms -------------------------------------------------------------------------------------------------

    def _sent_runs(self, rank: int) -> Iterator[int]:
        """The elements of everything that a rank sends: others' parts, slices of its own, and its part to others."""
        own, host = rank % self.local, rank // self.local
        yield from (self.shape.part(peer % self.local, self.local)[1] for peer in self._neighbours(rank))
        yield from (self._slice(own, host - step)[1] for step in range(self._ring_steps))
        yield from (self.shape.part(own, self.local)[1] for _ in self._neighbours(rank))

    def messages(self, rank: int) -> int:
        """2 (g - 1) parts and 2 (m - 1) slices; ceil(run / piece) messages each."""
        return sum(map(self.shape.piece_count, self._sent_runs(rank)))

    def sent_bytes(self, rank: int) -> int:
        """2 (S / g) (g - 1 + (m - 1) / m) if n divides the elements."""
        return sum(self._sent_runs(rank)) * ELEMENT_BYTES
