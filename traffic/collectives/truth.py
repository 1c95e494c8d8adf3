"""What each kind of collective must come to, worked out from what its ranks bring in: one class for each kind.

A truth is that of one round. `brought` says which elements a rank brings (and where they lie), `bring` takes them, and
`result` says what a rank must have in the end (and where).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from traffic.collectives.algorithm import Shape

Integers = NDArray[np.int16] | NDArray[np.int32]

_INT16, _INT32 = (np.dtype(kind).itemsize for kind in (np.int16, np.int32))


class Truth(Protocol):
    """The true result of one round."""

    def __init__(self, shape: Shape) -> None: ...

    @staticmethod
    def needed_bytes(shape: Shape) -> int:
        """Return the memory that the truth of one round takes."""

    @staticmethod
    def brought(shape: Shape, rank: int) -> tuple[int, int]:
        """Return (first element, elements) of what a rank brings: in its data or, of an all-to-all, in its input."""

    def bring(self, rank: int, numbers: NDArray[np.int16]) -> None:
        """A rank brings in its numbers, once."""

    def result(self, rank: int) -> tuple[int, Integers]:
        """Return (first element in the data, elements) of what the rank must end with."""


class Sum:
    """All-reduce: every rank ends with the sum over all ranks."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._sum = np.zeros(shape.elements, dtype=np.int32)

    @staticmethod
    def needed_bytes(shape: Shape) -> int:
        return shape.elements * _INT32

    @staticmethod
    def brought(shape: Shape, rank: int) -> tuple[int, int]:  # noqa: ARG004 - all ranks bring all
        return 0, shape.elements

    def bring(self, rank: int, numbers: NDArray[np.int16]) -> None:  # noqa: ARG002 - the sum has no order
        self._sum += numbers

    def result(self, rank: int) -> tuple[int, Integers]:  # noqa: ARG002 - the same for all
        return 0, self._sum


class PartOfSum(Sum):
    """Reduce-scatter: rank r ends with part r of the sum."""

    def result(self, rank: int) -> tuple[int, Integers]:
        first, elements = self._shape.part(rank)
        return first, self._sum[first : first + elements]


class RunningSum:
    """Send-recv: rank r ends with the sum over ranks 0 to r."""

    def __init__(self, shape: Shape) -> None:
        self._brought: dict[int, NDArray[np.int16]] = {}
        self._sum = np.zeros(shape.elements, dtype=np.int32)
        self._next = 0

    @staticmethod
    def needed_bytes(shape: Shape) -> int:
        return shape.elements * (_INT32 + shape.ranks * _INT16)

    @staticmethod
    def brought(shape: Shape, rank: int) -> tuple[int, int]:  # noqa: ARG004 - all ranks bring all
        return 0, shape.elements

    def bring(self, rank: int, numbers: NDArray[np.int16]) -> None:
        self._brought[rank] = numbers

    def result(self, rank: int) -> tuple[int, Integers]:
        if rank < self._next:  # not in the order of the pipeline: begin again
            self._sum[:], self._next = 0, 0
        for before in range(self._next, rank + 1):
            self._sum += self._brought[before]
        self._next = rank + 1
        return 0, self._sum


class AllParts:
    """All-gather: rank r brings part r, and every rank ends with all parts."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._parts = np.zeros(shape.elements, dtype=np.int16)

    @staticmethod
    def needed_bytes(shape: Shape) -> int:
        return shape.elements * _INT16

    @staticmethod
    def brought(shape: Shape, rank: int) -> tuple[int, int]:
        return shape.part(rank)

    def bring(self, rank: int, numbers: NDArray[np.int16]) -> None:
        first, elements = self._shape.part(rank)
        self._parts[first : first + elements] = numbers

    def result(self, rank: int) -> tuple[int, Integers]:  # noqa: ARG002 - the same for all
        return 0, self._parts


class OfRoot:
    """Broadcast: every rank ends with what the root has."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._numbers = np.zeros(0, dtype=np.int16)

    @staticmethod
    def needed_bytes(shape: Shape) -> int:
        return shape.elements * _INT16

    @staticmethod
    def brought(shape: Shape, rank: int) -> tuple[int, int]:
        return 0, shape.elements if rank == shape.root else 0

    def bring(self, rank: int, numbers: NDArray[np.int16]) -> None:
        if rank == self._shape.root:
            self._numbers = numbers

    def result(self, rank: int) -> tuple[int, Integers]:  # noqa: ARG002 - the same for all
        return 0, self._numbers


class Blocks:
    """All-to-all: rank j ends with the blocks that all ranks have for it, in their order."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._received = [
            np.zeros(sum(row[rank] for row in shape.counts), dtype=np.int16) for rank in range(shape.ranks)
        ]

    @staticmethod
    def needed_bytes(shape: Shape) -> int:
        return sum(map(sum, shape.counts)) * _INT16

    @staticmethod
    def brought(shape: Shape, rank: int) -> tuple[int, int]:
        return 0, sum(shape.counts[rank])

    def bring(self, rank: int, numbers: NDArray[np.int16]) -> None:
        for peer, received in enumerate(self._received):
            sent, elements = self._shape.sent_block(rank, peer)
            to, _ = self._shape.received_block(rank, peer)
            received[to : to + elements] = numbers[sent : sent + elements]

    def result(self, rank: int) -> tuple[int, Integers]:
        return 0, self._received[rank]


truths: dict[str, type[Truth]] = {
    "all-reduce": Sum,
    "reduce-scatter": PartOfSum,
    "all-gather": AllParts,
    "broadcast": OfRoot,
    "all-to-all": Blocks,
    "all-to-all-v": Blocks,
    "send-recv": RunningSum,
}
"""The truth of each kind."""
