"""Next hops and shortest paths: against a plain search, and against what each topology's textbook says."""

from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.fabric.build import build_plan
from testbed.fabric.paths import equal_cost_tiers, next_hops, shortest_path
from testbed.fabric.plan import FabricPlan, Switch
from testbed.scenario.model import FabricOptions
from tests.fabric.strategies import fabric, fabrics


def links_to(plan: FabricPlan, node: str) -> dict[str, int]:
    """The number of links from every node to `node`: a search that knows nothing of tiers or leaves. Hosts other than
    `node` end a path."""
    distance, queue = {node: 0}, deque([node])
    while queue:
        here = queue.popleft()
        if here in plan.host_by_name and here != node:
            continue
        for link in plan.links:
            for near, far in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
                if near == here and far not in distance:
                    distance[far] = distance[here] + 1
                    queue.append(far)
    return distance


@settings(max_examples=30, deadline=None)
@given(fabrics())
def test_next_hops_are_all_ports_one_link_nearer(options: FabricOptions) -> None:
    plan = build_plan(options)
    hops = next_hops(plan)
    for nic in (plan.nics[0], plan.nics[-1]):
        distance = links_to(plan, nic.host)
        for switch in plan.switches:
            nearer = [
                port
                for port in switch.ports
                if distance[plan.far_end(port.name).node] < distance[switch.name]
                and plan.far_end(port.name).name in (*(p.name for s in plan.switches for p in s.ports), nic.name)
            ]
            assert hops[switch.name][nic.name] == tuple(nearer)


@settings(max_examples=50, deadline=None)
@given(fabrics(), st.data())
def test_a_path_is_a_chain_of_least_length(options: FabricOptions, data: st.DataObject) -> None:
    plan = build_plan(options)
    if len(plan.hosts) < 2:
        return
    source, destination = data.draw(st.permutations(plan.nics))[:2]
    path = shortest_path(plan, source.name, destination.name)
    assert path.links[0] is plan.link_at[source.name]
    assert path.links[-1] is plan.link_at[destination.name]
    assert len(path.links) == len(path.switches) + 1
    for before, switch, after in zip(path.links[:-1], path.switches, path.links[1:], strict=True):
        assert {switch.name} <= {before.a.node, before.b.node} & {after.a.node, after.b.node}
    assert [port.node for port in path.senders] == [source.host, *(switch.name for switch in path.switches)]
    assert plan.far_end(path.senders[-1].name).name == destination.name
    if source.host != destination.host:
        assert len(path.links) == links_to(plan, destination.host)[source.host]


@given(fabrics())
def test_a_path_follows_next_hops(options: FabricOptions) -> None:
    plan = build_plan(options)
    if len(plan.nics) < 2:
        return
    hops = next_hops(plan)
    path = shortest_path(plan, plan.nics[0].name, plan.nics[-1].name)
    for switch, port in zip(path.switches, path.senders[1:], strict=True):
        assert port == hops[switch.name][plan.nics[-1].name][0]


@settings(max_examples=50, deadline=None)
@given(fabrics(), st.data())
def test_tiers_are_what_next_hops_lead_over(options: FabricOptions, data: st.DataObject) -> None:
    plan = build_plan(options)
    if len(plan.hosts) < 2:
        return
    source, destination = data.draw(st.permutations(plan.nics))[:2]
    hops = next_hops(plan)
    first, *rest = equal_cost_tiers(plan, source.name, destination.name)
    assert (first.links, first.switches) == ((plan.link_at[source.name],), ())
    here = {plan.leaf_of(source.name).name}
    for tier in rest:
        ports = [port for switch in here for port in hops[switch][destination.name]]
        assert {switch.name for switch in tier.switches} == here
        assert {link.name for link in tier.links} == {plan.link_at[port.name].name for port in ports}
        assert len(tier.links) == len(ports)
        here = {plan.far_end(port.name).node for port in ports}
    assert here == {destination.host}


def test_leaf_spine_has_a_path_over_each_spine() -> None:
    plan = build_plan(fabric("leaf-spine", leaves=4, spines=3, hosts_per_leaf=2))
    hops = next_hops(plan)
    assert [plan.far_end(port.name).node for port in hops["leaf0"]["h7-eth0"]] == ["spine0", "spine1", "spine2"]
    assert [port.name for port in hops["leaf3"]["h7-eth0"]] == ["leaf3-eth2"]
    assert [port.name for port in hops["spine1"]["h7-eth0"]] == ["spine1-eth4"]
    assert [switch.name for switch in shortest_path(plan, "h0-eth0", "h7-eth0").switches] == [
        "leaf0",
        "spine0",
        "leaf3",
    ]
    assert [switch.name for switch in shortest_path(plan, "h0-eth0", "h1-eth0").switches] == ["leaf0"]


def test_fat_tree_has_a_quarter_k_squared_paths_between_pods() -> None:
    k = 6
    plan = build_plan(fabric("fat-tree", k=k))
    hops, target = next_hops(plan), plan.nics[-1].name
    up = hops["p0e0"][target]
    cores = {port.name for edge in up for port in hops[plan.far_end(edge.name).node][target]}
    assert len(up) == k // 2
    assert len(cores) == (k // 2) ** 2
    assert len(shortest_path(plan, "h0-eth0", target).links) == 6


def test_a_path_to_itself_is_refused() -> None:
    plan = build_plan(fabric("single-switch"))
    for find in (shortest_path, equal_cost_tiers):
        with pytest.raises(ValueError, match="h0-eth0 twice"):
            find(plan, "h0-eth0", "h0-eth0")


def test_unreachable_nics_have_no_path() -> None:
    plan = build_plan(fabric("dumbbell"))
    cut = FabricPlan(plan.topology, 4, plan.hosts, _without_uplink(plan), plan.links[:-1])
    for find in (shortest_path, equal_cost_tiers):
        with pytest.raises(ValueError, match="no path from h0-eth0 to h2-eth0"):
            find(cut, "h0-eth0", "h2-eth0")
    assert set(next_hops(cut)["left0"]) == {"h0-eth0", "h1-eth0"}


def _without_uplink(plan: FabricPlan) -> tuple[Switch, ...]:
    return tuple(replace(switch, ports=switch.ports[:-1]) for switch in plan.switches)


@pytest.mark.parametrize(
    "options",
    [fabric("leaf-spine", leaves=16, spines=8, hosts_per_leaf=8), fabric("fat-tree", k=8)],
    ids=["128 hosts on 24 switches", "k = 8"],
)
def test_next_hops_search_once_a_leaf(options: FabricOptions) -> None:
    """Fast by construction: all NICs of a leaf share one tuple at every other switch."""
    plan = build_plan(options)
    hops = next_hops(plan)
    first, second = plan.nics[0].name, plan.nics[1].name
    assert hops[plan.switches[-1].name][first] is hops[plan.switches[-1].name][second]
