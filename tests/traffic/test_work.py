import pytest

from testbed.fabric.build import build_plan
from testbed.scenario.collectives import AllReduce
from testbed.scenario.model import FabricOptions, Flows, Work
from tests.traffic.collectives.kit import Bench, ring, star
from traffic.results import CollectiveResult
from traffic.work import memory_needed

KIB = 1024


def pattern(size: str, **options: object) -> Flows:
    return Flows.model_validate({"kind": "flows", "pattern": "ring", "size": size, **options})


@pytest.mark.parametrize(
    ("work", "needed"),
    [
        # Three ranks' result and scratch, the true sum (as large as a result), and a rank's numbers as int16.
        (ring(12 * KIB), 3 * 2 * 12 * KIB + 12 * KIB + 6 * KIB),
        (ring(12 * KIB, ranks=("h2", "h0")), 2 * 2 * 12 * KIB + 12 * KIB + 6 * KIB),
        # Several iterations: two results a rank and two sums.
        (ring(12 * KIB, iterations=9), 3 * 3 * 12 * KIB + 2 * 12 * KIB + 6 * KIB),
        (ring(12 * KIB, verify=False), 0),
        # Each flow's bytes at both ends, and a truth value for each byte of one.
        (pattern("5KiB"), 3 * 2 * 5 * KIB + 5 * KIB),
        (pattern("5KiB", verify=False), 0),
        (pattern("3GiB"), 3 * 2 * 3 * KIB**3 + KIB**3),  # compared 1 GiB at a time
    ],
)
def test_memory_needed(work: AllReduce | Flows, needed: int) -> None:
    plan = build_plan(FabricOptions.model_validate(star(3)))
    assert memory_needed([work], plan) == needed
    assert memory_needed([work, ring(4 * KIB), work], plan) == 2 * needed + (3 * 2 + 1) * 4 * KIB + 2 * KIB


def test_memory_needed_is_what_the_ranks_register_and_what_checks_them() -> None:
    work: list[Work] = [ring(12 * KIB, iterations=2), pattern("5KiB"), pattern("7KiB", verify=False)]
    bench = Bench(star(3), *work)
    bench.run()
    regions = [region for nic in bench.nics.values() for region in nic.regions.values()]
    registered = sum(region.memory.nbytes for region in regions if region.memory is not None)
    checking = (2 * 12 + 6) * KIB + 5 * KIB
    assert memory_needed(work, bench.plan) == registered + checking


def test_ranks_are_in_the_order_that_is_asked_for() -> None:
    result = Bench(star(3), ring(64, ranks=("h2", "h0"))).collective()
    assert result.ranks == ("h2", "h0")
    assert {wait.what for wait in result.waits if wait.rank == "h0"} == {"data from h2"}


def test_two_runs_are_equal_and_another_seed_has_other_data_but_the_same_times() -> None:
    fabric = {"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}}
    first, again, other = (Bench(fabric, ring(2**16), seed=seed) for seed in (1, 1, 2))
    assert first.collective() == again.collective()
    assert other.collective().verified
    ports = [
        [qp.peer.source_port for nic in bench.nics.values() for qp in nic.queue_pairs.values() if qp.peer]
        for bench in (first, again, other)
    ]
    assert ports[0] == ports[1] != ports[2]


@pytest.mark.parametrize("ip", ["ipv4", "ipv6"])
def test_jobs_run_side_by_side(ip: str) -> None:
    bench = Bench(star(4, ip=ip), ring(2**16), pattern("100kB"), ring(2**15, ranks=("h3", "h1")))
    bench.run()
    found = [job.result() for job in bench.jobs]
    assert [result.is_collective for result in found] == [True, False, False, False, False, True]
    assert all(result.verified for result in found)
    assert isinstance(found[0], CollectiveResult)
    assert found[0].time_ps is not None
    assert found[0].time_ps > found[0].ideal_ps  # the jobs share the wires
    assert max(found[0].stall_ps_by_rank.values()) > 0
