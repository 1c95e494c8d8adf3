import tracemalloc

import numpy as np
import pytest

from tests.traffic.collectives.kit import Bench, ring, star
from traffic.collectives.algorithm import Shape
from traffic.collectives.algorithms.ring_all_reduce import RingAllReduce
from traffic.collectives.collective_job import CollectiveJob
from traffic.collectives.memory import Layout
from traffic.collectives.numbers import Numbers


def layout_of(elements: int, rounds: int, ranks: int = 3) -> tuple[Layout, list[Shape]]:
    shape = Shape("all-reduce", ranks, elements, elements)
    return Layout([RingAllReduce(shape)], rounds), [shape]


def numbers_of(ranks: int, elements: int, rounds: int, seed: int) -> Numbers:
    layout, shapes = layout_of(elements, rounds, ranks)
    return Numbers(layout, shapes, rounds, seed)


def test_the_ring_has_one_result_for_one_iteration_two_for_more_and_one_scratch() -> None:
    one, more = layout_of(100, 1)[0], layout_of(100, 5)[0]
    assert (one.scratch(0), one.buffer_bytes) == (400, 800)
    assert (more.scratch(4), more.buffer_bytes) == (800, 1200)
    assert [more.data(number) for number in range(4)] == [0, 400, 0, 400]


@pytest.mark.parametrize("iterations", [1, 3])
def test_needed_bytes_is_what_is_allocated_at_most(iterations: int) -> None:
    """Ranks as far apart as they can be: all but the last are an iteration ahead of it."""
    ranks, elements = 3, 200_000
    tracemalloc.start()
    try:
        buffers = numbers_of(ranks, elements, iterations, seed=1)
        for iteration in range(iterations):
            for rank in range(ranks):
                if iteration:
                    buffers.check(rank, iteration - 1)
                buffers.fill(rank, iteration)
        for rank in range(ranks):
            buffers.check(rank, iterations - 1)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    needed_bytes = Numbers.needed_bytes(*layout_of(elements, iterations, ranks), iterations)
    assert needed_bytes <= peak_bytes < needed_bytes + 200_000  # Python's own objects are little beside the arrays


def test_a_wrong_element_is_found() -> None:
    buffers = numbers_of(3, 50, 1, seed=1)
    total = sum(buffers.numbers(rank, 0) for rank in range(3))
    for rank in range(3):
        buffers.result(rank, 0)[:] = total
    buffers.result(1, 0)[[7, 8]] += 1
    for rank in range(3):
        buffers.check(rank, 0)
    assert (buffers.wrong_elements, buffers.checked) == (2, 3)


def test_numbers_are_seeded_small_integers() -> None:
    buffers = numbers_of(2, 5000, 2, seed=1)
    numbers = buffers.numbers(0, 0)
    assert np.array_equal(numbers, numbers_of(2, 5000, 2, seed=1).numbers(0, 0))
    assert not np.array_equal(numbers, buffers.numbers(1, 0))
    assert not np.array_equal(numbers, buffers.numbers(0, 1))
    assert not np.array_equal(numbers, numbers_of(2, 5000, 2, seed=2).numbers(0, 0))
    assert np.array_equal(numbers, np.round(numbers))
    assert 512 * int(np.abs(numbers).max()) < 2**24  # so that sums are exact, in any order


def test_a_collective_with_wrong_numbers_is_not_verified() -> None:
    bench = Bench(star(3), ring(3000))
    (job,) = bench.jobs
    assert isinstance(job, CollectiveJob)
    assert job._real is not None
    bench.loop.run(until_ps=1000)
    job._real.result(1, 0)[5] += 1  # as if a bit had flipped in h1's memory, behind every check of the wire
    result = bench.collective()
    assert result.verified is False
    assert result.wrong_elements > 0


def test_without_verification_there_is_no_memory() -> None:
    bench = Bench(star(3), ring(3 * 2**20, chunk="128KiB", verify=False))
    bench.run()
    regions = [region for nic in bench.nics.values() for region in nic.regions.values()]
    assert all(region.memory is None for region in regions)
    assert {region.length for region in regions} == {2 * 3 * 2**20}


def test_the_result_of_an_unverified_run_says_so() -> None:
    result = Bench(star(2), ring(8192, verify=False)).collective()
    assert result.verified is None
    assert result.time_ps == Bench(star(2), ring(8192)).collective().time_ps
