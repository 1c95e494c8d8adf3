"""``l3-ecmp`` on real Open vSwitch: 256 flows traced through the fabric, with each flavour of Ryu."""

from collections import Counter
from functools import cache
from typing import Any

import pytest

from tests.controllers.lab import FAT_TREE, FLAVOURS, LEAF_SPINE, in_lab, trace_flows

FLOWS = 256


def trace(flavour: str) -> Any:
    """Start everything and return the traces."""
    return in_lab(trace_flows, flavour, topology=LEAF_SPINE, ip="ipv4", flows=FLOWS)


traced = cache(trace)
"""The same, from one start for all tests."""


def assert_spread(paths: list[list[str]], ways: int) -> None:
    """Each way has its share of the flows, give or take four standard deviations of a fair choice."""
    counts = Counter(map(tuple, paths))
    share = 1 / ways
    deviation = (FLOWS * share * (1 - share)) ** 0.5
    assert len(counts) == ways
    assert all(abs(count - FLOWS * share) < 4 * deviation for count in counts.values()), counts


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_flows_spread_over_all_spines(flavour: str) -> None:
    found = traced(flavour)
    assert found["flavour"] == flavour
    assert {(path[0], path[-1], len(path)) for path in found["paths"]} == {("leaf0", "leaf1", 3)}
    assert_spread(found["paths"], LEAF_SPINE["spines"])


def test_equal_paths_in_two_runs_and_with_both_flavours() -> None:
    first, second, other = traced("os-ken"), trace("os-ken"), traced("ryu")
    assert first["paths"] == second["paths"] == other["paths"]


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_each_hop_rewrites_as_a_router(flavour: str) -> None:
    (actions,) = set(traced(flavour)["actions"])
    last_leaf, nic = "02:01:00:00:00:02", "02:00:00:00:00:03"
    assert actions.startswith(f"set(eth(src={last_leaf},dst={nic})),set(ipv4(ttl={64 - 3}))")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_counts_and_flows_of_others(flavour: str) -> None:
    found = traced(flavour)
    leaf_flows, spine_flows = 1 + 2 + 1, 1 + 2  # table miss; own NICs; other leaves
    assert found["ready"] == found["status"] == [2 * leaf_flows + 4 * spine_flows, 2, 0, 6, 0]
    assert found["fences"] == 6


def test_no_polarisation_over_ipv6() -> None:
    """Both tiers of a fat tree choose: with equal seeds, all flows of one edge's port would take one core."""
    found = in_lab(trace_flows, "os-ken", topology=FAT_TREE, ip="ipv6", flows=FLOWS)
    assert {len(path) for path in found["paths"]} == {5}
    assert_spread(found["paths"], (FAT_TREE["k"] // 2) ** 2)
    assert all(f"set(ipv6(hlimit={64 - 5}))" in actions for actions in found["actions"])
