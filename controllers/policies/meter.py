"""``meter``: polices what hosts send while the fabric is congested.

While some egress queue of a switch is longer than `high`, every host port of that switch that sends faster than `rate`
has a meter: a token bucket of `rate` and `burst`. What exceeds it gets another DSCP (`remark`), and with it another
traffic class; or, with ``remark: null``, is dropped. The meters go when all queues of the switch stayed below `low`.

The meter is OpenFlow's (1.3, 5.7: band types "drop" and "DSCP remark"). Open vSwitch's own meters run on wall time, so
on the model clock the engine is the meter: it stands in front of the switch's first table and works in model time
(docs/policies.md, Meters).
"""

from dataclasses import dataclass, field
from typing import ClassVar

from controllers.policy import (
    GBPS,
    KB,
    Action,
    Actions,
    Dscp,
    Policy,
    PortTelemetry,
    Priority,
    Rate,
    SetMeter,
    Size,
    Telemetry,
    sizes_cross,
)
from testbed.fabric.plan import FabricPlan
from testbed.units import SECOND


@dataclass
class Meter(Policy):
    """Polices fast senders with a meter while their switch is congested: DSCP remark or drop.

    Options:
        priority: the priority whose queues are watched.
        dscp: what is metered; null meters everything.
        rate: what a host may send on.
        burst: the depth of the bucket.
        remark: the DSCP of what exceeds it; null drops it.
        high: a switch is congested when a queue went beyond this in an interval.
        low: it no longer is when all queues stayed below this.
    """

    needs_section: ClassVar[str | None] = "fabric.qos"
    sets_meters: ClassVar[bool] = True

    priority: Priority = 3
    dscp: Dscp | None = 26
    rate: Rate = 25 * GBPS
    burst: Size = 64 * KB
    remark: Dscp | None = 0
    high: Size = 500 * KB
    low: Size = 50 * KB
    _hosts: set[str] = field(default_factory=set, init=False)
    _metered: dict[str, set[str]] = field(default_factory=dict, init=False)

    def check(self) -> str | None:
        return sizes_cross(self, "low", "high")

    def on_start(self, fabric: FabricPlan) -> None:
        self._hosts = {host.name for host in fabric.hosts}

    def on_interval(self, seen: Telemetry) -> Actions:
        for switch in dict.fromkeys(port.switch for port in seen.ports):
            ports = list(seen.ports_of(switch))
            longest = max(port.queues[self.priority].watermark_bytes for port in ports)
            metered = self._metered.setdefault(switch, set())
            if longest > self.high:
                yield from self._meter(ports, metered, seen.interval_ps)
            elif longest < self.low:
                yield from (SetMeter(name, self.dscp, None) for name in sorted(metered))
                metered.clear()

    def _meter(self, ports: list[PortTelemetry], metered: set[str], interval_ps: int) -> list[Action]:
        allowed_bytes = self.rate * interval_ps // (8 * SECOND)
        fast = [port.name for port in ports if port.peer in self._hosts and port.received_bytes > allowed_bytes]
        new = [name for name in fast if name not in metered]
        metered.update(new)
        return [SetMeter(name, self.dscp, self.rate, self.burst, self.remark) for name in new]
