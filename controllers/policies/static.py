"""``static``: what most fabrics run: one pair of marking thresholds, set once.

References: the defaults are those of 100 Gb/s in HPCC's ns-3 configuration (Kmin 400 KB, Kmax 1600 KB, Pmax 0.2).
"""

from dataclasses import dataclass
from typing import ClassVar

from controllers.policy import KB, Actions, Policy, Priority, SetEcn, Share, Size, sizes_cross
from testbed.fabric.plan import FabricPlan


@dataclass
class Static(Policy):
    """Sets the ECN thresholds of every switch port once and leaves them.

    Options:
        priority: the priority whose queues mark.
        kmin: no packet is marked below this queue length.
        kmax: every packet is marked above this one.
        pmax: the probability of a mark just below kmax.
    """

    needs_section: ClassVar[str | None] = "fabric.qos"

    priority: Priority = 3
    kmin: Size = 400 * KB
    kmax: Size = 1600 * KB
    pmax: Share = 0.2

    def check(self) -> str | None:
        return sizes_cross(self, "kmin", "kmax")

    def on_start(self, fabric: FabricPlan) -> Actions:
        for switch in fabric.switches:
            for port in switch.ports:
                yield SetEcn(port.name, self.priority, self.kmin, self.kmax, self.pmax)
