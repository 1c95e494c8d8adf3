"""The memory of a collective's ranks: where its areas lie, and when a place may be used again.

Each rank registers one buffer. A round (an iteration; with buckets, one bucket of it) uses one set of the areas data,
input and scratch; rounds take turns between two sets, where there is more than one round.

    | data (even rounds) | data (odd) | input (even) | input (odd) | scratch (even) | scratch (odd) |

Nobody waits for leave to write, so each write must come after the last use of its target. In round i + 2, a rank fills
the places of round i again, and so do its peers' writes. Two rules make that safe.

**Where finishing a round means that everyone has started it** (`kinds.synchronises`), nothing more is needed: who
begins round i + 2 has finished i + 1, which everyone has started, so everyone has finished round i. All messages of i
have been received then, for a rank receives every message that is sent to it before it finishes; what is still sent of
them are retransmissions, whose packets are duplicates and are discarded. So no place of i is needed any more, neither
as a target nor as a source.

**Everywhere else**, readiness is told. When a rank has finished round i, and all that it sent in i has been
acknowledged, it tells each rank that sends to it, by a zero-byte write: *ready i*. Before round i + 2, a rank waits for
*ready i* of every rank that it sends to. So a peer's write of round i + 2 comes after the target's owner finished round
i, and after that one's own messages of i were received, of which the target may have been the source. And what the rank
itself fills was the source of messages that their receivers, being ready, have received. Readiness of round i needs
rounds up to i alone, so no one waits in a circle.

An algorithm with `shares_scratch` needs only one scratch, by a proof of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Algorithm, Shape

SETS = 2
"""Sets of areas that rounds take turns between."""


class Memory(Protocol):
    """What a rank's program asks of the ranks' memory; positions and sizes in bytes."""

    layout: Layout

    def fill(self, rank: int, number: int) -> None:
        """Put what the rank brings into round `number` into its place."""

    def add(self, rank: int, target: int, source: int, size: int) -> None:
        """Add the rank's elements at position `source` to those at `target`."""

    def copy(self, rank: int, target: int, source: int, size: int) -> None:
        """Copy within the rank's buffer."""

    def check(self, rank: int, number: int) -> None:
        """Compare the rank's result of round `number` with the true one."""


class Layout:
    """Where the areas of each round begin, in bytes from a buffer's beginning. `buffer_bytes` is what a rank needs."""

    def __init__(self, algorithms: Sequence[Algorithm], rounds: int) -> None:
        shapes = [algorithm.shape for algorithm in algorithms]
        self.sets = min(rounds, SETS)
        self._scratch_sets = 1 if all(algorithm.shares_scratch for algorithm in algorithms) else self.sets
        self.data_bytes = max(data_elements(shape) for shape in shapes) * ELEMENT_BYTES
        self.input_bytes = max(input_elements(shape) for shape in shapes) * ELEMENT_BYTES
        self._scratch_bytes = max(algorithm.scratch_elements for algorithm in algorithms) * ELEMENT_BYTES
        self._first_input = self.sets * self.data_bytes
        self._first_scratch = self._first_input + self.sets * self.input_bytes
        self.buffer_bytes = self._first_scratch + self._scratch_sets * self._scratch_bytes

    def data(self, number: int) -> int:
        """Return where the data of round `number` begins."""
        return number % self.sets * self.data_bytes

    def input(self, number: int) -> int:
        """Return where the input of round `number` begins."""
        return self._first_input + number % self.sets * self.input_bytes

    def scratch(self, number: int) -> int:
        """Return where the scratch of round `number` begins."""
        return self._first_scratch + number % self._scratch_sets * self._scratch_bytes


def data_elements(shape: Shape) -> int:
    """Return the elements of a rank's data: of an all-to-all, the most that any rank receives."""
    received: list[int] = [sum(column) for column in zip(*shape.counts, strict=True)]
    return max([shape.elements, *received])


def input_elements(shape: Shape) -> int:
    """Return the elements of a rank's input: of an all-to-all, the most that any rank sends; otherwise none."""
    return max((sum(row) for row in shape.counts), default=0)


class NoNumbers:
    """A layout with no memory behind it: what ``verify: false`` and the contention-free run need."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def fill(self, rank: int, number: int) -> None:
        """There is nothing to put anywhere."""

    def add(self, rank: int, target: int, source: int, size: int) -> None:
        """There is nothing to add."""

    def copy(self, rank: int, target: int, source: int, size: int) -> None:
        """There is nothing to copy."""

    def check(self, rank: int, number: int) -> None:
        """There is nothing to check."""
