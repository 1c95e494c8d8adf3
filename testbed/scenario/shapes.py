"""From a collective of a scenario to its shape: elements, pieces, who sends how much to whom.

A collective in buckets is one of the same kind for each bucket: sizes differ by at most one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

from testbed.scenario.collectives import AllToAll, AllToAllV, Broadcast, Bucketed, Collective, SendRecv, Sized
from testbed.scenario.limits import ELEMENT_BYTES
from testbed.scenario.placement import Rank
from traffic.collectives.algorithm import Shape

Counts = tuple[tuple[int, ...], ...]


def shapes_of(work: Collective, ranks: Sequence[Rank], seed: int) -> tuple[Shape, ...]:
    """Return the shape of each bucket of a checked `work` (one, unless it has buckets); `seed` is the scenario's."""
    counts = _counts(work, len(ranks), seed)
    elements = _elements(work, counts)
    buckets = work.buckets if isinstance(work, Bucketed) else 1
    size, larger = divmod(elements, buckets)
    return tuple(_shape(work, ranks, size + (bucket < larger), counts) for bucket in range(buckets))


def _shape(work: Collective, ranks: Sequence[Rank], elements: int, counts: Counts) -> Shape:
    numbers = {host: number for number, host in enumerate(dict.fromkeys(rank.host for rank in ranks))}
    names = [rank.name for rank in ranks]
    microbatches = work.microbatches if isinstance(work, SendRecv) else 1
    root = work.root if isinstance(work, Broadcast) else None
    return Shape(
        collective=work.kind,
        ranks=len(ranks),
        elements=elements,
        piece_elements=_piece_elements(work, elements),
        hosts=tuple(numbers[rank.host] for rank in ranks),
        root=names.index(root) if root in names else 0,
        microbatches=microbatches,
        microbatch_ps=work.compute // microbatches if isinstance(work, SendRecv) else 0,
        counts=counts,
    )


def _piece_elements(work: Collective, elements: int) -> int:
    """The longest message: that of the chunk, of the admission's, or everything at once."""
    chunks = [work.chunk, work.admission.chunk if work.admission else None]
    return max(1, min([elements, *(chunk // ELEMENT_BYTES for chunk in chunks if chunk is not None)]))


def _elements(work: Collective, counts: Counts) -> int:
    if isinstance(work, Sized):
        return work.size // ELEMENT_BYTES
    assert isinstance(work, AllToAllV)
    if work.size is not None:
        return work.size // ELEMENT_BYTES
    return max([*(sum(row) for row in counts), *(sum(column) for column in zip(*counts, strict=True))], default=0)


def _counts(work: Collective, ranks: int, seed: int) -> Counts:
    """Who sends how much to whom, in an all-to-all; nothing otherwise."""
    if isinstance(work, AllToAll):
        return (_shares(work.size // ELEMENT_BYTES, [1] * ranks),) * ranks
    if not isinstance(work, AllToAllV):
        return ()
    if work.size is None:
        return tuple(tuple(size // ELEMENT_BYTES for size in row) for row in work.matrix)
    order = list(range(ranks))
    Random(f"skew {seed}").shuffle(order)
    weights = [0.0] * ranks
    for place, rank in enumerate(order, start=1):
        weights[rank] = place ** -(work.skew or 0.0)
    return (_shares(work.size // ELEMENT_BYTES, weights),) * ranks


def _shares(elements: int, weights: Sequence[float]) -> tuple[int, ...]:
    """Divide `elements` in proportion to `weights`: whole numbers that add up, the remainder one each from the first
    on."""
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    shares = [int(elements * weight / total) for weight in exact]
    rest = elements - sum(shares)
    return tuple(share + (index < rest) for index, share in enumerate(shares))
