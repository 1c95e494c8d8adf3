"""Distributions of flow sizes: straight lines between the points of a cumulative distribution."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.scenario.flow_sizes import DISTRIBUTIONS, SizeDistribution, distribution_of
from testbed.scenario.model import Flows

SHARES = st.floats(0, 1)


def shares_up_to(distribution: SizeDistribution, size: float) -> float:
    """The cumulative distribution, restated: the share of flows that are no larger than `size`."""
    for (x0, p0), (x1, p1) in pairwise(distribution.points):
        if x0 <= size < x1:
            return p0 + (p1 - p0) * (size - x0) / (x1 - x0)
    return 0.0 if size < distribution.points[0][0] else 1.0


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_points_rise_from_nothing_to_all(name: str) -> None:
    points = DISTRIBUTIONS[name].points
    assert points[0] == (0, 0)
    assert points[-1][1] == 1
    assert all(x0 < x1 and p0 < p1 for (x0, p0), (x1, p1) in pairwise(points))


@pytest.mark.parametrize(("name", "mean"), [("websearch", 1_711_250), ("hadoop", 120_420.75), ("alistorage", 40_869.8)])
def test_means(name: str, mean: float) -> None:
    assert DISTRIBUTIONS[name].mean_bytes == pytest.approx(mean)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@given(share=SHARES)
def test_the_inverse_of_the_distribution(name: str, share: float) -> None:
    size = DISTRIBUTIONS[name].size_at(share)
    assert 1 <= size <= DISTRIBUTIONS[name].largest_bytes
    below, above = (shares_up_to(DISTRIBUTIONS[name], size + step) for step in (-1, 1))
    assert below - 1e-9 <= share <= above + 1e-9


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_mean_is_that_of_all_shares(name: str) -> None:
    """The expected size is the integral of the inverse."""
    distribution, steps = DISTRIBUTIONS[name], 20_000
    mean = sum(distribution.size_at((step + 0.5) / steps) for step in range(steps)) / steps
    assert mean == pytest.approx(distribution.mean_bytes, rel=1e-3)


def made(**options: object) -> SizeDistribution:
    work = Flows.model_validate({"kind": "flows", "pattern": "random", **options})
    return distribution_of(work.sizes, work.size)


@given(share=SHARES)
def test_one_size(share: float) -> None:
    assert made(size="4KiB").size_at(share) == 4096
    assert made(size="4KiB").mean_bytes == 4096


def test_points_begin_at_nothing_unless_they_say_otherwise() -> None:
    assert made(sizes=[{"size": "1kB", "share": 1}]).mean_bytes == 500
    assert made(sizes=[{"size": "1kB", "share": 0}, {"size": "2kB", "share": 1}]).mean_bytes == 1500


def test_two_points_of_one_size_are_a_step() -> None:
    """Half of the flows have 1 kB, half 9 kB, and none anything between."""
    points = [("1kB", 0), ("1kB", 0.5), ("9kB", 0.5), ("9kB", 1)]
    distribution = made(sizes=[{"size": size, "share": share} for size, share in points])
    assert [distribution.size_at(share) for share in (0, 0.2, 0.5, 0.7, 1)] == [1000, 1000, 1000, 9000, 9000]
    assert distribution.mean_bytes == 5000
