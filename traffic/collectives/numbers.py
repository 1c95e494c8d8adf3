"""Real numbers in the memory of a collective's ranks, and the check of every result.

The numbers are small seeded integers: sums of at most 2^24 are exact in float32, in any order, so that results can be
compared for equality. The true result (`truth`) is worked out from the numbers that ranks bring, in integers, and from
no buffer that anything was sent from or to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.algorithm import Shape
from traffic.collectives.kinds import synchronises
from traffic.collectives.memory import SETS, Layout
from traffic.collectives.truth import Truth, truths

Floats = NDArray[np.float32]

_LIMIT = 1000
"""Numbers are integers from -1000 to 1000: sums stay below 2^24 with up to 16777 ranks, more than a fabric has."""


class Numbers:
    """The buffers of all ranks as float32 arrays; `shapes` are those of the rounds in turn.

    `wrong_elements` counts those that differed from the true result; `checked` the results that were compared: ranks
    times rounds in the end.
    """

    def __init__(self, layout: Layout, shapes: Sequence[Shape], rounds: int, seed: int) -> None:
        self.layout = layout
        self.wrong_elements = 0
        self.checked = 0
        self._shapes = shapes
        self._rounds = rounds
        self._seed = seed
        ranks = shapes[0].ranks
        self._arrays: Sequence[Floats] = [
            np.zeros(layout.buffer_bytes // ELEMENT_BYTES, dtype=np.float32) for _ in range(ranks)
        ]
        self._truths: dict[int, Truth] = {}
        self._unchecked: dict[int, int] = {}
        for rank in range(ranks):  # before the first packet, so that a run's clock starts with the data in place
            self._bring_in(rank, 0)

    @staticmethod
    def needed_bytes(layout: Layout, shapes: Sequence[Shape], rounds: int) -> int:
        """Return the most memory that the numbers take at a time.

        Beside the buffers that is the true result of each round that ranks can be in at a time, and a rank's numbers
        while they are brought in (or, which is less, a truth value for each element while they are compared).
        """
        largest = max(shapes, key=lambda shape: shape.elements)
        apart = SETS if all(map(synchronises, shapes)) else SETS * largest.ranks
        of_truths = min(rounds, apart) * truths[largest.collective].needed_bytes(largest)
        brought = max(truths[shape.collective].brought(shape, 0)[1] for shape in shapes)
        return largest.ranks * layout.buffer_bytes + of_truths + brought * np.dtype(np.int16).itemsize

    def memory(self, rank: int) -> memoryview:
        """Return the rank's whole buffer as bytes, to be registered."""
        return self._arrays[rank].data.cast("B")

    def numbers(self, rank: int, number: int) -> NDArray[np.int16]:
        """Return what the rank brings into round `number`."""
        shape = self._shape(number)
        elements = truths[shape.collective].brought(shape, rank)[1]
        generator = np.random.Generator(np.random.PCG64([self._seed, rank, number]))
        return generator.integers(-_LIMIT, _LIMIT, elements, dtype=np.int16, endpoint=True)

    def fill(self, rank: int, number: int) -> None:
        if number > 0:
            self._bring_in(rank, number)

    def _bring_in(self, rank: int, number: int) -> None:
        """Put the rank's numbers into their place, and note them for the true result."""
        shape = self._shape(number)
        if number not in self._truths:
            self._truths[number] = truths[shape.collective](shape)
            self._unchecked[number] = shape.ranks
        numbers = self.numbers(rank, number)
        area = self.layout.input(number) if shape.counts else self.layout.data(number)
        start = area // ELEMENT_BYTES + self._truths[number].brought(shape, rank)[0]
        self._arrays[rank][start : start + len(numbers)] = numbers
        self._truths[number].bring(rank, numbers)

    def add(self, rank: int, target: int, source: int, size: int) -> None:
        array = self._arrays[rank]
        to, at, elements = target // ELEMENT_BYTES, source // ELEMENT_BYTES, size // ELEMENT_BYTES
        array[to : to + elements] += array[at : at + elements]

    def copy(self, rank: int, target: int, source: int, size: int) -> None:
        array = self._arrays[rank]
        to, at, elements = target // ELEMENT_BYTES, source // ELEMENT_BYTES, size // ELEMENT_BYTES
        array[to : to + elements] = array[at : at + elements]

    def check(self, rank: int, number: int) -> None:
        # All whose numbers are in the rank's result have brought them in: it could not have the result otherwise.
        first, true = self._truths[number].result(rank)
        start = self.layout.data(number) // ELEMENT_BYTES + first
        self.wrong_elements += int(np.count_nonzero(self._arrays[rank][start : start + len(true)] != true))
        self.checked += 1
        self._unchecked[number] -= 1
        if not self._unchecked[number]:
            del self._truths[number], self._unchecked[number]

    def result(self, rank: int, number: int) -> Floats:
        """Return a view of the rank's data in round `number`."""
        start = self.layout.data(number) // ELEMENT_BYTES
        return self._arrays[rank][start : start + self.layout.data_bytes // ELEMENT_BYTES]

    def _shape(self, number: int) -> Shape:
        return self._shapes[number % len(self._shapes)]
