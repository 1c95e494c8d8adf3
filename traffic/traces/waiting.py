"""Who really waits for whom in a collective, whatever algorithm plays it: a result needs what others bring to it.

The root of a broadcast or scatter waits for nobody, and the others for it alone; the root of a gather or reduce waits
for the others, and these for nobody. Whoever gets nothing (there are fewer elements than ranks, or an uneven split
says so) does not wait at all. Algorithms may make ranks wait for more, never for less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from testbed.scenario.limits import ELEMENT_BYTES
from traffic.traces.matching import Together
from traffic.traces.model import Collective, Trace

Waits = tuple[Sequence[int], Sequence[int]]
"""Sources and destinations, by their index among a collective's members: of these none ends before all of those have
come."""


def waits(trace: Trace, together: Together, bytes_factor: Fraction = Fraction(1)) -> Iterator[Waits]:
    """Yield what the members of a collective wait for, when its sizes are scaled by `bytes_factor`."""
    work, n = together.work, len(together.members)
    parts = parts_of(trace, together)
    if n < 2 or (work.kind != "barrier" and not any(part.size_bytes for part in parts)):
        return
    if any(part.split_bytes is not None for part in parts):
        yield from _of_an_uneven(parts, bytes_factor)
    elif work.kind == "barrier":
        yield range(n), range(n)
    else:
        yield _of_an_even(together, elements_of(work.size_bytes, bytes_factor))


def _of_an_even(together: Together, elements: int) -> Waits:
    work, everyone = together.work, range(len(together.members))
    sharers = range(min(elements, len(everyone)))  # with fewer elements than ranks, the first have one each
    root = (0 if work.root is None else together.members.index(work.root),)
    by_kind: dict[str, Waits] = {
        "all-reduce": (everyone, everyone),
        "reduce-scatter": (everyone, sharers),
        "all-gather": (sharers, everyone),
        "all-to-all": (everyone, sharers),
        "broadcast": (root, everyone),
        "scatter": (root, sharers),
        "reduce": (everyone, root),
        "gather": (sharers, root),
    }
    return by_kind[work.kind]


def _of_an_uneven(parts: Sequence[Collective], bytes_factor: Fraction) -> Iterator[Waits]:
    """Yield, for each source of an all-to-all, who gets something from it."""
    for source, part in enumerate(parts):
        if part.split_bytes is not None:
            yield (source,), [index for index, size in enumerate(part.split_bytes) if size]
        elif part.size_bytes:
            yield (source,), range(min(elements_of(part.size_bytes, bytes_factor), len(parts)))


def elements_of(size_bytes: int, bytes_factor: Fraction) -> int:
    """Return the float32 elements of a scaled size, rounded up: one at least."""
    return max(1, -(-int(size_bytes * bytes_factor) // ELEMENT_BYTES))


def parts_of(trace: Trace, together: Together) -> list[Collective]:
    """Return each member's part in a collective."""
    works = (trace.ranks[r].nodes[p].work for r, p in zip(together.members, together.positions, strict=True))
    return [work for work in works if isinstance(work, Collective)]
