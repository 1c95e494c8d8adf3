"""``openflow-pause``: flow control by the controller: packet-outs of real PFC frames.

When an egress queue of a switch has grown beyond `xoff`, the ports by which its traffic comes in are told to hold: the
controller has the switch send a PFC frame out of each. They are told again every interval while the queue is long, and
released (pause time 0) when all queues of the switch are below `xon`.

Which ports contribute is read off the ingress accounting: those that hold at least `share` of what all ports of the
switch have taken in and not passed on.

Known limits: the pause comes a control interval and a latency late, so the buffer must hold what arrives till then; the
hardware's own PFC reacts within a microsecond. Set its thresholds high (``fabric.qos.ingress_alpha``) to see this one
alone.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from controllers.policy import (
    KB,
    Action,
    Actions,
    Policy,
    PortTelemetry,
    Priority,
    Range,
    SendPause,
    Share,
    Size,
    Telemetry,
    sizes_cross,
)


@dataclass
class OpenflowPause(Policy):
    """Pauses the contributing upstream ports by packet-outs of real PFC frames.

    Options:
        priority: the priority that is paused.
        xoff: a queue beyond this pauses its contributors.
        xon: when all queues of the switch are below this, they are released.
        quanta: the pause time asked for, in quanta of 512 bit times.
        share: a port contributes when it holds this share of the switch's ingress bytes.
    """

    needs_section: ClassVar[str | None] = "fabric.qos.pfc"

    priority: Priority = 3
    xoff: Size = 500 * KB
    xon: Size = 100 * KB
    quanta: Annotated[int, Range(1, 0xFFFF)] = 0xFFFF
    share: Share = 0.05
    _paused: dict[str, set[str]] = field(default_factory=dict, init=False)

    def check(self) -> str | None:
        return sizes_cross(self, "xon", "xoff")

    def on_interval(self, seen: Telemetry) -> Actions:
        for switch in dict.fromkeys(port.switch for port in seen.ports):
            ports = list(seen.ports_of(switch))
            longest = max(port.queues[self.priority].queue_bytes for port in ports)
            paused = self._paused.setdefault(switch, set())
            if longest > self.xoff:
                yield from self._pause(ports, paused)
            elif longest < self.xon:
                yield from (SendPause(name, self.priority, 0) for name in sorted(paused))
                paused.clear()

    def _pause(self, ports: list[PortTelemetry], paused: set[str]) -> list[Action]:
        held = {port.name: port.queues[self.priority].ingress_bytes for port in ports}
        least = max(self.share * sum(held.values()), 1)
        paused.update(name for name, held_bytes in held.items() if held_bytes >= least)
        return [SendPause(name, self.priority, self.quanta) for name in sorted(paused)]
