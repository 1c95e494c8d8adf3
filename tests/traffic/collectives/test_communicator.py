from typing import Any

import pytest

from testbed.scenario.collectives import Admission
from testbed.scenario.model import TransportOptions
from tests.traffic.collectives.kit import Bench, ring, star
from traffic.collectives import connection
from traffic.collectives.algorithm import Connection
from traffic.collectives.communicator import Communicator, Member, Wiring
from traffic.collectives.job import SourcePorts
from traffic.collectives.process import Process


def connected(bench: Bench, **wiring: Any) -> Communicator:
    """A communicator of h0 and h1 of a bench, h0 connected to send."""
    members = [Member(name, bench.nics[f"{name}-eth0"], None, name) for name in ("h0", "h1")]
    made = Communicator("two", members, 4096, bench.loop, Wiring(TransportOptions(), SourcePorts(1), **wiring))
    made.connect(0, 1)
    return made


@pytest.mark.parametrize("admission", [None, Admission.model_validate({"chunk": "4KiB", "outstanding": 9})])
def test_steps_far_apart_are_under_way_at_once(admission: Admission | None) -> None:
    """Only who has sent what tells messages apart, so steps may be any number, and any number of steps apart."""
    bench = Bench(star(2))
    communicator = connected(bench, admission=admission)
    steps = [0, 4096, 8192, 2**40]
    sender, receiver = communicator.endpoints
    arrived: list[tuple[int, int]] = []

    async def receive() -> None:
        communicator.expect((Connection(0, 1), step, 7) for step in steps)
        for step in reversed(steps):
            await receiver.receive(0, step, 7)
            arrived.append((step, receiver.received_bytes))

    for number, step in enumerate(steps):
        sender.send(1, step, 7, source_offset=0, target_offset=0, size_bytes=100 + number)
    Process(bench.loop, "h1", receive(), lambda: None).start()
    bench.run()
    whole = sum(100 + number for number in range(4))
    assert arrived == [(step, whole) for step in reversed(steps)]
    assert communicator.outstanding == 0


def test_numbers_of_messages_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue pair's messages are told apart by their numbers, which come round when those before are long done."""
    monkeypatch.setattr(connection, "_NUMBERS", 4)
    result = Bench(star(2), ring(2**14, iterations=8)).collective()
    assert result.failure is None
    assert result.verified


def test_messages_are_spread_over_the_queue_pairs_in_turn() -> None:
    bench = Bench(star(2), ring(2**18, chunk="16KiB"), qps_per_connection=4)
    bench.collective()
    completed = [qp.responder.msn for qp in bench.nics["h0-eth0"].queue_pairs.values()]
    # h0 has 4 QPs to send on (17 to 20) and 4 to receive on; h1 sent 2 (n - 1) steps of 8 pieces.
    assert completed == [0] * 4 + [4] * 4


def test_every_queue_pair_has_its_own_source_port() -> None:
    bench = Bench(star(4), ring(4096), ring(4096), qps_per_connection=4)
    bench.run()
    for nic in bench.nics.values():
        ports = {(qp.peer.ip, qp.peer.source_port) for qp in nic.queue_pairs.values() if qp.peer}
        assert len(ports) == len(nic.queue_pairs) == 16


@pytest.mark.parametrize("retry_count", [0, 2])
def test_a_dead_link_ends_the_collective_with_a_clear_error(retry_count: int) -> None:
    timeout = 5
    bench = Bench(star(4), ring(4 * 2**16), timeout=timeout, retry_count=retry_count)
    bench.lose("h1-eth0", lambda _number: True)
    result = bench.collective()
    assert result.failure is not None
    assert result.failure.startswith("ring all-reduce (workload.0) died at ")
    assert result.failure.endswith(
        " of model time: rank 1 (h1), QP 18 sending step 0, piece 0 to rank 2 (h2): RETRY_EXC_ERR"
    )
    assert (result.time_ps, result.algbw_gbps, result.busbw_gbps) == (None, None, None)
    assert result.verified is None  # there is no result to compare
    tries_ps = 4_096_000 * 2**timeout * (retry_count + 1)
    # The first timer starts with the first packet that asks for an ACK, the 16th.
    assert tries_ps < result.end_ps < tries_ps + 2 * (retry_count + 1) * 16 * 4200 * 80
    assert result.stall_ps_by_rank["h2"] > tries_ps - result.ideal_ps  # it waited for h1 until the end


def test_a_failure_leaves_other_jobs_alone() -> None:
    bench = Bench(star(4), ring(2**16, ranks=("h0", "h1")), ring(2**16, ranks=("h2", "h3")), timeout=4, retry_count=0)
    bench.lose("h0-eth0", lambda _number: True)
    bench.run()
    broken, whole = (job.result() for job in bench.jobs)
    assert broken.failure is not None
    assert whole.failure is None
    assert whole.verified


def test_what_is_waited_for_can_be_asked() -> None:
    bench = Bench(star(3), ring(3 * 2**16))
    bench.loop.run(until_ps=1_000_000)
    (job,) = bench.jobs
    assert job.waiting_for() == (
        "ring all-reduce (workload.0): h0: waits for data from h2, step 0, piece 0, since 0ps; "
        "h1: waits for data from h0, step 0, piece 0, since 0ps; h2: waits for data from h1, step 0, piece 0, since 0ps"
    )


def test_a_lost_last_acknowledgement_does_not_count_as_time() -> None:
    bench, plain = (Bench(star(2), ring(2**16), timeout=10) for _ in range(2))
    bench.lose("h1-eth0", lambda number: number == 1, data=False)  # h1 acknowledges two messages: one a step
    result = bench.collective()
    assert bench.total("local_ack_timeout_err") == 1
    assert result.time_ps == plain.collective().time_ps
    assert bench.loop.now > 4_096_000 * 2**10
