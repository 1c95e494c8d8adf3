"""Distributions of flow sizes: points of a cumulative distribution, and a straight line from one point to the next.

Between (x0, p0) and (x1, p1) sizes are spread evenly: P(size <= x) = p0 + (p1 - p0) (x - x0) / (x1 - x0). So the
inverse is a straight line too, and the mean is the sum over the pieces of (p1 - p0) (x0 + x1) / 2. Two points of one
size make a step: that size itself has the share between them.

References: the points and the straight lines are those of HPCC's traffic generator (Li et al., SIGCOMM 2019;
alibaba-edu/High-Precision-Congestion-Control, traffic_gen/WebSearch_distribution.txt, FbHdp_distribution.txt and
AliStorage2019.txt). ``websearch`` stems from DCTCP (Alizadeh et al., SIGCOMM 2010), ``hadoop`` from Facebook's clusters
(Roy et al., SIGCOMM 2015), ``alistorage`` from Alibaba's storage of 2019.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from testbed.scenario.model import SizeShare


@dataclass(frozen=True, slots=True)
class SizeDistribution:
    """A distribution of sizes. `points`: (bytes, cumulative share); neither falls, and the last share is 1."""

    points: tuple[tuple[int, float], ...]

    @property
    def mean_bytes(self) -> float:
        """The expected size."""
        return sum((p1 - p0) * (x0 + x1) / 2 for (x0, p0), (x1, p1) in pairwise(self.points))

    @property
    def largest_bytes(self) -> int:
        """No flow is larger."""
        return self.points[-1][0]

    def size_at(self, share: float) -> int:
        """Return the size that `share` (0 to 1) of all flows do not exceed: whole bytes, at least 1."""
        shares = [p for _, p in self.points]
        above = max(1, bisect_left(shares, share))
        (x0, p0), (x1, p1) = self.points[above - 1], self.points[above]
        if p1 == p0:
            return max(1, x1)
        return max(1, round(x0 + (x1 - x0) * (share - p0) / (p1 - p0)))


def _of_percents(*points: tuple[int, float]) -> SizeDistribution:
    return SizeDistribution(tuple((size, percent / 100) for size, percent in points))


DISTRIBUTIONS = {
    "websearch": _of_percents(
        (0, 0), (10_000, 15), (20_000, 20), (30_000, 30), (50_000, 40), (80_000, 53), (200_000, 60), (1_000_000, 70),
        (2_000_000, 80), (5_000_000, 90), (10_000_000, 97), (30_000_000, 100),
    ),
    "hadoop": _of_percents(
        (0, 0), (100, 1), (200, 2), (300, 5), (350, 15), (400, 20), (500, 30), (600, 40), (700, 50), (1_000, 60),
        (2_000, 67), (7_000, 70), (30_000, 72), (50_000, 82), (80_000, 87), (120_000, 90), (300_000, 95),
        (1_000_000, 97.5), (2_000_000, 99), (10_000_000, 100),
    ),
    "alistorage": _of_percents(
        (0, 0), (4_000, 22.93), (8_000, 69.21), (16_000, 80.61), (32_000, 90.47), (64_000, 93.53), (128_000, 96.77),
        (256_000, 97.53), (2_000_000, 100),
    ),
}  # fmt: skip
"""Distributions that are known by name."""


def distribution_of(sizes: str | Sequence[SizeShare] | None, size_bytes: int | None) -> SizeDistribution:
    """Return the distribution of a checked work: the one called `sizes`, that of points, or always `size_bytes`."""
    if isinstance(sizes, str):
        return DISTRIBUTIONS[sizes]
    if sizes is None:
        assert size_bytes is not None, "a checked work has sizes or a size"
        return SizeDistribution(((size_bytes, 0.0), (size_bytes, 1.0)))
    points = tuple((point.size, point.share) for point in sizes)
    return SizeDistribution(points if points[0][1] == 0 else ((0, 0.0), *points))
