import pytest

from testbed.scenario.model import Flows
from tests.traffic.collectives.kit import Bench, star
from traffic.collectives.flows import FlowJob, messages_of
from traffic.results import FlowResult


def flows(*pairs: tuple[str, str], size: str = "256KiB", **options: object) -> Flows:
    listed = [{"source": source, "destination": destination, "size": size} for source, destination in pairs]
    return Flows.model_validate({"kind": "flows", "flows": listed, **options})


def results(bench: Bench) -> list[FlowResult]:
    bench.run()
    found = [job.result() for job in bench.jobs]
    assert all(isinstance(result, FlowResult) for result in found)
    return [result for result in found if isinstance(result, FlowResult)]


def test_one_flow_alone_takes_the_ideal_time() -> None:
    (result,) = results(Bench(star(2), flows(("h0", "h1"))))
    assert (result.source, result.destination, result.size_bytes) == ("h0", "h1", 2**18)
    assert result.verified
    assert result.time_ps == result.ideal_ps
    # 64 packets of 4154 B and 24 on the wire, RETH, ImmDt; the largest, the first, once more for the second link.
    assert result.ideal_ps == (64 * 4178 + 16 + 4 + 4178 + 16) * 80 + 2 * 500_000 + 800_000
    assert result.goodput_gbps == pytest.approx(2**18 * 8e3 / result.ideal_ps)


def test_pattern_ring() -> None:
    work = Flows.model_validate({"kind": "flows", "pattern": "ring", "size": "100kB"})
    found = results(Bench(star(4), work))
    assert [(flow.source, flow.destination) for flow in found] == [
        ("h0", "h1"),
        ("h1", "h2"),
        ("h2", "h3"),
        ("h3", "h0"),
    ]
    assert all(flow.verified for flow in found)
    # ACKs share the wire: 86 B for each 16 packets.
    assert all(flow.time_ps is not None and flow.time_ps < 1.005 * flow.ideal_ps for flow in found)


def test_pattern_all_to_all() -> None:
    """Every pair once; at each step around, every host is somebody's destination."""
    work = Flows.model_validate({"kind": "flows", "pattern": "all-to-all", "size": "512KiB"})
    found = results(Bench(star(4), work))
    assert [(flow.source, flow.destination) for flow in found] == [
        (f"h{host}", f"h{(host + step) % 4}") for step in (1, 2, 3) for host in range(4)
    ]
    assert all(flow.verified for flow in found)
    # Three flows leave each host and three arrive, so nothing is congested and each takes three times its ideal.
    assert max(flow.time_ps or 0 for flow in found) == pytest.approx(3 * found[0].ideal_ps, rel=0.05)


def test_incast_shares_the_last_link() -> None:
    found = results(Bench(star(4), flows(("h0", "h3"), ("h1", "h3"), ("h2", "h3"), size="1MiB")))
    assert all(flow.verified for flow in found)
    assert max(flow.time_ps or 0 for flow in found) == pytest.approx(3 * found[0].ideal_ps, rel=0.02)


def test_start() -> None:
    listed = [{"source": "h0", "destination": "h1", "size": "4KiB", "start": "70us"}]
    bench = Bench(star(2), Flows.model_validate({"kind": "flows", "flows": listed}))
    (result,) = results(bench)
    assert result.start_ps == 70_000_000
    assert result.end_ps == 70_000_000 + result.ideal_ps


def test_a_wrong_byte_is_found() -> None:
    """What the sender meant to send changes once its first packets are on their way."""
    bench = Bench(star(2), flows(("h0", "h1")))
    (job,) = bench.jobs
    assert isinstance(job, FlowJob)
    bench.loop.run(until_ps=1_000_000)
    assert job._sent is not None
    job._sent[[0, 1234]] ^= 1
    bench.run()
    result = job.result()
    assert isinstance(result, FlowResult)
    assert (result.verified, result.wrong_bytes) == (False, 2)


def test_no_memory_without_verification() -> None:
    bench = Bench(star(2), flows(("h0", "h1"), size="64KiB", verify=False))
    (result,) = results(bench)
    assert result.verified is None
    assert result.time_ps == result.ideal_ps


def test_a_flow_whose_link_is_dead_fails() -> None:
    bench = Bench(star(2), flows(("h0", "h1")), timeout=4, retry_count=1)
    bench.lose("h0-eth0", lambda _number: True)
    (result,) = results(bench)
    assert result.failure is not None
    assert result.failure.startswith("flow h0 to h1 died at ")
    assert result.failure.endswith("rank 0 (h0), QP 17 sending step 0, piece 0 to rank 1 (h1): RETRY_EXC_ERR")
    assert (result.time_ps, result.goodput_gbps) == (None, None)
    assert (result.verified, result.wrong_bytes) == (None, 0)  # nothing was delivered, so nothing compared


def test_a_failed_flow_counts_wrong_bytes_of_what_was_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three messages the first arrives, with one wrong byte in one of the runs; then the link is dead."""
    monkeypatch.setattr("traffic.collectives.flows.FLOW_MESSAGE_BYTES", 2**16)
    found = []
    for wrong in (0, 1):
        bench = Bench(star(2), flows(("h0", "h1"), size="160KiB"), timeout=4, retry_count=1)
        bench.lose("h0-eth0", lambda number: number >= 20)
        (job,) = bench.jobs
        assert isinstance(job, FlowJob)
        bench.loop.run(until_ps=1_000_000)  # the first packets are on the wire
        assert job._sent is not None
        job._sent[0] ^= wrong
        found += results(bench)
    assert all(result.failure is not None for result in found)
    assert [(result.verified, result.wrong_bytes) for result in found] == [(None, 0), (False, 1)]


def test_a_long_flow_is_several_messages() -> None:
    assert messages_of(5) == [5]
    assert messages_of(2**30) == [2**30]
    assert messages_of(2**31 + 7) == [2**30, 2**30, 7]
