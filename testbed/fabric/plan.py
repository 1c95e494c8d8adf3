"""The plan of a fabric: hosts, NICs, switches, ports, links and addresses, as plain frozen values.

A plan is made by a topology (`testbed.fabric.topologies`), and everything later reads it: Mininet builds it, the
controller programs it, the engine models its links, the picture draws it. It has no behaviour beyond look-ups and can
be written as JSON, which is how the controller's process receives it.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from ipaddress import ip_network
from typing import Any

from testbed.fabric.addresses import IPV4_PREFIX_BITS, IPV6_PREFIX_BITS


@dataclass(frozen=True, slots=True)
class Port:
    """One end of a link: the interface `name` (``leaf0-eth1``) of `node`. `number` is its OpenFlow port number
    (1, 2, ...) on a switch and the NIC's index (0, 1, ...) on a host."""

    node: str
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between ports `a` and `b`; both directions have `rate_bps` and `delay_ps`. Named ``leaf0-spine1``."""

    name: str
    a: Port
    b: Port
    rate_bps: int
    delay_ps: int


@dataclass(frozen=True, slots=True)
class Nic:
    """A host's network card; `name` is its interface (``h3-eth0``).

    `gateway_mac` is what its frames are sent to; empty where hosts are bridged: then to the other host's card itself.
    """

    name: str
    host: str
    index: int
    mac: str
    ipv4: str
    ipv6: str
    gateway_mac: str


@dataclass(frozen=True, slots=True)
class Host:
    """A server with one or more NICs (several: rails)."""

    name: str
    nics: tuple[Nic, ...]


@dataclass(frozen=True, slots=True)
class Switch:
    """An Open vSwitch switch. `tier` counts from the hosts: 0 for a leaf. `mac` is its router address."""

    name: str
    dpid: int
    tier: int
    mac: str
    latency_ps: int
    buffer_bytes: int
    ports: tuple[Port, ...]


@dataclass(frozen=True)
class FabricPlan:
    """The whole fabric. `topology` is the kind it was made by; `ip_version` is 4 or 6: what RoCE runs over."""

    topology: str
    ip_version: int
    hosts: tuple[Host, ...]
    switches: tuple[Switch, ...]
    links: tuple[Link, ...]

    @cached_property
    def link_at(self) -> dict[str, Link]:
        """The link at each port, by the port's name."""
        return {port.name: link for link in self.links for port in (link.a, link.b)}

    @cached_property
    def host_by_name(self) -> dict[str, Host]:
        return {host.name: host for host in self.hosts}

    @cached_property
    def switch_by_name(self) -> dict[str, Switch]:
        return {switch.name: switch for switch in self.switches}

    @cached_property
    def nics(self) -> tuple[Nic, ...]:
        """Every NIC, in the order of the hosts."""
        return tuple(nic for host in self.hosts for nic in host.nics)

    @cached_property
    def nic_by_name(self) -> dict[str, Nic]:
        return {nic.name: nic for nic in self.nics}

    @cached_property
    def nics_of(self) -> dict[str, tuple[Nic, ...]]:
        """The NICs at each switch that has any (a leaf), by the switch's name, in the order of the hosts."""
        leaves: dict[str, list[Nic]] = {}
        for nic in self.nics:
            leaves.setdefault(self.far_end(nic.name).node, []).append(nic)
        return {leaf: tuple(nics) for leaf, nics in leaves.items()}

    def leaf_of(self, nic_name: str) -> Switch:
        """Return the switch at the other end of the NIC's cable."""
        return self.switch_by_name[self.far_end(nic_name).node]

    def prefix_of(self, leaf: str) -> str:
        """Return the prefix that holds all addresses of a leaf and no others (``10.3.0.0/16``, ``fd00:3::/64``), of
        the IP version that RoCE runs over: enough for a route."""
        nic = self.nics_of[leaf][0]
        address = f"{nic.ipv4}/{IPV4_PREFIX_BITS}" if self.ip_version == 4 else f"{nic.ipv6}/{IPV6_PREFIX_BITS}"
        return str(ip_network(address, strict=False))

    def far_end(self, port_name: str) -> Port:
        """Return the port at the other end of the link at `port_name`."""
        link = self.link_at[port_name]
        return link.b if link.a.name == port_name else link.a

    def ports(self) -> Iterator[Port]:
        """Every port of the fabric, link by link."""
        for link in self.links:
            yield link.a
            yield link.b

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON values; `from_json` is its inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "FabricPlan":
        """Rebuild a plan from `as_json`'s value."""

        def port(item: dict[str, Any]) -> Port:
            return Port(**item)

        return cls(
            topology=value["topology"],
            ip_version=value["ip_version"],
            hosts=tuple(Host(h["name"], tuple(Nic(**nic) for nic in h["nics"])) for h in value["hosts"]),
            switches=tuple(Switch(**{**s, "ports": tuple(port(p) for p in s["ports"])}) for s in value["switches"]),
            links=tuple(Link(**{**item, "a": port(item["a"]), "b": port(item["b"])}) for item in value["links"]),
        )
