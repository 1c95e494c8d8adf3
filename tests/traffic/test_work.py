import pytest

from testbed.errors import ScenarioError
from testbed.scenario.model import Flows
from tests.traffic.collectives.kit import Bench, ring, star
from traffic.results import CollectiveResult


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (ring(4097), r"^workload\.0\.size: expected whole float32 numbers, a multiple of 4 B, found 4097B; try 4096B$"),
        (ring(64, ranks=("h0",)), r"^workload\.0\.ranks: expected at least 2 ranks, found 1$"),
        (ring(64, ranks=("h0", "h1", "h0")), r"^workload\.0\.ranks: expected each host once, found h0 twice$"),
        (ring(64, ranks=("h0", "h9")), r"^workload\.0: expected a host of the fabric \(h0 to h2\), found h9$"),
        (ring(2**34, chunk="4GiB", verify=False), r"^workload\.0\.chunk: expected pieces of at most 2GiB, the longest"),
        (ring(2**25, chunk="4B", verify=False), r"^workload\.0\.chunk: expected at most 1048576 pieces a part"),
        (
            Flows.model_validate({"kind": "flows", "pattern": "ring"}),
            r"^workload\.0\.size: expected the size of each flow, for example 1MiB, found none$",
        ),
        (
            Flows.model_validate({"kind": "flows", "flows": [{"source": "h1", "destination": "h1", "size": "1KiB"}]}),
            r"^workload\.0\.flows\.0: expected two hosts, found h1 twice$",
        ),
    ],
)
def test_work_that_cannot_be_done(work: object, text: str) -> None:
    with pytest.raises(ScenarioError, match=text):
        Bench(star(3), work)  # type: ignore[arg-type]  # one of the works above


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
    pattern = Flows.model_validate({"kind": "flows", "pattern": "ring", "size": "100kB"})
    bench = Bench(star(4, ip=ip), ring(2**16), pattern, ring(2**15, ranks=("h3", "h1")))
    bench.run()
    found = [job.result() for job in bench.jobs]
    assert [result.is_collective for result in found] == [True, False, False, False, False, True]
    assert all(result.verified for result in found)
    assert isinstance(found[0], CollectiveResult)
    assert found[0].time_ps is not None
    assert found[0].time_ps > found[0].ideal_ps  # the jobs share the wires
    assert max(found[0].stall_ps_by_rank.values()) > 0
