"""Compute phases, buckets that overlap with them, and stragglers."""

import pytest

from tests.traffic.collectives.kit import Bench, star
from tests.traffic.collectives.test_collectives import collective
from traffic.collectives.program import exposed
from traffic.results import COMPUTE, Wait


def times(**options: object) -> tuple[int, int]:
    """The time of an iteration without its compute phase, and the contention-free one, in us."""
    result = Bench(star(4), collective("all-reduce", 2**20, **options)).collective()
    assert result.verified
    assert result.time_ps is not None
    assert result.ideal_ps <= result.time_ps
    return result.time_ps, result.ideal_ps


def test_what_is_computed_meanwhile_hides_communication() -> None:
    """1 MiB takes some 132 us: in 8 buckets beside 400 us of compute, all but the last bucket is hidden."""
    alone, _ = times()
    in_turn, _ = times(compute="400us", iterations=2)
    overlapped, ideal = times(compute="400us", iterations=2, buckets=8)
    assert in_turn == pytest.approx(alone, rel=0.01)
    # What is exposed is one bucket: an eighth of the data, and the latency of its six steps.
    assert alone / 8 < overlapped < alone / 8 + 6 * 3_000_000
    assert overlapped == pytest.approx(ideal, rel=0.01)


def test_where_communication_is_longer_it_is_exposed_but_for_what_the_compute_phase_hides() -> None:
    alone, _ = times(buckets=4)
    overlapped, _ = times(compute="80us", buckets=4)
    # Bucket 1 starts after 20 us; 60 us of the rest are computed meanwhile.
    assert overlapped == pytest.approx(alone - 60_000_000, rel=0.01)


def test_buckets_have_no_bandwidth() -> None:
    result = Bench(star(4), collective("all-reduce", 2**20, compute="1ms", buckets=4)).collective()
    assert (result.algbw_gbps, result.busbw_gbps) == (None, None)
    assert (result.buckets, result.compute_ps) == (4, 1_000_000_000)


def test_a_rank_that_computes_does_not_wait() -> None:
    result = Bench(star(4), collective("all-reduce", 2**20, compute="400us", buckets=8)).collective()
    computing = [wait for wait in result.waits if wait.what == COMPUTE]
    data = [wait for wait in result.waits if wait.what != COMPUTE]
    for rank in result.ranks:
        assert sum(wait.end_ps - wait.start_ps for wait in computing if wait.rank == rank) == 400_000_000
    assert all(wait.start_ps >= 400_000_000 for wait in data)


def wait(what: str, start: int, end: int) -> Wait:
    return Wait("h0", what, 0, 0, start, end)


def test_exposed_waits() -> None:
    waits = [wait("data", 0, 10), wait("data", 10, 30), wait(COMPUTE, 30, 40), wait("data", 50, 60)]
    assert exposed(waits, [(5, 12), (28, 45), (55, 57)]) == [
        wait("data", 0, 5), wait(COMPUTE, 5, 10),
        wait(COMPUTE, 10, 12), wait("data", 12, 28), wait(COMPUTE, 28, 30),
        wait(COMPUTE, 30, 40),
        wait("data", 50, 55), wait(COMPUTE, 55, 57), wait("data", 57, 60),
    ]  # fmt: skip


@pytest.mark.parametrize("iteration", [None, 1])
def test_a_straggler_holds_up_everyone(iteration: int | None) -> None:
    straggler = {"rank": "h2", "compute": "100us", "iteration": iteration}
    plain, ideal = times(compute="20us", iterations=2)
    options = {"compute": "20us", "iterations": 2, "straggler": straggler}
    result = Bench(star(4), collective("all-reduce", 2**20, **options)).collective()
    assert result.time_ps is not None
    late_ps = 100_000_000 * (2 if iteration is None else 1)
    assert result.time_ps == pytest.approx(plain + late_ps // 2, rel=0.01)
    assert result.ideal_ps == ideal  # there, nobody straggles
    stalls = dict(result.stall_ps_by_rank)
    assert stalls.pop("h2") < 0.1 * late_ps
    assert all(stall == pytest.approx(late_ps, rel=0.1) for stall in stalls.values())


def test_a_pipeline_computes_on_each_microbatch() -> None:
    """M microbatches through n stages of c each: (M + n - 1) c, and what a microbatch takes from stage to stage."""
    stages, microbatches = 4, 8
    work = collective("send-recv", 8 * 4096, compute="800us", microbatches=microbatches)
    result = Bench(star(stages), work).collective()
    assert result.time_ps is not None
    bubble_ps = (stages - 1) * 100_000_000
    assert bubble_ps < result.time_ps < bubble_ps + (stages - 1) * 3_000_000
