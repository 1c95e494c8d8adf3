"""``openflow-ecn``: congestion marks by OpenFlow alone, for a switch whose chip marks nothing.

While a port is congested, each route that leads out of it has two copies of higher priority, one for each of the two
ECN-capable codepoints, which also set the packet to "congestion experienced". A packet that is not ECN-capable takes
the route as before: it must not be marked. When the queue has drained, the copies go.

Where a route leads to a group of equal-cost ports, the copies lead to a copy of that group in which only the congested
port's bucket marks. Buckets keep their numbers and the hash its seed, so each flow keeps its path.

                 ip_dst 10.1.0.0/16              -> group 1 {spine0, spine1}
    + congested: ip_dst 10.1.0.0/16, ip_ecn=1    -> group 1001 {spine0 and mark, spine1}
                 ip_dst 10.1.0.0/16, ip_ecn=2    -> group 1001

References: RFC 3168 (codepoints: ECT(1) is 1, ECT(0) is 2, CE is 3).
Known limits: it is all or nothing, so queues swing between `low` and above `high` with the control loop's latency.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from controllers.openflow import Action as OpenFlowInstruction
from controllers.openflow import SwitchRules
from controllers.policy import (
    KB,
    Action,
    Actions,
    AddFlow,
    AddGroup,
    DeleteFlow,
    FlowMod,
    Output,
    Policy,
    Priority,
    SelectGroup,
    SetField,
    Size,
    Telemetry,
    ToGroup,
    sizes_cross,
)
from controllers.rules import routes
from testbed.fabric.plan import FabricPlan

_ECT = (1, 2)
_MARK = SetField("ip_ecn", 3)
_ABOVE_ROUTES = 1000
_COPIED_GROUPS = 1000


@dataclass
class OpenflowEcn(Policy):
    """Marks by OpenFlow: set_field ip_ecn flows while a port is congested, removed after.

    Options:
        priority: the priority whose queue is watched.
        high: a port is congested when its queue went beyond this in an interval.
        low: it no longer is when the queue stayed below this.
    """

    needs_app: ClassVar[str | None] = "l3-ecmp"
    needs_section: ClassVar[str | None] = "fabric.qos"

    priority: Priority = 3
    high: Size = 200 * KB
    low: Size = 50 * KB
    _rules: dict[str, SwitchRules] = field(default_factory=dict, init=False)
    _marking: dict[str, set[int]] = field(default_factory=dict, init=False)

    def check(self) -> str | None:
        return sizes_cross(self, "low", "high")

    def on_start(self, fabric: FabricPlan) -> None:
        self._rules = {rules.switch: rules for rules in routes(fabric)}
        self._marking = {switch: set() for switch in self._rules}

    def on_interval(self, seen: Telemetry) -> Actions:
        for switch, before in self._marking.items():
            now = set(before)
            for port in seen.ports_of(switch):
                watermark = port.queues[self.priority].watermark_bytes
                if watermark > self.high:
                    now.add(port.number)
                elif watermark < self.low:
                    now.discard(port.number)
            if now != before:
                yield from changes(self._rules[switch], before, now)
                self._marking[switch] = now


def changes(rules: SwitchRules, before: set[int], now: set[int]) -> Iterator[Action]:
    """Yield what turns a switch that marks at the ports `before` into one that marks at those of `now`."""
    for group in rules.groups:
        if _ports(group) & now:
            yield AddGroup(rules.switch, _marking_group(group, now))
    for flow in rules.flows:
        leads_to = _leads_to(rules, flow)
        for copy in (marked(flow, ecn, now) for ecn in _ECT):
            if leads_to & now:
                yield AddFlow(rules.switch, copy)
            elif leads_to & before:
                yield DeleteFlow(rules.switch, copy.priority, copy.match)


def marked(flow: FlowMod, ecn: int, ports: set[int]) -> FlowMod:
    """Return the copy of a route for packets with the codepoint `ecn` that marks what leaves by `ports`."""
    actions: list[OpenFlowInstruction] = []
    for action in flow.actions:
        if isinstance(action, Output) and action.port in ports:
            actions += [_MARK, action]
        else:
            actions.append(ToGroup(action.group_id + _COPIED_GROUPS) if isinstance(action, ToGroup) else action)
    return FlowMod(flow.priority + _ABOVE_ROUTES, (*flow.match, ("ip_ecn", ecn)), tuple(actions))


def _marking_group(group: SelectGroup, ports: set[int]) -> SelectGroup:
    buckets = tuple((_MARK, *bucket) if _outputs(bucket) & ports else bucket for bucket in group.buckets)
    return SelectGroup(group.group_id + _COPIED_GROUPS, group.hash_fields, group.hash_seed, buckets)


def _leads_to(rules: SwitchRules, flow: FlowMod) -> set[int]:
    """Return the ports that a route leads out of, directly or by its group."""
    ports = _outputs(flow.actions)
    groups = {action.group_id for action in flow.actions if isinstance(action, ToGroup)}
    return ports.union(*(_ports(group) for group in rules.groups if group.group_id in groups))


def _ports(group: SelectGroup) -> set[int]:
    return {port for bucket in group.buckets for port in _outputs(bucket)}


def _outputs(actions: tuple[OpenFlowInstruction, ...]) -> set[int]:
    return {action.port for action in actions if isinstance(action, Output)}
