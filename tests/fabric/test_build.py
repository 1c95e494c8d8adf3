"""Invariants of every plan, and the closed forms and names of each topology."""

import json
from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given, settings

from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan
from testbed.fabric.topologies import layout_of, topology
from testbed.scenario.model import FabricOptions, LeafSpine, LinkOptions, SingleSwitch
from tests.fabric.strategies import fabric, fabrics


def assert_distinct(values: Sequence[object]) -> None:
    assert [value for value, count in Counter(values).items() if count > 1] == []


@given(fabrics())
def test_names_and_addresses_are_unique(options: FabricOptions) -> None:
    plan = build_plan(options)
    assert_distinct([*plan.host_by_name, *plan.switch_by_name])
    assert_distinct([link.name for link in plan.links])
    assert_distinct([switch.dpid for switch in plan.switches])
    assert_distinct([*(nic.mac for nic in plan.nics), *(switch.mac for switch in plan.switches)])
    assert_distinct([nic.ipv4 for nic in plan.nics])
    assert_distinct([ip_address(nic.ipv6) for nic in plan.nics])


@given(fabrics())
def test_every_port_is_on_one_link(options: FabricOptions) -> None:
    plan = build_plan(options)
    on_links = [port.name for port in plan.ports()]
    assert_distinct(list(on_links))
    of_nodes = [nic.name for nic in plan.nics] + [port.name for switch in plan.switches for port in switch.ports]
    assert sorted(on_links) == sorted(of_nodes)
    assert all(len(name) <= 15 for name in on_links), "Linux allows 15 characters"


@given(fabrics())
def test_switch_ports_are_numbered_from_1_with_hosts_first(options: FabricOptions) -> None:
    plan = build_plan(options)
    for switch in plan.switches:
        assert [port.number for port in switch.ports] == list(range(1, len(switch.ports) + 1))
        assert all(port.name == f"{switch.name}-eth{port.number}" for port in switch.ports)
        is_host = [plan.far_end(port.name).node in plan.host_by_name for port in switch.ports]
        assert is_host == sorted(is_host, reverse=True)
        assert (switch.tier == 0) == any(is_host)


@given(fabrics())
def test_everything_is_connected(options: FabricOptions) -> None:
    plan = build_plan(options)
    reached, frontier = {plan.hosts[0].name}, [plan.hosts[0].name]
    while frontier:
        node = frontier.pop()
        for link in plan.links:
            ends = {link.a.node, link.b.node}
            if node in ends and not ends <= reached:
                frontier += ends - reached
                reached |= ends
    assert reached == {*plan.host_by_name, *plan.switch_by_name}


@given(fabrics())
def test_each_nic_uses_its_leaf(options: FabricOptions) -> None:
    plan = build_plan(options)
    for nic in plan.nics:
        leaf = plan.leaf_of(nic.name)
        assert nic.gateway_mac == leaf.mac
        assert leaf.tier == 0
        assert nic in plan.nics_of[leaf.name]


@given(fabrics())
def test_a_prefix_holds_the_nics_of_its_leaf_and_no_others(options: FabricOptions) -> None:
    plan = build_plan(options)
    for leaf in plan.nics_of:
        prefix = ip_network(plan.prefix_of(leaf))
        inside = {nic.name for nic in plan.nics if ip_address(nic.ipv4 if plan.ip_version == 4 else nic.ipv6) in prefix}
        assert inside == {nic.name for nic in plan.nics_of[leaf]}


@given(fabrics())
def test_macs_are_local_and_unicast(options: FabricOptions) -> None:
    plan = build_plan(options)
    for mac in (*(nic.mac for nic in plan.nics), *(switch.mac for switch in plan.switches)):
        assert int(mac[:2], 16) & 0b11 == 0b10


@given(fabrics())
def test_json_is_faithful(options: FabricOptions) -> None:
    plan = build_plan(options)
    assert FabricPlan.from_json(json.loads(json.dumps(plan.as_json()))) == plan


@given(fabrics())
def test_a_plan_depends_on_its_options_only(options: FabricOptions) -> None:
    assert build_plan(options) == build_plan(options)


@settings(max_examples=30)
@given(fabrics())
def test_counts_by_closed_form(options: FabricOptions) -> None:
    """Hosts, switches, and links between switches, from the parameters alone."""
    shape, plan = options.topology, build_plan(options)
    if shape.kind == "single-switch":
        expected = (shape.hosts, 1, 0)
    elif shape.kind == "dumbbell":
        expected = (shape.left + shape.right, 2, 1)
    elif shape.kind == "leaf-spine":
        expected = (shape.leaves * shape.hosts_per_leaf, shape.leaves + shape.spines, shape.leaves * shape.spines)
    elif shape.kind == "ring":
        expected = (shape.switches * shape.hosts_per_switch, shape.switches, shape.switches)
    else:
        k = shape.k
        expected = (k**3 // 4, k * k + (k // 2) ** 2, k**3 // 2)
    hosts, switches, switch_links = expected
    assert len(plan.hosts) == hosts
    assert len(plan.switches) == switches
    assert len(plan.links) == switch_links + hosts * options.nics_per_host


def test_ring_names_and_the_link_that_closes_it() -> None:
    plan = build_plan(fabric("ring", switches=3, hosts_per_switch=1))
    links = [(link.name, link.a.name, link.b.name) for link in plan.links if link.a.node.startswith("leaf")]
    assert links == [
        ("leaf0-leaf1", "leaf0-eth2", "leaf1-eth2"),
        ("leaf1-leaf2", "leaf1-eth3", "leaf2-eth2"),
        ("leaf2-leaf0", "leaf2-eth3", "leaf0-eth3"),
    ]


def test_leaf_spine_names_and_addresses() -> None:
    plan = build_plan(fabric("leaf-spine", leaves=2, spines=2, hosts_per_leaf=2))
    assert [link.name for link in plan.links] == [
        "h0-leaf0", "h1-leaf0", "h2-leaf1", "h3-leaf1",
        "leaf0-spine0", "leaf0-spine1", "leaf1-spine0", "leaf1-spine1",
    ]  # fmt: skip
    assert [switch.name for switch in plan.switches] == ["leaf0", "leaf1", "spine0", "spine1"]
    h3 = plan.host_by_name["h3"].nics[0]
    assert (h3.name, h3.ipv4, h3.ipv6, h3.mac) == ("h3-eth0", "10.1.0.2", "fd00:1::2", "02:00:00:00:00:03")
    assert plan.far_end("leaf1-eth3").name == "spine0-eth2"
    assert plan.prefix_of("leaf1") == "10.1.0.0/16"


def test_fat_tree_names_and_tiers() -> None:
    plan = build_plan(fabric("fat-tree", k=4))
    tiers = {name: switch.tier for name, switch in plan.switch_by_name.items()}
    assert [tiers[name] for name in ("p0e0", "p3e1", "p0a1", "core3")] == [0, 0, 1, 2]
    assert {plan.far_end(port.name).node for port in plan.switch_by_name["core3"].ports} == {
        "p0a1", "p1a1", "p2a1", "p3a1",
    }  # fmt: skip
    assert all(len(switch.ports) == 4 for switch in plan.switches)


def test_two_nics_have_two_links_to_the_leaf() -> None:
    plan = build_plan(fabric("dumbbell", nics_per_host=2, left=1, right=1))
    assert [link.name for link in plan.links] == ["h0-left0", "h0-left0-1", "h1-right0", "h1-right0-1", "left0-right0"]
    assert [nic.ipv4 for nic in plan.nics] == ["10.0.0.1", "10.0.1.1", "10.1.0.1", "10.1.1.1"]
    assert [nic.ipv6 for nic in plan.nics] == ["fd00::1", "fd00::1:1", "fd00:1::1", "fd00:1::1:1"]


def test_rates_and_delays_of_tiers() -> None:
    plan = build_plan(
        fabric(
            "fat-tree",
            k=2,
            link={"rate": "100Gbps", "delay": "1us"},
            aggregation={"rate": "400Gbps"},
            core={"delay": "9us"},
        )
    )
    speeds = {link.name: (link.rate_bps, link.delay_ps) for link in plan.links}
    assert speeds["h0-p0e0"] == (100 * 10**9, 10**6)
    assert speeds["p0e0-p0a0"] == (400 * 10**9, 10**6)
    assert speeds["p0a0-core0"] == (100 * 10**9, 9 * 10**6)


@pytest.mark.parametrize(
    "options",
    [
        fabric("single-switch", hosts=512, nics_per_host=8),
        fabric("dumbbell", left=256, right=256),
        fabric("leaf-spine", leaves=64, spines=64, hosts_per_leaf=128),
        fabric("fat-tree", k=16),
    ],
    ids=lambda options: options.topology.kind,
)
def test_the_largest_have_room(options: FabricOptions) -> None:
    plan = build_plan(options)
    for addresses in ([nic.ipv4 for nic in plan.nics], [nic.ipv6 for nic in plan.nics]):
        assert_distinct([ip_address(address) for address in addresses])
    assert_distinct([nic.mac for nic in plan.nics] + [switch.mac for switch in plan.switches])
    assert max(len(port.name) for port in plan.ports()) <= 15


def test_a_second_topology_for_the_same_options_is_refused() -> None:
    layout_of(LeafSpine(kind="leaf-spine"))  # all files are imported by now
    with pytest.raises(ValueError, match="LeafSpine has two topologies"):
        topology(LeafSpine)(layout_of(SingleSwitch(kind="single-switch")))


def test_options_without_a_topology_are_named() -> None:
    with pytest.raises(LookupError, match="no topology is registered for LinkOptions; registered: Dumbbell, FatTree"):
        layout_of(LinkOptions())
