"""The algorithm: its parts, its messages in closed form, its result, and what loss does to it."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.scenario.limits import ELEMENT_BYTES
from tests.traffic.collectives.kit import Bench, ring, star
from traffic.collectives.algorithm import Shape
from traffic.collectives.algorithms.ring_all_reduce import RingAllReduce
from traffic.collectives.rehearsal import rehearse

# --- the shape -------------------------------------------------------------------------------------------------------


@given(ranks=st.integers(2, 40), elements=st.integers(1, 2000), piece=st.integers(1, 300))
def test_parts_cover_the_buffer_and_differ_by_at_most_one_element(ranks: int, elements: int, piece: int) -> None:
    shape = Shape("all-reduce", ranks, elements, piece)
    at = 0
    sizes = []
    for index in range(ranks):
        start, size = shape.part(index)
        assert start == at
        at += size
        sizes.append(size)
        pieces = list(shape.pieces(start, size))
        assert sum(length for _, _, length in pieces) == size * ELEMENT_BYTES
        assert [number for number, _, _ in pieces] == list(range(-(-size // piece)))
        assert all(0 < length <= piece * ELEMENT_BYTES for _, _, length in pieces)
    assert at == elements
    assert max(sizes) - min(sizes) <= 1


@given(ranks=st.integers(2, 12), elements=st.integers(1, 500), piece=st.integers(1, 60))
def test_messages_and_bytes_in_closed_form(ranks: int, elements: int, piece: int) -> None:
    shape = Shape("all-reduce", ranks, elements, piece)
    algorithm = RingAllReduce(shape)
    parts = [rehearse(algorithm, rank) for rank in range(ranks)]
    for rank, part in enumerate(parts):
        # Twice every part, but r + 1 (received last in reduce-scatter) and r + 2 (received last in all-gather).
        skipped = shape.part((rank + 1) % ranks)[1] + shape.part((rank + 2) % ranks)[1]
        sent_bytes = (2 * elements - skipped) * ELEMENT_BYTES
        assert sum(sent.size for sent in part.sends) == sent_bytes == algorithm.sent_bytes(rank)
        assert len(part.sends) == algorithm.messages(rank)
        if elements % ranks == 0:
            assert sent_bytes == 2 * elements * ELEMENT_BYTES * (ranks - 1) // ranks
            assert len(part.sends) == 2 * (ranks - 1) * -(-elements // ranks // piece)
        assert {(rank, sent.peer) for sent in part.sends} <= {pair[:2] for pair in algorithm.connections()}
        # What a rank receives is exactly what its left neighbour sends, in that order.
        left = (rank - 1) % ranks
        sent_here = [(left, sent.channel, sent.step, sent.piece) for sent in parts[left].sends]
        assert list(part.receives) == sent_here


# --- the result ------------------------------------------------------------------------------------------------------


@given(
    ranks=st.integers(2, 9),
    elements=st.integers(1, 4000),
    chunk=st.sampled_from([None, "4B", "1000B", "4KiB"]),
    queue_pairs=st.sampled_from([1, 3]),
    iterations=st.integers(1, 3),
)
@settings(max_examples=25, deadline=None)
def test_every_rank_has_the_true_sum(
    ranks: int, elements: int, chunk: str | None, queue_pairs: int, iterations: int
) -> None:
    if chunk == "4B":
        elements = min(elements, 50)  # a message an element
    work = ring(4 * elements, iterations=iterations, **({"chunk": chunk} if chunk else {}))
    bench = Bench(star(ranks), work, qps_per_connection=queue_pairs, mtu=1024, initial_psn=2**24 - 7)
    result = bench.collective()
    assert result.verified
    assert result.wrong_elements == 0
    assert bench.total("retransmitted_packets") == 0


@pytest.mark.parametrize("ranks", [2, 3, 8, 16])
def test_time_without_contention(ranks: int) -> None:
    work = ring(ranks * 256 * 1024, chunk="64KiB")
    result = Bench(star(ranks), work).collective()
    assert result.time_ps is not None
    assert result.ideal_ps <= result.time_ps <= 1.005 * result.ideal_ps  # ACKs take 0.13 % of the wire


def test_time_in_closed_form() -> None:
    """Whole parts, all alike: each of 2 (n - 1) steps takes a part's serialisation and the way, store and forward."""
    ranks, packets = 4, 16
    work = ring(ranks * packets * 4096)
    result = Bench(star(ranks, switch={"latency": "800ns"}, link={"delay": "500ns"}), work).collective()
    bare = 14 + 20 + 8 + 12 + 4096 + 4 + 24  # Ethernet, IP, UDP, BTH, payload, ICRC; FCS, preamble, gap
    serialisation = (packets * bare + 16 + 4) * 80  # RETH in the first packet, ImmDt in the last; 80 ps a byte
    way = 2 * 500_000 + 800_000 + (bare + 16) * 80  # two cables, the switch, and its largest packet once more
    assert result.ideal_ps == 2 * (ranks - 1) * (serialisation + way)
    assert result.time_ps is not None
    assert abs(result.time_ps - result.ideal_ps) < 0.005 * result.ideal_ps
    assert result.busbw_gbps == pytest.approx(work.size * 8 / (result.time_ps / 1000) * 2 * 3 / 4)


def test_pieces_overlap_steps() -> None:
    times = [Bench(star(8), ring(8 * 2**18, **chunk)).collective().time_ps for chunk in ({}, {"chunk": "32KiB"})]
    assert times[0] is not None
    assert times[1] is not None
    # A step's latency (way and last packet) is hidden behind the next piece's serialisation, but once.
    assert times[1] < times[0] - 10 * 2_000_000


def test_compute_is_not_communication() -> None:
    plain = Bench(star(4), ring(2**18, iterations=3)).collective()
    computing = Bench(star(4), ring(2**18, iterations=3, compute="50us")).collective()
    assert plain.time_ps is not None
    assert computing.time_ps is not None
    assert computing.end_ps - plain.end_ps == pytest.approx(150_000_000, rel=0.01)
    assert computing.time_ps == pytest.approx(plain.time_ps, rel=0.01)
    assert max(computing.stall_ps_by_rank.values()) < 1_000_000  # computing is no stall


# --- loss ------------------------------------------------------------------------------------------------------------


def test_one_lost_packet_stalls_every_rank() -> None:
    """With a QP for each step, nothing follows the lost packet that could show the gap: only the timeout helps."""
    timeout = 7
    bench = Bench(star(3), ring(3 * 2**16), timeout=timeout, qps_per_connection=4)
    bench.lose("h2-eth0", lambda number: number == 15)  # the last packet of its first part
    result = bench.collective()
    assert result.verified
    assert bench.total("local_ack_timeout_err") == 1
    timeout_ps = 4_096_000 * 2**timeout
    assert all(0.95 * timeout_ps < stall < 1.05 * timeout_ps for stall in result.stall_ps_by_rank.values())
    assert result.time_ps is not None
    assert result.time_ps - result.ideal_ps == pytest.approx(timeout_ps, rel=0.05)


def test_the_next_step_on_the_same_queue_pair_shows_the_gap() -> None:
    bench = Bench(star(6), ring(6 * 2**16), timeout=20)
    bench.lose("h2-eth0", lambda number: number == 15)
    result = bench.collective()
    assert result.verified
    assert (bench.total("packet_seq_err"), bench.total("local_ack_timeout_err")) == (1, 0)
    assert all(0 < stall < 10_000_000 for stall in result.stall_ps_by_rank.values())


def test_a_nak_mends_a_loss_in_the_middle_at_once() -> None:
    bench = Bench(star(6), ring(6 * 2**20))
    bench.lose("h2-eth0", lambda number: number == 20)
    result = bench.collective()
    assert result.verified
    assert bench.total("packet_seq_err") == 1
    assert bench.total("local_ack_timeout_err") == 0
    assert 0 < max(result.stall_ps_by_rank.values()) < 20_000_000


@given(lost=st.sets(st.integers(0, 200), max_size=6), iterations=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_iterations_survive_loss(lost: set[int], iterations: int) -> None:
    bench = Bench(star(3), ring(3 * 9000, chunk="2KiB", iterations=iterations), mtu=1024, timeout=4, ack_every=2)
    bench.lose("h1-eth0", lost.__contains__)
    result = bench.collective()
    assert result.verified
    assert result.iterations == iterations


# --- what is recorded ------------------------------------------------------------------------------------------------


def test_steps_and_waits() -> None:
    result = Bench(star(4), ring(2**16, iterations=2)).collective()
    steps = [step for step in result.steps if step.rank == "h1"]
    assert [(step.iteration, step.step) for step in steps] == [(i, s) for i in range(2) for s in range(6)]
    assert [step.phase for step in steps[:6]] == ["reduce-scatter"] * 3 + ["all-gather"] * 3
    for before, after in pairwise(steps):
        assert before.receive_ps == after.send_ps  # what has arrived is passed on at once
    waited = sum(wait.end_ps - wait.start_ps for wait in result.waits if wait.rank == "h1")
    assert sum(step.wait_ps for step in steps) == waited
    assert {wait.what for wait in result.waits if wait.rank == "h1"} == {"data from h0"}
