"""Without faults a ring All-Reduce takes what theory says, within 1 %: modelled switches here, real ones in
test_topologies.py and test_captures.py."""

from collections.abc import Mapping

import pytest

from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions
from tests.lab.closed_form import Edge, Piece, Transport, longest_way_ps, ring_time_ps
from tests.lab.edges import ring_edges
from tests.traffic.collectives.kit import Bench, ring

WITHIN = 0.01
KIB = 1024


def star(hosts: int, **options: object) -> dict[str, object]:
    return {"topology": {"kind": "single-switch", "hosts": hosts}, **options}


def leaf_spine(
    leaves: int, hosts_per_leaf: int, uplink: Mapping[str, str] | None = None, **options: object
) -> dict[str, object]:
    topology = {"kind": "leaf-spine", "leaves": leaves, "spines": 2, "hosts_per_leaf": hosts_per_leaf}
    return {"topology": {**topology, "uplink": uplink or {}}, **options}


def compare(fabric: Mapping[str, object], part_bytes: int, pieces: int = 1, **transport: int) -> None:
    """Run a ring All-Reduce with parts of `part_bytes` and compare its time with the closed form's."""
    plan = build_plan(FabricOptions.model_validate(fabric))
    size = part_bytes * len(plan.hosts)
    chunk = {"chunk": f"{part_bytes // pieces}B"} if pieces > 1 else {}
    result = Bench(fabric, ring(size, **chunk), **transport).collective()
    theory = Transport(ip_version=plan.ip_version, **transport)
    assert result.verified
    assert result.time_ps == pytest.approx(ring_time_ps(ring_edges(plan), size, theory, pieces), rel=WITHIN)


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 16])
def test_any_number_of_ranks(ranks: int) -> None:
    compare(star(ranks), 64 * KIB)


@pytest.mark.parametrize("mtu", [256, 512, 1024, 2048, 4096])
@pytest.mark.parametrize(
    "fabric", [star(4), leaf_spine(2, 2), leaf_spine(2, 2, ip="ipv6")], ids=["star", "ipv4", "ipv6"]
)
def test_any_mtu(fabric: Mapping[str, object], mtu: int) -> None:
    compare(fabric, 24 * mtu, mtu=mtu)


@pytest.mark.parametrize("ack_every", [1, 4, 64])
def test_any_number_of_acknowledgements(ack_every: int) -> None:
    compare(star(4), 128 * KIB, mtu=1024, ack_every=ack_every)


@pytest.mark.parametrize("rate", ["25Gbps", "100Gbps", "400Gbps"])
@pytest.mark.parametrize("part_bytes", [4, 4 * KIB, 50_004, 512 * KIB])
def test_any_rate_and_size(rate: str, part_bytes: int) -> None:
    compare(star(4, link={"rate": rate}), part_bytes)
    compare(leaf_spine(2, 2, link={"rate": rate}), part_bytes)


@pytest.mark.parametrize("delay", ["0ns", "5us"])
def test_any_latency(delay: str) -> None:
    compare(leaf_spine(2, 2, link={"delay": delay}, switch={"latency": "2us"}), 64 * KIB)


@pytest.mark.parametrize(("leaves", "hosts_per_leaf"), [(2, 1), (2, 4), (4, 2), (8, 1)])
def test_edges_of_different_length(leaves: int, hosts_per_leaf: int) -> None:
    compare(leaf_spine(leaves, hosts_per_leaf), 64 * KIB)


@pytest.mark.parametrize("rate", ["10Gbps", "25Gbps", "400Gbps"])
@pytest.mark.parametrize("hosts_per_leaf", [2, 4])
def test_uplinks_of_another_rate(rate: str, hosts_per_leaf: int) -> None:
    compare(leaf_spine(2, hosts_per_leaf, uplink={"rate": rate}), 64 * KIB)


def test_three_tiers() -> None:
    compare({"topology": {"kind": "fat-tree", "k": 4}}, 64 * KIB)


@pytest.mark.parametrize("pieces", [2, 4, 8])
@pytest.mark.parametrize("part_bytes", [64 * KIB, 512 * KIB])
def test_pieces_hide_the_latency_of_steps(pieces: int, part_bytes: int) -> None:
    compare(star(4), part_bytes, pieces)
    compare(leaf_spine(2, 2), part_bytes, pieces)
    compare(leaf_spine(2, 2, uplink={"rate": "25Gbps"}), part_bytes, pieces)


# --- the form itself -------------------------------------------------------------------------------------------------

LINK = (100 * 10**9, 500_000)
SHORT = Edge((LINK, LINK), (800_000,))
LONG = Edge((LINK, LINK, LINK, LINK), (800_000,) * 3)
SLOW = Edge((LINK, (25 * 10**9, 500_000), LINK), (800_000,) * 2)


def test_a_piece_in_figures() -> None:
    """Two packets of 1000 B and 24 B at 100 Gb/s, 80 ps a byte, and their one acknowledgement."""
    piece = Piece.over(SHORT, 1024, Transport(mtu=1000))
    first, last, ack = 1000 + 82 + 16, 24 + 82 + 4, 62 + 24
    assert piece.occupies_ps == (first + last + ack) * 80
    assert piece.takes_ps == piece.occupies_ps + first * 80 + 2 * 500_000 + 800_000


def test_a_piece_of_one_packet_has_all_headers_in_it() -> None:
    assert Piece.over(SHORT, 1000, Transport()).takes_ps == (2 * (1000 + 82 + 20) + 62 + 24) * 80 + 1_800_000


@pytest.mark.parametrize("edges", [[SHORT] * 4, [LONG] * 3, [SHORT, LONG, SHORT, LONG], [SHORT, SHORT, SHORT, SLOW]])
@pytest.mark.parametrize("pieces", [1, 8])
def test_the_closed_forms_are_the_longest_way(edges: list[Edge], pieces: int) -> None:
    """Turn by turn: every end computed from the two before it."""
    size = len(edges) * 8 * 30_000
    costs = [Piece.over(edge, size // len(edges) // pieces, Transport()) for edge in edges]
    turn_by_turn = longest_way_ps(costs, 2 * (len(edges) - 1), pieces)
    assert ring_time_ps(edges, size, Transport(), pieces) == pytest.approx(turn_by_turn, rel=1e-9)
