"""The memory of a ring All-Reduce, with real numbers in it, and the check of every result.

Each rank registers one buffer: the result, for several iterations a second result, and scratch as large as a result.

    | result (even iterations) | result (odd iterations) | scratch |

In reduce-scatter a part arrives in its place in the scratch and is added to its place in the result; in all-gather it
arrives in its place in the result. Nobody waits for leave to write, so each write must come after the last use of its
target:

Scratch. Rank r uses its scratch of part k once in an iteration, when it adds it (not at all for k = r). The left
neighbour writes there again in the next iteration, which it begins when it has the final value of every part; that of k
comes about by the additions of all ranks but k, that of r among them. So r has added before it can be overwritten.

Result. The final part k arrives at r after all ranks have added, so after the right neighbour had received what r sent
of k during reduce-scatter: r needs that place only for a retransmission, whose packets are duplicates and are
discarded. At the start of iteration i + 2, r fills the result of iteration i again. It has finished i + 1 by then, to
which the right neighbour added its own numbers, so that one had finished i, and had received all that r sent in it.
With one result only, r would overwrite in i + 1 what it may still have to send in i.

The numbers are small seeded integers: sums of at most 2^24 are exact in float32, in any order, so that results can be
compared for equality.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from testbed.scenario.limits import ELEMENT_BYTES

Floats = NDArray[np.float32]
Integers = NDArray[np.int16]

_LIMIT = 1000
"""Numbers are integers from -1000 to 1000: sums stay below 2^24 with up to 16777 ranks, more than a
fabric has."""


class Buffers(Protocol):
    """What the algorithm asks of the ranks' memory; offsets and sizes in bytes."""

    scratch_offset: int

    def result_offset(self, iteration: int) -> int:
        """Return where the result of an iteration begins."""

    def fill(self, rank: int, iteration: int) -> None:
        """Put the rank's own numbers of an iteration into its result."""

    def add(self, rank: int, iteration: int, offset: int, size: int) -> None:
        """Add what arrived in the scratch at `offset` to the result."""

    def check(self, rank: int, iteration: int) -> None:
        """Compare the rank's result of an iteration with the true sum."""


class Layout:
    """Where results and scratch lie, with no memory behind them: what `verify: false` and the contention-free run
    use.
    """

    def __init__(self, elements: int, iterations: int) -> None:
        self.size_bytes = elements * ELEMENT_BYTES
        self._results = 1 if iterations == 1 else 2
        self.scratch_offset = self._results * self.size_bytes
        self.buffer_bytes = self.scratch_offset + self.size_bytes

    def result_offset(self, iteration: int) -> int:
        return iteration % self._results * self.size_bytes

    def fill(self, rank: int, iteration: int) -> None:
        """There is nothing to fill."""

    def add(self, rank: int, iteration: int, offset: int, size: int) -> None:
        """There is nothing to add."""

    def check(self, rank: int, iteration: int) -> None:
        """There is nothing to check."""


class RealBuffers(Layout):
    """The buffers of all ranks as float32 arrays. `wrong_elements` counts those that differed from the true sum.

    `checked` counts results that were compared: ranks times iterations in the end.
    """

    def __init__(self, ranks: int, elements: int, iterations: int, seed: int) -> None:
        super().__init__(elements, iterations)
        self.wrong_elements = 0
        self.checked = 0
        self._ranks = ranks
        self._elements = elements
        self._seed = seed
        self._arrays: Sequence[Floats] = [
            np.zeros(self.buffer_bytes // ELEMENT_BYTES, dtype=np.float32) for _ in range(ranks)
        ]
        self._true_sum: dict[int, NDArray[np.int32]] = {}
        self._unchecked: dict[int, int] = {}
        for rank in range(ranks):  # before the first packet, so that a run's clock starts with the data in place
            self._bring_in(rank, 0)

    @staticmethod
    def needed_bytes(ranks: int, elements: int, iterations: int) -> int:
        """Return the most memory that the buffers take at a time.

        Beside the buffers that is the true sum, two of them when ranks are an iteration apart, and a rank's numbers
        while they are brought in (or, which is less, a truth value for each element while they are compared).
        """
        buffers = ranks * Layout(elements, iterations).buffer_bytes
        sums = min(iterations, 2) * elements * np.dtype(np.int32).itemsize
        return buffers + sums + elements * np.dtype(np.int16).itemsize

    def memory(self, rank: int) -> memoryview:
        """Return the rank's whole buffer as bytes, to be registered."""
        return self._arrays[rank].data.cast("B")

    def numbers(self, rank: int, iteration: int) -> Integers:
        """Return what the rank brings into an iteration."""
        generator = np.random.Generator(np.random.PCG64([self._seed, rank, iteration]))
        return generator.integers(-_LIMIT, _LIMIT, self._elements, dtype=np.int16, endpoint=True)

    def result(self, rank: int, iteration: int) -> Floats:
        """Return a view of the rank's result of an iteration."""
        start = self.result_offset(iteration) // ELEMENT_BYTES
        return self._arrays[rank][start : start + self._elements]

    def fill(self, rank: int, iteration: int) -> None:
        if iteration > 0:
            self._bring_in(rank, iteration)

    def _bring_in(self, rank: int, iteration: int) -> None:
        """Fill the rank's result with its numbers, and add them to the true sum: in integers, and from no buffer."""
        numbers = self.numbers(rank, iteration)
        self.result(rank, iteration)[:] = numbers
        if iteration not in self._true_sum:
            self._true_sum[iteration] = np.zeros(self._elements, dtype=np.int32)
            self._unchecked[iteration] = self._ranks
        self._true_sum[iteration] += numbers

    def add(self, rank: int, iteration: int, offset: int, size: int) -> None:
        array = self._arrays[rank]
        target = (self.result_offset(iteration) + offset) // ELEMENT_BYTES
        source = (self.scratch_offset + offset) // ELEMENT_BYTES
        elements = size // ELEMENT_BYTES
        array[target : target + elements] += array[source : source + elements]

    def check(self, rank: int, iteration: int) -> None:
        # All ranks have brought in theirs: the rank could not have its result otherwise.
        wrong = np.count_nonzero(self.result(rank, iteration) != self._true_sum[iteration])
        self.wrong_elements += int(wrong)
        self.checked += 1
        self._unchecked[iteration] -= 1
        if not self._unchecked[iteration]:
            del self._true_sum[iteration]
