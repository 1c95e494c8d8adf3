"""The time of every algorithm without contention, against its alpha-beta form: within 1 %, headers counted exactly."""

import pytest
from pydantic import TypeAdapter

from testbed.scenario.model import Work
from tests.traffic.collectives.kit import Bench, star
from tests.traffic.collectives.test_collectives import collective

_BARE = 14 + 20 + 8 + 12 + 4096 + 4 + 24  # Ethernet, IP, UDP, BTH, payload, ICRC; FCS, preamble, gap
_EXTRA = 16 + 4  # RETH in the first packet, ImmDt in the last
_WAY = 2 * 500_000 + 800_000 + (_BARE + 16) * 80  # two cables, the switch, and its largest packet once more


def _on_wire(packets: int, messages: int = 1) -> int:
    """The serialisation of messages of `packets` in all, in ps at 100 Gb/s."""
    return (packets * _BARE + messages * _EXTRA) * 80


@pytest.mark.parametrize("kind", ["reduce-scatter", "all-gather"])
def test_time_of_one_time_round_the_ring(kind: str) -> None:
    """n - 1 steps of a part's serialisation and the way."""
    ranks, packets = 4, 16
    work = collective(kind, ranks * packets * 4096)
    _close_to(work, (ranks - 1) * (_on_wire(packets) + _WAY))


def test_time_of_a_chain() -> None:
    """P pieces: n - 1 ways, n - 2 pieces that go on, and all of the data once."""
    ranks, pieces, packets = 5, 16, 4
    work = collective("broadcast", pieces * packets * 4096, chunk=f"{packets * 4096}B")
    _close_to(work, (ranks - 1) * _WAY + (ranks - 2 + pieces) * _on_wire(packets), ranks)


def test_time_of_halving_and_doubling() -> None:
    """Steps of n/2, n/4, ... 1 parts, and back: 2 log2 n ways."""
    ranks, packets = 8, 16
    work = collective("all-reduce", ranks * packets * 4096, algorithm="halving-doubling")
    _close_to(work, 2 * sum(_on_wire(packets * parts) + _WAY for parts in (4, 2, 1)), ranks)


def test_time_of_an_exchange() -> None:
    """Everything that a rank gets over its link at once, and one way."""
    ranks, packets = 6, 16
    work = collective("all-to-all", ranks * packets * 4096)
    _close_to(work, _on_wire((ranks - 1) * packets, ranks - 1) + _WAY, ranks)


def test_time_of_an_uneven_exchange() -> None:
    """What the busiest link carries, and one way: here all comes to h0."""
    ranks, packets = 5, 64
    matrix = [["0B"] * ranks, *([f"{packets * 4096}B", *["0B"] * (ranks - 1)] for _ in range(ranks - 1))]
    work = TypeAdapter(Work).validate_python({"kind": "all-to-all-v", "matrix": matrix})
    _close_to(work, _on_wire((ranks - 1) * packets, ranks - 1) + _WAY, ranks)


@pytest.mark.parametrize("kind", ["reduce-scatter", "all-gather"])
@pytest.mark.parametrize(("ranks", "parts"), [(4, (1, 2)), (6, (1, 2, 2)), (8, (1, 2, 4))])
def test_time_of_bruck(kind: str, ranks: int, parts: tuple[int, ...]) -> None:
    """Steps of 1, 2, 4, ... parts, n - 1 in all, in one order or the other: ceil(log2 n) ways."""
    packets = 16
    work = collective(kind, ranks * packets * 4096, algorithm="bruck")
    _close_to(work, sum(_on_wire(packets * count) + _WAY for count in parts), ranks)


@pytest.mark.parametrize(("ranks", "depth"), [(2, 1), (4, 2), (8, 3), (16, 4)])
def test_time_of_a_small_binomial_tree(ranks: int, depth: int) -> None:
    """log2 n packets after each other, each with its way."""
    work = collective("broadcast", 4096, algorithm="binomial-tree")
    _close_to(work, depth * (_on_wire(1) + _WAY), ranks)


def test_time_of_a_large_binomial_tree() -> None:
    """The root sends all of the data to each of its log2 n children; the last packets of the first one go on.

    The contention-free time knows only the root's port, behind which the last packet has one way to go.
    """
    ranks, packets, depth = 8, 2048, 3
    work = collective("broadcast", packets * 4096, algorithm="binomial-tree", chunk="4KiB")
    result = Bench(star(ranks), work).collective()
    assert result.time_ps == pytest.approx(_on_wire(depth * packets, depth * packets) + depth * _WAY, rel=0.01)
    assert result.ideal_ps == pytest.approx(_on_wire(depth * packets, depth * packets) + _WAY, rel=0.002)


@pytest.mark.parametrize(("ranks", "depth"), [(2, 1), (4, 2), (8, 3), (16, 4)])
def test_time_of_small_double_binary_trees(ranks: int, depth: int) -> None:
    """Up log2 n ways and down as many; where there are two children, the second one's packet comes behind the first's.

    The contention-free time knows nothing of packets for two children that take turns, or of two that send to one.
    """
    work = collective("all-reduce", 2 * 4096, algorithm="double-binary-tree")
    result = Bench(star(ranks), work).collective()
    up_or_down = depth * (_on_wire(1) + _WAY) + (depth - 1) * _on_wire(1)
    assert result.time_ps == pytest.approx(2 * up_or_down, rel=0.01)
    assert result.ideal_ps == pytest.approx(2 * depth * (_on_wire(1) + _WAY), rel=0.002)


def test_time_of_large_double_binary_trees() -> None:
    """A rank in the middle of a tree sends S / 2 up and to two children, and as a leaf of the other S / 2: 2 S."""
    ranks, packets = 4, 2048
    work = collective("all-reduce", packets * 4096, algorithm="double-binary-tree", chunk="16KiB")
    _close_to(work, _on_wire(2 * packets, 2 * packets // 4), ranks)


@pytest.mark.parametrize(("hosts", "local"), [(2, 2), (2, 4), (3, 3)])
def test_time_of_a_hierarchy(hosts: int, local: int) -> None:
    """2 (g - 1) parts and two latencies of NVLink; between them 2 (m - 1) steps of a slice on the rail."""
    packets = 12
    size = hosts * local * packets * 4096
    work = collective("all-reduce", size, algorithm="hierarchical", ranks={"per_host": local})
    bench = Bench(star(hosts, nics_per_host=local, nvlink={"rate": "900Gbps", "latency": "1us"}), work)
    part_ps = size // local * 8 * 1000 / 900
    expected_ps = 2 * ((local - 1) * part_ps + 1_000_000) + 2 * (hosts - 1) * (_on_wire(packets) + _WAY)
    result = bench.collective()
    assert result.time_ps == pytest.approx(expected_ps, rel=0.01)
    assert result.ideal_ps < 1.001 * expected_ps  # it knows nothing of messages that take turns at a GPU's port


def test_time_of_a_pipeline() -> None:
    """M + n - 2 microbatches after each other, and n - 1 ways."""
    ranks, packets, microbatches = 4, 32, 8
    work = collective("send-recv", microbatches * packets * 4096, microbatches=microbatches)
    _close_to(work, (microbatches + ranks - 2) * _on_wire(packets) + (ranks - 1) * _WAY, ranks)


def _close_to(work: Work, expected_ps: int, ranks: int = 4) -> None:
    result = Bench(star(ranks), work).collective()
    assert result.time_ps is not None
    assert result.ideal_ps == pytest.approx(expected_ps, rel=0.002)
    assert result.time_ps == pytest.approx(expected_ps, rel=0.01)
