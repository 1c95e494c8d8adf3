"""The modelled fabric: every link, queue and switch of a plan on one clock, with the NICs at its edge.

Conservation is checked here (`conservation`): for every wire sent = delivered + lost + on the wire, for every queue
entered = left + waiting, and for every switch received = queued + dropped.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from testbed.engine.forwarding import Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.switch import Switch, SwitchPort
from testbed.engine.transmitter import Receiver, Source, Transmitter
from testbed.fabric.plan import FabricPlan, Port

DropHandler = Callable[[str, str, Frame], None]


class Endpoint(Source, Receiver, Protocol):
    """A NIC as the engine sees it: a source of frames and a receiver of frames."""

    def attach(self, transmitter: Transmitter) -> None:
        """Tell the NIC whom to kick when it has something to send."""


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A place where the count of frames does not add up."""

    where: str
    detail: str


class ModelFabric:
    """Links and switches by the names of the plan.

    `transmitters` are by port name, host interfaces included; `on_drop(where, reason, frame)` is called for every frame
    that is lost on a wire or dropped by a switch.
    """

    def __init__(
        self,
        plan: FabricPlan,
        loop: EventLoop,
        forwarders: Mapping[str, Forwarder],
        nics: Mapping[str, Endpoint],
        on_drop: DropHandler,
    ) -> None:
        self.plan = plan
        self.loop = loop
        self.transmitters: dict[str, Transmitter] = {}
        self.switches = {
            switch.name: Switch(
                loop, switch.name, switch.latency_ps, switch.buffer_bytes, forwarders[switch.name], on_drop
            )
            for switch in plan.switches
        }
        self.ports: dict[str, SwitchPort] = {}
        self._nics = nics
        self._on_drop = on_drop
        self._make_ports()
        self._connect()

    def _make_ports(self) -> None:
        for link in self.plan.links:
            for port in (link.a, link.b):
                transmitter = Transmitter(self.loop, port.name, link.rate_bps, link.delay_ps)
                transmitter.on_lost = self._lost_on_wire(port.name)
                self.transmitters[port.name] = transmitter
                if port.node in self.switches:
                    self.ports[port.name] = self.switches[port.node].add_port(port.number, transmitter)

    def _lost_on_wire(self, where: str) -> Callable[[str, Frame], None]:
        def lost(reason: str, frame: Frame) -> None:
            self._on_drop(where, reason, frame)

        return lost

    def _connect(self) -> None:
        for link in self.plan.links:
            for near, far in ((link.a, link.b), (link.b, link.a)):
                transmitter = self.transmitters[near.name]
                transmitter.connect(self._source(near), self._receiver(far))
                if near.name in self._nics:
                    self._nics[near.name].attach(transmitter)

    def _source(self, port: Port) -> Source:
        return self.ports[port.name].queue if port.name in self.ports else self._nics[port.name]

    def _receiver(self, port: Port) -> Receiver:
        return self.ports[port.name] if port.name in self.ports else self._nics[port.name]

    @property
    def data_hops(self) -> int:
        """Packet-hops so far: data packets times the links each has crossed."""
        return sum(transmitter.data_hops for transmitter in self.transmitters.values())

    def drops_by_reason(self) -> dict[str, int]:
        """Frames dropped or lost so far, by reason, in the order of the reasons' names."""
        total: dict[str, int] = {}
        counts = [
            *(transmitter.lost for transmitter in self.transmitters.values()),
            *(port.queue.dropped for port in self.ports.values()),
            *(switch.dropped for switch in self.switches.values()),
        ]
        for count in counts:
            for reason, frames in count.items():
                total[reason] = total.get(reason, 0) + frames
        return dict(sorted(total.items()))

    def conservation(self) -> Iterator[Imbalance]:
        """Yield every place where frames appeared or vanished without a reason. Call when no event is left."""
        for name, wire in self.transmitters.items():
            if wire.in_flight != 0:
                yield Imbalance(name, f"{wire.sent_frames} sent, {wire.delivered_frames} delivered, {wire.lost} lost")
        for name, port in self.ports.items():
            queue = port.queue
            if queue.entered_frames != queue.left_frames + len(queue) or len(queue):
                yield Imbalance(name, f"{queue.entered_frames} entered, {queue.left_frames} left, {len(queue)} waiting")
            if queue.left_frames != port.transmitter.sent_frames:
                yield Imbalance(name, f"{queue.left_frames} left the queue, {port.transmitter.sent_frames} were sent")
        for switch in self.switches.values():
            received, accounted = _switch_balance(switch)
            if received != accounted:
                yield Imbalance(switch.name, f"{received} frames received, {accounted} queued or dropped")


def _switch_balance(switch: Switch) -> tuple[int, int]:
    received = sum(port.received_frames for port in switch.ports.values())
    queued = sum(port.queue.entered_frames + sum(port.queue.dropped.values()) for port in switch.ports.values())
    return received, queued + sum(switch.dropped.values())
