"""What a policy sees: one snapshot of every switch port, taken at the end of a control interval, in model time.

Counts and bytes are those of the interval alone; what is called "now" is a level. Names are those of practitioners'
streaming telemetry: watermark, marks, drops by reason, pauses received and sent.

The snapshot crosses from the engine to the controller's process as JSON; `as_json` and `from_json` are inverse.
Queues in which nothing happened are left out on the way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

PRIORITIES = 8


@dataclass(frozen=True, slots=True)
class QueueTelemetry:
    """One priority of one port in one interval.

    Attributes:
        queue_bytes: waiting to leave, now. watermark_bytes: the most that waited in the interval.
        ingress_bytes: what arrived here and is still in the switch, now.
        sent_bytes: left by this queue. ecn_marked_packets: marked in it. dropped_packets: refused by it or on arrival.
        rx_pause_frames, tx_pause_frames: XOFF and XON, from and to the neighbour.
        rx_pause_ps: how long the neighbour kept this priority from being sent. tx_pause_ps: how long the neighbour was
            kept from sending it.
        lossless: whether flow control protects it, now. kmin_bytes, kmax_bytes, pmax: its ECN ramp, now; None: none.
        ingress_alpha: the factor of its ingress threshold, now; None where flow control never protects it.
    """

    priority: int
    queue_bytes: int = 0
    watermark_bytes: int = 0
    ingress_bytes: int = 0
    sent_bytes: int = 0
    ecn_marked_packets: int = 0
    dropped_packets: int = 0
    rx_pause_frames: int = 0
    tx_pause_frames: int = 0
    rx_pause_ps: int = 0
    tx_pause_ps: int = 0
    lossless: bool = False
    kmin_bytes: int | None = None
    kmax_bytes: int | None = None
    pmax: float | None = None
    ingress_alpha: float | None = None


_QUEUE_FIELDS = tuple(item.name for item in fields(QueueTelemetry))


@dataclass(frozen=True, slots=True)
class FlowTelemetry:
    """One flow that left by a port in the interval: addresses, UDP source port, bytes."""

    source_ip: str
    destination_ip: str
    udp_source_port: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class PortTelemetry:
    """One port of a switch in one interval. `peer` is the node at the other end; `queues` has all 8 priorities.

    `sent_bytes` and `received_bytes` count what the wire carried, preambles and gaps included; `utilisation` is the
    share sent of what it could carry, 0 to 1. `dropped` are frames by reason. `flows` is filled for a policy that
    `sees_flows`, largest first.
    """

    name: str
    switch: str
    number: int
    peer: str
    rate_bps: int
    sent_bytes: int
    received_bytes: int
    utilisation: float
    dropped: Mapping[str, int]
    queues: tuple[QueueTelemetry, ...]
    flows: tuple[FlowTelemetry, ...] = ()

    def as_json(self) -> list[Any]:
        """Return the port as a list of its fields; queues in which nothing happened are left out."""
        queues = [[getattr(queue, name) for name in _QUEUE_FIELDS] for queue in self.queues if queue != _idle(queue)]
        flows = [[flow.source_ip, flow.destination_ip, flow.udp_source_port, flow.sent_bytes] for flow in self.flows]
        head = [self.name, self.switch, self.number, self.peer, self.rate_bps]
        return [*head, self.sent_bytes, self.received_bytes, self.utilisation, dict(self.dropped), queues, flows]

    @classmethod
    def from_json(cls, value: list[Any]) -> "PortTelemetry":
        """Rebuild a port from `as_json`'s value."""
        name, switch, number, peer, rate_bps, sent, received, utilisation, dropped, rows, flow_rows = value
        given = {row[0]: QueueTelemetry(*row) for row in rows}
        queues = tuple(given.get(priority, _IDLE[priority]) for priority in range(PRIORITIES))
        flows = tuple(FlowTelemetry(*row) for row in flow_rows)
        return cls(name, switch, number, peer, rate_bps, sent, received, utilisation, dropped, queues, flows)


_IDLE = tuple(QueueTelemetry(priority) for priority in range(PRIORITIES))


def _idle(queue: QueueTelemetry) -> QueueTelemetry:
    return _IDLE[queue.priority]


@dataclass(frozen=True)
class Telemetry:
    """All ports of all switches at the model time `time_ps`, the end of an interval of `interval_ps`."""

    time_ps: int
    interval_ps: int
    ports: tuple[PortTelemetry, ...] = field(default=())

    @cached_property
    def _by_name(self) -> dict[str, PortTelemetry]:
        return {port.name: port for port in self.ports}

    def port(self, name: str) -> PortTelemetry:
        """Return the port called `name`. Raises KeyError."""
        return self._by_name[name]

    def ports_of(self, switch: str) -> Iterator[PortTelemetry]:
        """Yield the ports of one switch."""
        return (port for port in self.ports if port.switch == switch)

    def as_json(self) -> list[Any]:
        """Return the snapshot as JSON values."""
        return [self.time_ps, self.interval_ps, [port.as_json() for port in self.ports]]

    @classmethod
    def from_json(cls, value: list[Any]) -> "Telemetry":
        """Rebuild a snapshot from `as_json`'s value."""
        time_ps, interval_ps, ports = value
        return cls(time_ps, interval_ps, tuple(PortTelemetry.from_json(port) for port in ports))
