"""The routes of a fabric: what every switch must be told so that all NICs reach each other over all equal-cost paths.

A switch is a router. It takes the longest prefix that fits the destination, writes its own MAC address as the source
and the next hop's as the destination, takes one off the TTL, and sends the packet on. OpenFlow knows no longest prefix,
so the length of the prefix is added to the flow's priority.

A leaf has a host route (/32, /128) for each of its own NICs, and every switch one route for each other leaf's prefix.
So a switch has 1 + own NICs + other leaves flows; the one is the table miss.

Where several next hops cost the same, the flow leads to a select group with a bucket for each; next hops that occur
together share a group. Open vSwitch hashes the addresses and the source port, so that a flow keeps to its path and
flows that differ in their UDP source port spread: ECMP as in RFC 2992. Each switch seeds the hash with its own number.
With equal seeds, all flows that a leaf sends to one spine would collide again in the tier above (polarisation).

Known limits: the hash is Open vSwitch's. Another release of it, or another byte order, may choose other paths.
"""

from ipaddress import ip_network

from controllers.openflow import (
    Action,
    DecrementTtl,
    FieldValue,
    FlowMod,
    Output,
    SelectGroup,
    SetField,
    SwitchRules,
    ToGroup,
)
from testbed.fabric.paths import next_hops
from testbed.fabric.plan import FabricPlan, Port, Switch

HASH_FIELDS = ("ipv4_src", "ipv4_dst", "ipv6_src", "ipv6_dst", "udp_src", "tcp_src")
"""What a path is chosen by. RoCEv2's destination port is the same for all, so the source port carries the entropy."""

ROUTE_PRIORITY = 1000
"""Priority of a route is this plus the length of its prefix."""

TABLE_MISS = FlowMod(priority=0, match=(), actions=())
"""A packet without a route is dropped, and counted at this flow."""


def routes(plan: FabricPlan) -> tuple[SwitchRules, ...]:
    """Return the rules of every switch of `plan`, in the plan's order."""
    hops = next_hops(plan)
    return tuple(_switch_rules(plan, switch, hops[switch.name]) for switch in plan.switches)


def _switch_rules(plan: FabricPlan, switch: Switch, hops: dict[str, tuple[Port, ...]]) -> SwitchRules:
    destinations = _destinations(plan, switch, hops)
    equal_cost = dict.fromkeys(ports for _, ports in destinations if len(ports) > 1)
    group_ids = {ports: number for number, ports in enumerate(equal_cost, start=1)}
    groups = (
        SelectGroup(group_id, HASH_FIELDS, switch.dpid, tuple(_to_hop(plan, port) for port in ports))
        for ports, group_id in group_ids.items()
    )
    flows = (
        _route(prefix, switch.mac, (ToGroup(group_ids[ports]),) if ports in group_ids else _to_hop(plan, ports[0]))
        for prefix, ports in destinations
    )
    return SwitchRules(switch.name, switch.dpid, tuple(groups), (TABLE_MISS, *flows))


def _destinations(
    plan: FabricPlan, switch: Switch, hops: dict[str, tuple[Port, ...]]
) -> list[tuple[str, tuple[Port, ...]]]:
    """Return the prefixes that `switch` can reach, each with its next hops.

    One route for a leaf is enough: its NICs share their next hops on every other switch.
    """
    found: list[tuple[str, tuple[Port, ...]]] = []
    for leaf, nics in plan.nics_of.items():
        if leaf == switch.name:
            found.extend((nic.ipv4 if plan.ip_version == 4 else nic.ipv6, hops[nic.name]) for nic in nics)
        elif nics[0].name in hops:
            found.append((plan.prefix_of(leaf), hops[nics[0].name]))
    return found


def _to_hop(plan: FabricPlan, port: Port) -> tuple[Action, ...]:
    """Return the actions that send a packet out of `port`, to the switch or the NIC at the other end."""
    far = plan.far_end(port.name)
    if far.node in plan.switch_by_name:
        mac = plan.switch_by_name[far.node].mac
    else:
        mac = plan.host_by_name[far.node].nics[far.number].mac
    return SetField("eth_dst", mac), Output(port.number)


def _route(prefix: str, source_mac: str, forward: tuple[Action, ...]) -> FlowMod:
    network = ip_network(prefix)
    eth_type, field = (0x0800, "ipv4_dst") if network.version == 4 else (0x86DD, "ipv6_dst")
    address = str(network.network_address)
    host_route = network.prefixlen == network.max_prefixlen
    value: FieldValue = address if host_route else (address, str(network.netmask))
    return FlowMod(
        priority=ROUTE_PRIORITY + network.prefixlen,
        match=(("eth_type", eth_type), (field, value)),
        actions=(SetField("eth_src", source_mac), DecrementTtl(), *forward),
    )
