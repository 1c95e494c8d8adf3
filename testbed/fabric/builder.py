"""What every topology is built with: it allots datapath ids, port numbers, names and addresses in the order of calls.

    switch(name, tier)         the next dpid
    host(leaf)                 the next host, with all its NICs linked to `leaf`
    link(lower, upper, tier)   the next port of both switches

So a topology is a short function that reads like its drawing. Names: a port is ``<node>-eth<number>``, a link
``<lower>-<upper>``; where two nodes have several links, the second is ``h0-leaf0-1``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from testbed.fabric.addresses import nic_ipv4, nic_ipv6, nic_mac, switch_mac
from testbed.fabric.plan import FabricPlan, Host, Link, Nic, Port, Switch
from testbed.scenario.model import FabricOptions, TierLink


@dataclass
class _SwitchDraft:
    """A switch whose ports are still being added. `leaf` counts the switches of tier 0, `hosts` those on it."""

    name: str
    dpid: int
    tier: int
    leaf: int
    hosts: int = 0
    ports: list[Port] = field(default_factory=list)


class FabricBuilder:
    """Collects switches, hosts and links; `plan` freezes them. `options` give what all links and switches share."""

    def __init__(self, options: FabricOptions) -> None:
        self._options = options
        self._switches: dict[str, _SwitchDraft] = {}
        self._hosts: list[Host] = []
        self._links: list[Link] = []
        self._parallel: Counter[str] = Counter()
        self._in_tier: dict[int, int] = defaultdict(int)

    def switch(self, name: str, *, tier: int) -> str:
        """Add a switch; tier 0 has the hosts. Returns its name, which is how `host` and `link` call it."""
        if name in self._switches:
            raise ValueError(f"two switches are named {name}")
        self._switches[name] = _SwitchDraft(name, len(self._switches) + 1, tier, leaf=self._in_tier[tier])
        self._in_tier[tier] += 1
        return name

    def host(self, leaf: str) -> str:
        """Add the next host (``h0``, ``h1``, ...), each of its NICs linked to the switch `leaf`. Returns its name."""
        number, name = len(self._hosts), f"h{len(self._hosts)}"
        nics = tuple(self._nic(number, index, leaf) for index in range(self._options.nics_per_host))
        self._switches[leaf].hosts += 1
        self._hosts.append(Host(name, nics))
        return name

    def link(self, lower: str, upper: str, tier: TierLink) -> None:
        """Add a cable between two switches; what `tier` leaves open is as in ``fabric.link``."""
        common = self._options.link
        self._cable(
            self._next_port(lower),
            self._next_port(upper),
            common.rate if tier.rate is None else tier.rate,
            common.delay if tier.delay is None else tier.delay,
        )

    def plan(self) -> FabricPlan:
        """Return the finished plan."""
        return FabricPlan(
            topology=self._options.topology.kind,
            ip_version=4 if self._options.ip == "ipv4" else 6,
            hosts=tuple(self._hosts),
            switches=tuple(self._finished(draft) for draft in self._switches.values()),
            links=tuple(self._links),
        )

    def _nic(self, host: int, index: int, leaf: str) -> Nic:
        draft = self._switches[leaf]
        port = Port(f"h{host}", index, f"h{host}-eth{index}")
        self._cable(port, self._next_port(leaf), self._options.link.rate, self._options.link.delay)
        return Nic(
            name=port.name,
            host=port.node,
            index=index,
            mac=nic_mac(host, index),
            ipv4=nic_ipv4(draft.leaf, draft.hosts, index),
            ipv6=nic_ipv6(draft.leaf, draft.hosts, index),
            gateway_mac=switch_mac(draft.dpid) if self._options.addressing == "routed" else "",
        )

    def _next_port(self, switch: str) -> Port:
        draft = self._switches[switch]
        number = len(draft.ports) + 1
        draft.ports.append(Port(switch, number, f"{switch}-eth{number}"))
        return draft.ports[-1]

    def _cable(self, a: Port, b: Port, rate_bps: int, delay_ps: int) -> None:
        ends = f"{a.node}-{b.node}"
        before = self._parallel[ends]
        self._parallel[ends] += 1
        self._links.append(Link(f"{ends}-{before}" if before else ends, a, b, rate_bps, delay_ps))

    def _finished(self, draft: _SwitchDraft) -> Switch:
        return Switch(
            name=draft.name,
            dpid=draft.dpid,
            tier=draft.tier,
            mac=switch_mac(draft.dpid),
            latency_ps=self._options.switch.latency,
            buffer_bytes=self._options.switch.buffer,
            ports=tuple(draft.ports),
        )
