"""The routes of a fabric: what every switch must be told so that each NIC reaches each other one over all equal-cost paths.

A switch is a router. It takes the longest prefix that fits the destination, writes its own MAC address as the source and
the next hop's as the destination, takes one off the TTL, and sends the packet on. OpenFlow knows no longest prefix, so
the length of the prefix is added to the flow's priority.

A leaf has a host route (/32, /128) for each of its own NICs. For the NICs of another leaf one prefix is enough if it
holds no NIC of a third; else they get host routes too. Whatever RoCE runs over, both IPv4 and IPv6 are routed.

Where several next hops cost the same, the flow leads to a select group with a bucket for each; next hops that occur together
share a group. Open vSwitch hashes the addresses and the source port, so that a flow keeps to its path and flows that
differ in their UDP source port spread: RFC 2992's ECMP. Each switch seeds the hash with its own number. With equal seeds,
all flows that a leaf sends to one spine would collide again in the tier above (polarisation).

Known limits: the hash is Open vSwitch's, so that another release of it may choose other paths than today's; within a
release, machines with the same byte order agree.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

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
from testbed.fabric.plan import FabricPlan, Nic, Port, Switch

HASH_FIELDS = ("ipv4_src", "ipv4_dst", "ipv6_src", "ipv6_dst", "udp_src", "tcp_src")
"""What a path is chosen by. RoCEv2's destination port is the same for all, so the source port carries the entropy."""

ROUTE_PRIORITY = 1000
"""Priority of a route is this plus the length of its prefix."""

TABLE_MISS = FlowMod(priority=0, match=(), actions=())
"""A packet without a route is dropped, and counted at this flow."""

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
NextHops: TypeAlias = Mapping[str, Mapping[str, tuple[Port, ...]]]


def routes(plan: FabricPlan) -> tuple[SwitchRules, ...]:
    """Return the rules of every switch of `plan`, in the plan's order."""
    hops = next_hops(plan)
    prefixes = {version: _leaf_prefixes(plan, version) for version in (4, 6)}
    return tuple(_switch_rules(plan, switch, hops[switch.name], prefixes) for switch in plan.switches)


# --- destinations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The NICs that one switch serves, and the prefix that stands for them elsewhere; None where there is none."""

    switch: str
    nics: tuple[Nic, ...]
    prefix: Network | None


def _address(nic: Nic, version: int) -> Address:
    return ip_address(nic.ipv4 if version == 4 else nic.ipv6)


def _common_prefix(addresses: Iterable[Address]) -> Network:
    """Return the longest prefix that holds all `addresses`: the bits in which the lowest and the highest agree."""
    ordered = sorted(addresses, key=int)
    differing_bits = (int(ordered[0]) ^ int(ordered[-1])).bit_length()
    return ip_network((ordered[0], ordered[0].max_prefixlen - differing_bits), strict=False)


def _leaf_prefixes(plan: FabricPlan, version: int) -> tuple[_Leaf, ...]:
    served: defaultdict[str, list[Nic]] = defaultdict(list)
    for nic in plan.nics:
        served[plan.far_end(nic.name).node].append(nic)
    addresses = {nic.name: _address(nic, version) for nic in plan.nics}
    leaves = []
    for switch, nics in served.items():
        prefix = _common_prefix(addresses[nic.name] for nic in nics)
        holds = sum(address in prefix for address in addresses.values())
        leaves.append(_Leaf(switch, tuple(nics), prefix if holds == len(nics) else None))
    return tuple(leaves)


def _destinations(
    switch: str, hops: Mapping[str, tuple[Port, ...]], leaves: Sequence[_Leaf], version: int
) -> list[tuple[Network, tuple[Port, ...]]]:
    """Return each destination of a switch with its next hops; what it cannot reach is left out."""
    found: list[tuple[Network, tuple[Port, ...]]] = []
    for leaf in leaves:
        ways = {hops.get(nic.name, ()) for nic in leaf.nics}
        if leaf.switch != switch and leaf.prefix is not None and len(ways) == 1:
            found.append((leaf.prefix, ways.pop()))
        else:
            found.extend((ip_network(_address(nic, version)), hops.get(nic.name, ())) for nic in leaf.nics)
    return [(prefix, ports) for prefix, ports in found if ports]


# --- rules -----------------------------------------------------------------------------------------------------------


def _switch_rules(
    plan: FabricPlan,
    switch: Switch,
    hops: Mapping[str, tuple[Port, ...]],
    leaves: Mapping[int, Sequence[_Leaf]],
) -> SwitchRules:
    nic_macs = {nic.name: nic.mac for nic in plan.nics}
    groups: dict[tuple[Port, ...], SelectGroup] = {}

    def hop(port: Port) -> tuple[Action, ...]:
        far = plan.far_end(port.name)
        mac = plan.switch_by_name[far.node].mac if far.node in plan.switch_by_name else nic_macs[far.name]
        return SetField("eth_dst", mac), Output(port.number)

    def forward(ports: tuple[Port, ...]) -> tuple[Action, ...]:
        if len(ports) == 1:
            return hop(ports[0])
        if ports not in groups:
            buckets = tuple(hop(port) for port in ports)
            groups[ports] = SelectGroup(len(groups) + 1, HASH_FIELDS, switch.dpid, buckets)
        return (ToGroup(groups[ports].group_id),)

    flows = [TABLE_MISS]
    for version in (4, 6):
        for prefix, ports in _destinations(switch.name, hops, leaves[version], version):
            flows.append(_route(prefix, switch.mac, forward(ports)))
    return SwitchRules(switch.name, switch.dpid, tuple(groups.values()), tuple(flows))


def _route(prefix: Network, source_mac: str, forward: tuple[Action, ...]) -> FlowMod:
    eth_type, field = (0x0800, "ipv4_dst") if prefix.version == 4 else (0x86DD, "ipv6_dst")
    exact = prefix.prefixlen == prefix.max_prefixlen
    address = str(prefix.network_address)
    value: FieldValue = address if exact else (address, str(prefix.netmask))
    return FlowMod(
        priority=ROUTE_PRIORITY + prefix.prefixlen,
        match=(("eth_type", eth_type), (field, value)),
        actions=(SetField("eth_src", source_mac), DecrementTtl(), *forward),
    )
