"""``adaptive-ecn``: thresholds that follow the load of each port.

Marks should come early enough that queues stay short, and late enough that the link never runs dry. So after each
interval, port by port:

    the queue went beyond kmax                       mark earlier: halve the thresholds (not below `floor`)
    there were marks, and the link was not `busy`    mark later: raise them by a quarter (not above `ceiling`)
    anything else                                    leave them

Halving fast and raising slowly is what keeps it from swinging. kmax keeps its ratio to kmin.

Known limits: it sees the interval's watermark, not how long the queue stood there.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from controllers.policy import (
    KB,
    MB,
    Actions,
    Policy,
    PortTelemetry,
    Priority,
    SetEcn,
    Share,
    Size,
    Telemetry,
    sizes_cross,
)
from testbed.fabric.plan import FabricPlan


@dataclass
class AdaptiveEcn(Policy):
    """Moves each port's ECN thresholds with its queue and its utilisation.

    Options:
        priority: the priority whose queues mark.
        kmin: where marking starts at first.
        kmax: where every packet is marked at first.
        pmax: the probability of a mark just below kmax.
        floor: kmin is never set below this.
        ceiling: kmin is never set above this.
        busy: a link is busy from this utilisation on.
    """

    needs_section: ClassVar[str | None] = "fabric.qos"

    priority: Priority = 3
    kmin: Size = 100 * KB
    kmax: Size = 400 * KB
    pmax: Share = 0.2
    floor: Size = 20 * KB
    ceiling: Size = 1 * MB
    busy: Share = 0.95
    _kmin_of: dict[str, int] = field(default_factory=dict, init=False)

    def check(self) -> str | None:
        for name in ("kmin", "floor"):
            if not getattr(self, name):
                return f"expected {name} above 0B: the thresholds are scaled, and 0B stays 0B"
        return sizes_cross(self, "kmin", "kmax") or sizes_cross(self, "floor", "ceiling")

    def on_start(self, fabric: FabricPlan) -> Actions:
        for switch in fabric.switches:
            for port in switch.ports:
                yield self._set(port.name, self.kmin)

    def on_interval(self, seen: Telemetry) -> Actions:
        for port in seen.ports:
            kmin = self._kmin_of[port.name]
            better = min(max(self._better(port, kmin), self.floor), self.ceiling)
            if better != kmin:
                yield self._set(port.name, better)

    def _better(self, port: PortTelemetry, kmin: int) -> int:
        queue = port.queues[self.priority]
        if queue.watermark_bytes > self._kmax(kmin):
            return kmin // 2
        if queue.ecn_marked_packets and port.utilisation < self.busy:
            return kmin * 5 // 4
        return kmin

    def _kmax(self, kmin: int) -> int:
        return kmin * self.kmax // self.kmin

    def _set(self, port: str, kmin: int) -> SetEcn:
        self._kmin_of[port] = kmin
        return SetEcn(port, self.priority, kmin, self._kmax(kmin), self.pmax)
