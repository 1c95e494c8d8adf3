"""The routes of every topology, without a switch: closed forms, and what a packet meets on its way."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.openflow import Action, DecrementTtl, FlowMod, Output, SelectGroup, SetField, SwitchRules, ToGroup
from controllers.rules import HASH_FIELDS, TABLE_MISS, routes
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan, Host, Link, Nic, Port, Switch
from testbed.scenario.model import FabricOptions

TOPOLOGIES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries({"kind": st.just("single-switch"), "hosts": st.integers(2, 5)}),
    st.fixed_dictionaries({"kind": st.just("dumbbell"), "left": st.integers(1, 3), "right": st.integers(1, 3)}),
    st.fixed_dictionaries(
        {
            "kind": st.just("leaf-spine"),
            "leaves": st.integers(1, 4),
            "spines": st.integers(1, 4),
            "hosts_per_leaf": st.integers(2, 3),
        }
    ),
    st.fixed_dictionaries({"kind": st.just("fat-tree"), "k": st.sampled_from([2, 4])}),
)


def plan_of(topology: dict[str, Any], ip: str = "ipv4") -> FabricPlan:
    return build_plan(FabricOptions.model_validate({"topology": topology, "ip": ip}))


def two_ways(ip_version: int = 4) -> FabricPlan:
    """Return a square, written by hand: h0 - s0, then s1 or s2, then s3 - h1."""

    def switch(name: str, dpid: int, tier: int, ports: int) -> Switch:
        made = tuple(Port(name, number, f"{name}-eth{number}") for number in range(1, ports + 1))
        return Switch(name, dpid, tier, f"02:01:00:00:00:0{dpid}", 800_000, 2**20, made)

    switches = (switch("s0", 1, 0, 3), switch("s1", 2, 1, 2), switch("s2", 3, 1, 2), switch("s3", 4, 0, 3))
    nics = tuple(
        Nic(f"h{n}-eth0", f"h{n}", 0, f"02:00:00:00:00:0{n}", f"10.{n}.0.1", f"fd00:{n}::1", switches[3 * n].mac)
        for n in (0, 1)
    )
    s0, s1, s2, s3 = (each.ports for each in switches)
    h0, h1 = (Port(nic.host, 0, nic.name) for nic in nics)
    pairs = [(h0, s0[0]), (h1, s3[0]), (s0[1], s1[0]), (s0[2], s2[0]), (s1[1], s3[1]), (s2[1], s3[2])]
    links = tuple(Link(f"{a.node}-{b.node}", a, b, 10**11, 500_000) for a, b in pairs)
    return FabricPlan("by hand", ip_version, tuple(Host(nic.host, (nic,)) for nic in nics), switches, links)


def test_square_by_hand() -> None:
    s0, s1, _, _ = routes(two_ways())
    router = (SetField("eth_src", "02:01:00:00:00:01"), DecrementTtl())
    to_h0 = (SetField("eth_dst", "02:00:00:00:00:00"), Output(1))
    buckets = (
        (SetField("eth_dst", "02:01:00:00:00:02"), Output(2)),
        (SetField("eth_dst", "02:01:00:00:00:03"), Output(3)),
    )
    assert s0 == SwitchRules(
        "s0",
        1,
        (SelectGroup(1, HASH_FIELDS, 1, buckets),),
        (
            TABLE_MISS,
            FlowMod(1032, (("eth_type", 0x0800), ("ipv4_dst", "10.0.0.1")), (*router, *to_h0)),
            FlowMod(1016, (("eth_type", 0x0800), ("ipv4_dst", ("10.1.0.0", "255.255.0.0"))), (*router, ToGroup(1))),
        ),
    )
    assert s1.groups == ()
    assert [flow.priority for flow in s1.flows] == [0, 1016, 1016]


def test_square_over_ipv6() -> None:
    s0 = routes(two_ways(ip_version=6))[0]
    assert s0.flows[1].match == (("eth_type", 0x86DD), ("ipv6_dst", "fd00::1"))
    assert s0.flows[2].match == (("eth_type", 0x86DD), ("ipv6_dst", ("fd00:1::", "ffff:ffff:ffff:ffff::")))
    assert [flow.priority for flow in s0.flows] == [0, 1128, 1064]


def test_unreachable_leaf_has_no_route() -> None:
    square = two_ways()
    links = square.links[:4]  # without those to s3
    ports = {port.name for link in links for port in (link.a, link.b)}
    switches = tuple(
        Switch(
            s.name, s.dpid, s.tier, s.mac, s.latency_ps, s.buffer_bytes, tuple(p for p in s.ports if p.name in ports)
        )
        for s in square.switches
    )
    rules = routes(FabricPlan("cut", 4, square.hosts, switches, links))
    assert [len(switch.flows) for switch in rules] == [2, 2, 2, 2]


@pytest.mark.parametrize(("leaves", "spines", "hosts"), [(2, 4, 2), (4, 2, 4), (3, 1, 1)])
def test_leaf_spine_closed_form(leaves: int, spines: int, hosts: int) -> None:
    """A leaf has 1 + hosts + (leaves - 1) flows and one group of `spines` buckets; a spine 1 + leaves flows."""
    rules = routes(plan_of({"kind": "leaf-spine", "leaves": leaves, "spines": spines, "hosts_per_leaf": hosts}))
    for switch in rules:
        if switch.switch.startswith("leaf"):
            assert len(switch.flows) == 1 + hosts + leaves - 1
            assert [len(group.buckets) for group in switch.groups] == ([spines] if spines > 1 else [])
        else:
            assert len(switch.flows) == 1 + leaves
            assert switch.groups == ()


@pytest.mark.parametrize("k", [4, 6])
def test_fat_tree_closed_form(k: int) -> None:
    """k^2/2 edges: each has k/2 NICs. Edge and aggregation have one group of k/2 buckets, a core has none."""
    plan = plan_of({"kind": "fat-tree", "k": k})
    edges = k * k // 2
    for switch, rules in zip(plan.switches, routes(plan), strict=True):
        own = k // 2 if switch.tier == 0 else 0
        assert len(rules.flows) == 1 + own + edges - (1 if switch.tier == 0 else 0)
        assert [len(group.buckets) for group in rules.groups] == ([] if switch.tier == 2 else [k // 2])


@given(TOPOLOGIES)
def test_every_switch_seeds_its_hash_otherwise(topology: dict[str, Any]) -> None:
    rules = routes(plan_of(topology))
    seeds = [group.hash_seed for switch in rules for group in switch.groups[:1]]
    assert len(set(seeds)) == len(seeds)


@given(TOPOLOGIES, st.sampled_from(["ipv4", "ipv6"]), st.data())
def test_any_choice_of_buckets_delivers(topology: dict[str, Any], ip: str, data: st.DataObject) -> None:
    plan = plan_of(topology, ip)
    rules = {switch.switch: switch for switch in routes(plan)}
    source, destination = data.draw(st.lists(st.sampled_from(plan.nics), min_size=2, max_size=2, unique=True))
    here, ttl = plan.far_end(source.name), 64
    while here.node in rules:
        sent = apply_rules(rules[here.node], destination.ipv4 if ip == "ipv4" else destination.ipv6, data)
        assert sent["eth_src"] == plan.switch_by_name[here.node].mac
        ttl -= 1
        here = plan.far_end(f"{here.node}-eth{sent['port']}")
        mac = plan.switch_by_name[here.node].mac if here.node in rules else destination.mac
        assert sent["eth_dst"] == mac
    assert here.name == destination.name
    assert 64 - ttl <= 5  # no way through these topologies is longer


def apply_rules(rules: SwitchRules, address: str, data: st.DataObject) -> dict[str, Any]:
    """Do as a switch does with a packet for `address`, with any bucket where a group may choose."""
    flow = max((flow for flow in rules.flows if matches(flow, address)), key=lambda flow: flow.priority)
    written: dict[str, Any] = {}
    actions: list[Action] = list(flow.actions)
    for action in actions:
        match action:
            case SetField(field, value):
                written[field] = value
            case Output(port):
                written["port"] = port
            case ToGroup(group_id):
                group = next(group for group in rules.groups if group.group_id == group_id)
                actions.extend(data.draw(st.sampled_from(group.buckets)))
    assert DecrementTtl() in actions
    return written


def matches(flow: FlowMod, address: str) -> bool:
    found = dict(flow.match)
    value = found.get("ipv4_dst", found.get("ipv6_dst"))
    if value is None:
        return not flow.match
    if isinstance(value, tuple):
        prefix, mask = value
        bits = bin(int(ip_address(mask))).count("1")
        return ip_address(address) in ip_network(f"{prefix}/{bits}")
    return value == address
