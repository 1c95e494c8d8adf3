"""Ring All-Reduce: reduce-scatter, then all-gather, both once around the ring (n - 1 steps each).

The buffer of S bytes is cut into n parts. In step s, rank r sends a part to its right neighbour and receives one from
its left:

    reduce-scatter, s = 0 .. n-2: sends part r - s, receives part r - s - 1 and adds it to its own
    all-gather, s = n-1 .. 2n-3: sends and receives the same way; what it receives is final and replaces its own

(all modulo n). What is received in step s is what is sent in step s + 1, so each piece of a part goes on as soon as it
is there: with several pieces a part, steps overlap. Every rank sends 2 (n - 1) parts, 2 S (n - 1) / n bytes in all.

References: P. Patarasuk and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.endpoint import Endpoint
from traffic.collectives.ring_buffers import Buffers
from traffic.collectives.step_log import StepLog
from traffic.results import COMPUTE


@dataclass(frozen=True, slots=True)
class Ring:
    """The shape of a ring All-Reduce: `ranks`, `elements` of float32, and at most `piece_elements` in a piece."""

    ranks: int
    elements: int
    piece_elements: int

    @property
    def steps(self) -> int:
        """Steps of one iteration: 2 (n - 1)."""
        return 2 * (self.ranks - 1)

    def part(self, index: int) -> tuple[int, int]:
        """Return (first element, elements) of a part: parts differ by at most one element, the larger ones first."""
        size, larger = divmod(self.elements, self.ranks)
        return index * size + min(index, larger), size + (index < larger)

    def pieces(self, index: int) -> Iterator[tuple[int, int, int]]:
        """Yield (number, first byte, bytes) of each piece of a part; a part without elements has none."""
        start, elements = self.part(index)
        for number, first in enumerate(range(start, start + elements, self.piece_elements)):
            size = min(self.piece_elements, start + elements - first)
            yield number, first * ELEMENT_BYTES, size * ELEMENT_BYTES


async def ring_all_reduce(
    endpoint: Endpoint, ring: Ring, buffers: Buffers, log: StepLog, iterations: int, compute_ps: int
) -> None:
    """Run one rank's side of `iterations` All-Reduces, each after a compute phase of `compute_ps`."""
    for iteration in range(iterations):
        if compute_ps:
            await endpoint.sleep(compute_ps, COMPUTE)
        buffers.fill(endpoint.rank, iteration)
        await _iteration(endpoint, ring, buffers, log, iteration)
        buffers.check(endpoint.rank, iteration)


async def _iteration(endpoint: Endpoint, ring: Ring, buffers: Buffers, log: StepLog, iteration: int) -> None:
    rank, n = endpoint.rank, ring.ranks
    left, right = (rank - 1) % n, (rank + 1) % n
    first = iteration * ring.steps

    def send(step: int, piece: int, offset: int, size: int) -> None:
        source_offset = buffers.result_offset(iteration) + offset
        target_offset = buffers.scratch_offset + offset if step < n - 1 else source_offset
        log.sent(rank, first + step, endpoint.now)
        endpoint.send(
            right, first + step, piece, source_offset=source_offset, target_offset=target_offset, size_bytes=size
        )

    for piece, offset, size in ring.pieces(rank):
        send(0, piece, offset, size)
    for step in range(ring.steps):
        for piece, offset, size in ring.pieces((rank - step - 1) % n):
            await endpoint.receive(left, first + step, piece)
            log.received(rank, first + step, endpoint.now)
            if step < n - 1:
                buffers.add(rank, iteration, offset, size)
            if step + 1 < ring.steps:
                send(step + 1, piece, offset, size)
