"""``reroute``: moves flows off a hot uplink, one at a time, by rules of their own.

Equal-cost paths are chosen by a hash, so two large flows may share an uplink while another is idle. After each
interval, for each switch and each of its groups of equal-cost ports: when the busiest port is `hot` and the least busy
at least `gap` below it, the largest flow on the hot one that the cool one has room for moves there. Its rule matches
addresses and the UDP source port, which is what tells RoCE flows of one pair of hosts apart.

A moved flow may overtake itself, since packets on the old path still wait in its queue; go-back-N takes the gap for a
loss. So a flow that was moved stays for `hold` intervals.

References: Meta's traffic engineering (SIGCOMM 2024) and FBOSS's TeFlow do the same for (source port, destination).
Known limits: it knows a switch's own ports only; a path may be cool here and hot further on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import ClassVar

from controllers.openflow import Action as OpenFlowInstruction
from controllers.openflow import SwitchRules
from controllers.policy import (
    Action,
    Actions,
    AddFlow,
    DecrementTtl,
    FlowMod,
    FlowTelemetry,
    Output,
    Policy,
    PortTelemetry,
    SetField,
    Share,
    Telemetry,
)
from controllers.rules import routes
from testbed.fabric.plan import FabricPlan
from testbed.units import SECOND

_PRIORITY = 3000
_UDP = 17


@dataclass
class Reroute(Policy):
    """Moves the largest fitting flow off a hot uplink to the coolest equal-cost one.

    Options:
        hot: an uplink is hot from this utilisation on.
        gap: the coolest uplink must be this much below the hot one.
        hold: a moved flow stays for so many intervals.
    """

    needs_app: ClassVar[str | None] = "l3-ecmp"
    sees_flows: ClassVar[bool] = True

    hot: Share = 0.9
    gap: Share = 0.3
    hold: int = 20
    _rules: dict[str, SwitchRules] = field(default_factory=dict, init=False)
    _macs: dict[str, str] = field(default_factory=dict, init=False)
    _held: dict[tuple[str, str, str, int], int] = field(default_factory=dict, init=False)

    def on_start(self, fabric: FabricPlan) -> None:
        self._rules = {rules.switch: rules for rules in routes(fabric)}
        self._macs = {switch.name: switch.mac for switch in fabric.switches}

    def on_interval(self, seen: Telemetry) -> Actions:
        self._held = {flow: left - 1 for flow, left in self._held.items() if left > 1}
        for rules in self._rules.values():
            for group in rules.groups:
                hops = {_port_of(bucket): bucket for bucket in group.buckets}
                ports = [port for port in seen.ports_of(rules.switch) if port.number in hops]
                if ports:
                    yield from self._move(rules.switch, ports, hops, seen.interval_ps)

    def _move(
        self,
        switch: str,
        ports: list[PortTelemetry],
        hops: dict[int, tuple[OpenFlowInstruction, ...]],
        interval_ps: int,
    ) -> Iterator[Action]:
        busiest = max(ports, key=lambda port: port.utilisation)
        coolest = min(ports, key=lambda port: port.utilisation)
        if busiest.utilisation < self.hot or busiest.utilisation - coolest.utilisation < self.gap:
            return
        room_bytes = coolest.rate_bps * interval_ps // (8 * SECOND) - coolest.sent_bytes
        for flow in busiest.flows if len(busiest.flows) > 1 else ():
            key = (switch, flow.source_ip, flow.destination_ip, flow.udp_source_port)
            if flow.sent_bytes <= room_bytes and key not in self._held:
                self._held[key] = self.hold
                yield AddFlow(switch, flow_rule(flow, self._macs[switch], hops[coolest.number]))
                return


def flow_rule(flow: FlowTelemetry, source_mac: str, hop: tuple[OpenFlowInstruction, ...]) -> FlowMod:
    """Return the rule that sends one flow to a next hop; it stands above all routes."""
    family = ip_address(flow.destination_ip).version
    eth_type, name = (0x0800, "ipv4") if family == 4 else (0x86DD, "ipv6")
    return FlowMod(
        priority=_PRIORITY,
        match=(
            ("eth_type", eth_type),
            (f"{name}_src", flow.source_ip),
            (f"{name}_dst", flow.destination_ip),
            ("ip_proto", _UDP),
            ("udp_src", flow.udp_source_port),
        ),
        actions=(SetField("eth_src", source_mac), DecrementTtl(), *hop),
    )


def _port_of(bucket: tuple[OpenFlowInstruction, ...]) -> int:
    return next(action.port for action in bucket if isinstance(action, Output))
