"""Every kind of collective with every algorithm: data right, bytes counted, never faster than without contention."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from testbed.fabric.build import build_plan
from testbed.scenario.collectives import AnyCollective
from testbed.scenario.model import FabricOptions, Work
from testbed.scenario.placement import ranks_of
from testbed.scenario.shapes import shapes_of
from tests.traffic.collectives.kit import Bench, star
from traffic.collectives.algorithms import algorithms
from traffic.collectives.kinds import bus_factor

_WORK: TypeAdapter[Work] = TypeAdapter(Work)
NVLINK = {"rate": "900Gbps", "latency": "1us"}


def collective(kind: str, size: int = 2**16, **options: object) -> AnyCollective:
    work = _WORK.validate_python({"kind": kind, "size": f"{size}B", **options})
    assert isinstance(work, AnyCollective)
    return work


def refused(work: AnyCollective, fabric: dict[str, object]) -> bool:
    plan = build_plan(FabricOptions.model_validate(fabric))
    shape = shapes_of(work, ranks_of(work.ranks, plan, 1), 1)[0]
    return algorithms[f"{work.kind}/{work.algorithm}"].refusal(shape) is not None


def check(fabric: dict[str, object], work: AnyCollective, **transport: Any) -> Bench:
    """Run a collective on the fabric, and check all that must hold whatever it is."""
    bench = Bench(fabric, work, **transport)
    result = bench.collective()
    assert result.verified, result
    assert result.wrong_elements == 0
    assert result.time_ps is not None
    assert result.ideal_ps <= result.time_ps
    assert bench.total("sent_data_packets") == sum(job.data_packets for job in bench.jobs)
    assert all(message.arrived_ps is not None for message in result.messages)
    return bench


EVERY = sorted(name for name in algorithms.names() if name != "all-reduce/hierarchical")


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 6, 7, 8, 9, 12, 16])
@pytest.mark.parametrize("name", EVERY)
def test_data_is_right(name: str, ranks: int) -> None:
    kind, _, algorithm = name.partition("/")
    for elements, iterations in ((1, 3), (ranks - 1, 3), (4 * ranks + 3, 2), (1000, 4)):
        chunk = "400B" if elements == 1000 else "8B"
        work = collective(kind, 4 * elements, algorithm=algorithm, iterations=iterations, chunk=chunk)
        check(star(ranks), work, mtu=256)


@given(
    name=st.sampled_from(EVERY),
    ranks=st.integers(2, 9),
    elements=st.integers(1, 3000),
    options=st.fixed_dictionaries(
        {
            "iterations": st.integers(1, 5),
            "chunk": st.sampled_from(["400B", "4KiB", "1MiB"]),
            "spread": st.sampled_from(["round-robin", "split"]),
            "qps_per_connection": st.sampled_from([1, 2, 5]),
            "compute": st.sampled_from(["0ps", "7us"]),
            "admission": st.sampled_from([None, {"outstanding": 1, "chunk": "1KiB"}, {"outstanding": 3}]),
        }
    ),
    lost=st.sets(st.integers(0, 60), max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_data_is_right_whatever_the_options(
    name: str, ranks: int, elements: int, options: dict[str, Any], lost: set[int]
) -> None:
    kind, _, algorithm = name.partition("/")
    work = collective(kind, 4 * elements, algorithm=algorithm, **options)
    bench = Bench(star(ranks), work, mtu=1024, timeout=4, ack_every=2)
    bench.lose("h1-eth0", lost.__contains__)
    result = bench.collective()
    assert result.verified
    assert result.time_ps is not None
    assert result.ideal_ps <= result.time_ps
    sent = bench.total("sent_data_packets") - bench.total("retransmitted_packets")
    assert sent == sum(job.data_packets for job in bench.jobs)


@pytest.mark.parametrize("name", sorted(algorithms.names()))
@pytest.mark.parametrize(
    ("hosts", "local", "nvlink"), [(2, 2, None), (3, 2, None), (2, 2, NVLINK), (2, 4, NVLINK), (3, 3, NVLINK)]
)
def test_several_ranks_on_a_host(name: str, hosts: int, local: int, nvlink: object) -> None:
    kind, _, algorithm = name.partition("/")
    fabric = star(hosts, nics_per_host=2, **({"nvlink": nvlink} if nvlink else {}))
    work = collective(kind, 40_000, algorithm=algorithm, iterations=3, chunk="4KiB", ranks={"per_host": local})
    if not refused(work, fabric):
        check(fabric, work)


# --- results in nccl-tests' terms ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        ("all-reduce", 2 * 3 / 4),
        ("reduce-scatter", 3 / 4),
        ("all-gather", 3 / 4),
        ("all-to-all", 3 / 4),
        ("broadcast", 1),
        ("send-recv", 1),
    ],
)
def test_bandwidths_are_those_of_nccl_tests(kind: str, factor: float) -> None:
    result = Bench(star(4), collective(kind, 2**18, iterations=2)).collective()
    assert result.time_ps is not None
    assert result.algbw_gbps is not None
    assert result.algbw_gbps == pytest.approx(2**18 * 8 / (result.time_ps / 1000))
    assert result.busbw_gbps == pytest.approx(result.algbw_gbps * factor)
    assert result.operation == ("sum" if kind in ("all-reduce", "reduce-scatter") else "none")


def test_the_bus_bandwidth_of_uneven_blocks_is_that_of_the_busiest_rank() -> None:
    matrix = [["0B", "4KiB", "8KiB"], ["0B", "0B", "8KiB"], ["4KiB", "0B", "1KiB"]]
    work = _WORK.validate_python({"kind": "all-to-all-v", "matrix": matrix})
    bench = Bench(star(3), work)
    result = bench.collective()
    assert result.verified
    assert result.size_bytes == 17 * 1024  # what h2 ends with, its own block too
    assert isinstance(work, AnyCollective)
    (shape,) = shapes_of(work, ranks_of("all", bench.plan, 1), 1)
    assert bus_factor(shape) * 17 == 16


def test_a_skewed_all_to_all_sends_most_to_one_rank() -> None:
    bench = Bench(star(8), collective("all-to-all-v", 2**20, skew=2.0))
    result = bench.collective()
    received = dict.fromkeys(result.ranks, 0)
    for message in result.messages:
        received[message.destination] += message.size_bytes
    assert max(received.values()) > 4 * sorted(received.values())[-3]
    assert result.verified


# --- what is recorded -------------------------------------------------------------------------------------------------


def test_messages_are_recorded() -> None:
    result = Bench(star(3), collective("all-to-all", 3 * 4096, iterations=2)).collective()
    assert len(result.messages) == 2 * 3 * 2
    assert {(m.source, m.destination) for m in result.messages} == {
        (a, b) for a in result.ranks for b in result.ranks if a != b
    }
    for message in result.messages:
        assert message.size_bytes == 4096
        assert message.granted_ps is None
        assert message.nic == f"{message.source}-eth0"
        assert message.end_sequence - message.first_sequence == 1
        assert message.arrived_ps is not None
        assert message.posted_ps < message.arrived_ps


def test_ranks_tell_when_they_are_ready_for_the_next_round_but_one() -> None:
    """Only where a rank can finish before others begin, and only from the third round on."""
    ready = {}
    for kind in ("broadcast", "all-gather"):
        result = Bench(star(4), collective(kind, 4096, iterations=5)).collective()
        ready[kind] = [message for message in result.messages if message.control]
    assert ready["all-gather"] == []
    assert len(ready["broadcast"]) == 3 * 3  # the three ranks that receive, for rounds 0 to 2
    assert {(message.source, message.destination) for message in ready["broadcast"]} == {
        ("h1", "h0"), ("h2", "h1"), ("h3", "h2"),
    }  # fmt: skip
    assert all(message.size_bytes == 0 for message in ready["broadcast"])


def test_equal_runs_are_equal() -> None:
    work = collective("all-to-all-v", 2**16, skew=1.0, ranks={"placement": "random"}, iterations=2)
    first, again = (Bench(star(6), work).collective() for _ in range(2))
    assert first == again


def test_a_job_starts_when_it_is_told_to() -> None:
    early, late = (Bench(star(4), collective("all-reduce", start=start)).collective() for start in ("0ps", "50us"))
    assert late.start_ps == 50_000_000
    assert (late.time_ps, late.ideal_ps) == (early.time_ps, early.ideal_ps)
    assert late.stall_ps_by_rank == early.stall_ps_by_rank


def test_a_job_has_its_own_name_in_a_failure() -> None:
    bench = Bench(star(4), collective("broadcast", name="weights", root="h2"), timeout=4, retry_count=0)
    bench.lose("h3-eth0", lambda _number: True)
    failure = bench.collective().failure
    assert failure is not None
    assert failure.startswith("weights died at ")
    assert failure.endswith("rank 3 (h3), QP 18 sending step 1, piece 0 to rank 0 (h0): RETRY_EXC_ERR")
