"""What distinguishes the kinds of collectives, whatever the algorithm: operation, bandwidth, and who waits for whom.

The bus bandwidth compares with a link's rate. Its factor is the share of the size that has to cross each rank's link,
as nccl-tests has it:

    all-reduce 2 (n - 1) / n;  reduce-scatter, all-gather, all-to-all (n - 1) / n;  broadcast, send-recv 1

For an all-to-all-v, which nccl-tests has not, it is the most that any rank sends to or receives from others, over the
size: (n - 1) / n if all is even.

A kind *synchronises* when no rank can finish a round before every rank has started it, because its result depends on
what each of them brings. `traffic.collectives.memory` says what that is good for.

References: nccl-tests doc/PERFORMANCE.md.
"""

from collections.abc import Sequence
from fractions import Fraction

from traffic.collectives.algorithm import Shape


def operation(kind: str) -> str:
    """Return the reduction as nccl-tests prints it: ``sum``, or ``none``."""
    return "sum" if kind in ("all-reduce", "reduce-scatter") else "none"


def bus_factor(shape: Shape) -> Fraction:
    """Return bus bandwidth over algorithm bandwidth."""
    n = shape.ranks
    if shape.collective == "all-reduce":
        return Fraction(2 * (n - 1), n)
    if shape.collective in ("reduce-scatter", "all-gather", "all-to-all"):
        return Fraction(n - 1, n)
    if shape.collective == "all-to-all-v":
        return Fraction(_busiest(shape.counts), shape.elements)
    return Fraction(1)


def _busiest(counts: Sequence[Sequence[int]]) -> int:
    """The most elements that any rank sends to others, or receives from them."""
    received: list[int] = [sum(column) for column in zip(*counts, strict=True)]
    exchanged = [max(sum(row), received[rank]) - row[rank] for rank, row in enumerate(counts)]
    return max(exchanged)


def synchronises(shape: Shape) -> bool:
    """Return whether no rank can finish a round before every rank has started it."""
    n = shape.ranks
    if shape.collective == "all-reduce":
        return shape.elements > 0
    if shape.collective in ("reduce-scatter", "all-gather"):
        return shape.elements >= n  # no part is empty
    if shape.collective in ("all-to-all", "all-to-all-v"):
        return all(shape.counts[i][j] > 0 for i in range(n) for j in range(n) if i != j)
    return False
