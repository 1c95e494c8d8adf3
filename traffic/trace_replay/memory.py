"""Real numbers and bytes in the ranks' buffers, and the check of every result of a replay.

As in other collectives, numbers are small seeded integers whose sums are exact in float32, and the true result is
worked out from what ranks bring, from no buffer (`traffic.collectives.truth`). A message has random bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.collectives.memory import input_elements
from traffic.collectives.truth import Truth, truths
from traffic.trace_replay.script import Call, Script, Transfer

_LIMIT = 1000
_COLLECTIVES, _MESSAGES = 0, 1
"""Streams of random numbers."""


class Nothing:
    """No memory at all: ``verify: false``, and the contention-free run."""

    def bring(self, call: Call, index: int) -> None:
        """Rank `index` of the call puts its numbers into their place."""

    def check(self, call: Call, index: int) -> None:
        """Compare the result of rank `index` of the call."""

    def add(self, rank: int, target: int, source: int, size: int) -> None:
        """Add elements of the rank's buffer to others there."""

    def copy(self, rank: int, target: int, source: int, size: int) -> None:
        """Copy within the rank's buffer."""

    def write(self, transfer: Transfer) -> None:
        """Put a message's bytes into the sender's buffer."""

    def compare(self, transfer: Transfer) -> None:
        """Compare the bytes of a message that has arrived."""


class Numbers(Nothing):
    """The buffers of all ranks.

    `wrong_elements` counts elements of collectives and bytes of messages that were not as they should be; `checked` the
    results and messages compared: `expected` in the end.
    """

    def __init__(self, script: Script, seed: int) -> None:
        self.wrong_elements = 0
        self.checked = 0
        self.expected = len(script.transfers) + sum(len(call.ranks) for call in script.calls if call.algorithm)
        self._seed = seed
        elements = -(-script.buffer_bytes // ELEMENT_BYTES)
        self._arrays = [np.zeros(elements, dtype=np.float32) for _ in script.trace.ranks]
        self._bytes = [array.view(np.uint8) for array in self._arrays]
        self._truths: dict[int, Truth] = {}
        self._unchecked: dict[int, int] = {}

    @staticmethod
    def needed_bytes(script: Script) -> int:
        """Return the most memory that the numbers take at a time.

        Beside the buffers these are the true results: of all collectives, since a rank that need not wait for others
        (a broadcast's root) can be at the last one while they are at the first. And for a moment what a rank brings
        in, or the bytes of a message with a truth value for each.
        """
        shapes = [call.algorithm.shape for call in script.calls if call.algorithm is not None]
        of_truths = sum(truths[shape.collective].needed_bytes(shape) for shape in shapes)
        brought = max((max(input_elements(shape), shape.elements) for shape in shapes), default=0)
        message = max((transfer.size_bytes for transfer in script.transfers), default=0)
        at_once = max(brought * np.dtype(np.int16).itemsize, 2 * message)
        return len(script.trace.ranks) * -(-script.buffer_bytes // ELEMENT_BYTES) * ELEMENT_BYTES + of_truths + at_once

    def memory(self, rank: int) -> memoryview:
        """Return the rank's whole buffer as bytes, to be registered."""
        return self._arrays[rank].data.cast("B")

    def bring(self, call: Call, index: int) -> None:
        assert call.algorithm is not None
        assert call.layout is not None
        shape = call.algorithm.shape
        if call.number not in self._truths:
            self._truths[call.number] = truths[shape.collective](shape)
            self._unchecked[call.number] = shape.ranks
        first, elements = truths[shape.collective].brought(shape, index)
        generator = self._generator(_COLLECTIVES, call.number, index)
        numbers = generator.integers(-_LIMIT, _LIMIT, elements, dtype=np.int16, endpoint=True)
        area = call.offset + (call.layout.input(0) if shape.counts else call.layout.data(0))
        start = area // ELEMENT_BYTES + first
        self._arrays[call.ranks[index]][start : start + elements] = numbers
        self._truths[call.number].bring(index, numbers)

    def check(self, call: Call, index: int) -> None:
        assert call.layout is not None
        first, true = self._truths[call.number].result(index)
        start = (call.offset + call.layout.data(0)) // ELEMENT_BYTES + first
        found = self._arrays[call.ranks[index]][start : start + len(true)]
        self._compared(int(np.count_nonzero(found != true)))
        self._unchecked[call.number] -= 1
        if not self._unchecked[call.number]:
            del self._truths[call.number], self._unchecked[call.number]

    def add(self, rank: int, target: int, source: int, size: int) -> None:
        array = self._arrays[rank]
        to, at, elements = target // ELEMENT_BYTES, source // ELEMENT_BYTES, size // ELEMENT_BYTES
        array[to : to + elements] += array[at : at + elements]

    def copy(self, rank: int, target: int, source: int, size: int) -> None:
        self._bytes[rank][target : target + size] = self._bytes[rank][source : source + size]

    def write(self, transfer: Transfer) -> None:
        at = transfer.source_offset
        self._bytes[transfer.source][at : at + transfer.size_bytes] = self._sent(transfer)

    def compare(self, transfer: Transfer) -> None:
        at = transfer.target_offset
        found = self._bytes[transfer.destination][at : at + transfer.size_bytes]
        self._compared(int(np.count_nonzero(found != self._sent(transfer))))

    def _sent(self, transfer: Transfer) -> NDArray[np.uint8]:
        generator = self._generator(_MESSAGES, transfer.index, 0)
        return generator.integers(0, 256, transfer.size_bytes, dtype=np.uint8)

    def _compared(self, wrong: int) -> None:
        self.wrong_elements += wrong
        self.checked += 1

    def _generator(self, stream: int, number: int, index: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self._seed, stream, number, index]))
