"""The modelled fabric: every link, queue and switch of a plan on one clock, with the NICs at its edge.

Conservation is checked here (`conservation`): for every wire sent = delivered + lost + on the wire, for every queue
entered = left + waiting, and for every switch received = queued + dropped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from testbed.engine.credit.control import CreditControl
from testbed.engine.credit.switch import CreditSwitch
from testbed.engine.forwarding import Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.pause.control import FlowControl
from testbed.engine.qos_switch import Classes, QosSwitch
from testbed.engine.switch import Switch, SwitchPort
from testbed.engine.transmitter import Endpoint, Receiver, Source, Transmitter
from testbed.fabric.buffers import largest_frame_bytes, memory_plan
from testbed.fabric.plan import FabricPlan, Port
from testbed.scenario.model import Fault, PauseStorm
from testbed.scenario.qos import QosOptions

DropHandler = Callable[[str, str, Frame], None]


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A place where the count of frames does not add up."""

    where: str
    detail: str


class ModelFabric:
    """Links and switches by the names of the plan.

    `transmitters` are by port name, host interfaces included; `flow_control` (PFC) and `credit_control` are None where
    there is none. `halted` says why the run was stopped with frames still in the fabric, None if it was not.
    `on_drop(where, reason, frame)` is called for every frame that is lost on a wire or dropped by a switch. `qos` gives
    the switches traffic classes; without it a port has one queue. `mtu` (payload of an RDMA packet) sizes headroom,
    quanta and credits; `seed` is that of random marks.
    """

    def __init__(
        self,
        plan: FabricPlan,
        loop: EventLoop,
        forwarders: Mapping[str, Forwarder],
        nics: Mapping[str, Endpoint],
        on_drop: DropHandler,
        qos: QosOptions | None = None,
        *,
        mtu: int = 4096,
        seed: int = 0,
    ) -> None:
        self.plan = plan
        self.qos = qos
        self.loop = loop
        self.transmitters: dict[str, Transmitter] = {}
        self.switches: dict[str, Switch] = {}
        self.ports: dict[str, SwitchPort] = {}
        self.flow_control: FlowControl | None = None
        self.credit_control: CreditControl | None = None
        self.halted: str | None = None
        self._nics = nics
        self._on_drop = on_drop
        self._make_transmitters()
        if qos is not None and qos.credits is not None:
            self.credit_control = CreditControl(plan, loop, qos, qos.credits, self.transmitters, mtu)
            self._nics = self.credit_control.behind(nics)
        self._make_switches(forwarders, mtu, seed)
        self._make_ports()
        self._connect()
        if self.credit_control is not None:
            self.credit_control.watch({name: s for name, s in self.switches.items() if isinstance(s, CreditSwitch)})
        if qos is not None and qos.pfc is not None:
            self.flow_control = FlowControl(
                plan, loop, qos, qos.pfc, self.transmitters, self.qos_switches(), self._on_drop
            )

    def _make_switches(self, forwarders: Mapping[str, Forwarder], mtu: int, seed: int) -> None:
        loop, plan, qos = self.loop, self.plan, self.qos
        if qos is None:
            for each in plan.switches:
                forwarder = forwarders[each.name]
                self.switches[each.name] = Switch(
                    loop, each.name, each.latency_ps, each.buffer_bytes, forwarder, self._on_drop
                )
            return
        classes = Classes(qos, largest_frame_bytes(mtu, plan.ip_version), seed)
        for each in plan.switches:
            memory, forwarder = memory_plan(plan, each, qos, mtu), forwarders[each.name]
            self.switches[each.name] = (
                QosSwitch(loop, each, memory, classes, forwarder, self._on_drop)
                if self.credit_control is None
                else CreditSwitch(loop, each, memory, classes, forwarder, self._on_drop, self.credit_control.ends)
            )

    def qos_switches(self) -> dict[str, QosSwitch]:
        """The switches with traffic classes: all, or none."""
        return {name: switch for name, switch in self.switches.items() if isinstance(switch, QosSwitch)}

    def _make_transmitters(self) -> None:
        for link in self.plan.links:
            for port in (link.a, link.b):
                transmitter = Transmitter(self.loop, port.name, link.rate_bps, link.delay_ps)
                transmitter.on_lost = self._lost_on_wire(port.name)
                self.transmitters[port.name] = transmitter

    def _make_ports(self) -> None:
        for link in self.plan.links:
            for port in (link.a, link.b):
                if port.node in self.switches:
                    transmitter = self.transmitters[port.name]
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
            *(port.dropped for port in self.ports.values()),
            *(switch.dropped for switch in self.switches.values()),
        ]
        for count in counts:
            for reason, frames in count.items():
                total[reason] = total.get(reason, 0) + frames
        return dict(sorted(total.items()))

    def stopped(self, work_left: bool) -> bool:
        """Return whether nothing more will happen, although the loop has events: pauses that are refreshed for ever.

        Ask now and then while the loop runs. `work_left`: whether the workload is not done. If frames are left,
        `halted` says why: a deadlock, port by port, or who pauses whom.
        """
        control = self.flow_control or self.credit_control
        if control is None:
            return False
        reason = control.monitor.stopped(work_left)
        self.halted = reason or None
        return reason is not None

    def wait_for_policy(self, patience_ps: int) -> None:
        """Hold the fabric to be stopped only when nothing has moved for `patience_ps`: a policy may yet act."""
        control = self.flow_control or self.credit_control
        if control is not None:
            control.monitor.patience_ps = max(control.monitor.patience_ps, patience_ps)

    def storm(self, faults: Sequence[Fault]) -> None:
        """Let the NICs of all pause storms among `faults` pause their switches."""
        for fault in faults:
            if isinstance(fault, PauseStorm):
                if self.flow_control is None:
                    raise ValueError("a pause-storm needs flow control: add 'qos: {pfc: {}}' to the fabric")
                self.flow_control.storm(fault)

    # --- the books ----------------------------------------------------------------------------------------------------

    def conservation(self) -> Iterator[Imbalance]:
        """Yield every place where frames appeared or vanished without a reason.

        Call when no event is left, or when the run was `halted`: then frames may be on wires, in pipelines and queues.
        """
        for name, wire in self.transmitters.items():
            if wire.in_flight < 0 or (wire.in_flight and not self.halted):
                yield Imbalance(name, f"{wire.sent_frames} sent, {wire.delivered_frames} delivered, {wire.lost} lost")
        for name, port in self.ports.items():
            yield from self._queue_imbalances(name, port)
        for switch in self.switches.values():
            received, accounted = _switch_balance(switch)
            if accounted > received or (received != accounted and not self.halted):
                yield Imbalance(switch.name, f"{received} frames received, {accounted} queued or dropped")

    def _queue_imbalances(self, name: str, port: SwitchPort) -> Iterator[Imbalance]:
        queue, waiting = port.queue, len(port.queue)
        if queue.entered_frames != queue.left_frames + queue.flushed_frames + waiting or (waiting and not self.halted):
            yield Imbalance(name, f"{queue.entered_frames} entered, {queue.left_frames} left, {waiting} waiting")
        sent = port.transmitter.sent_frames - port.transmitter.sent_control_frames
        if queue.left_frames != sent:
            yield Imbalance(name, f"{queue.left_frames} left the queue, {sent} were sent")

    def accounting(self) -> Iterator[Imbalance]:
        """Yield every switch whose memory is not what its frames hold. Call when `conservation` may be called."""
        for switch in self.qos_switches().values():
            yield from (Imbalance(switch.name, detail) for detail in switch.wrong_accounts(pipeline=bool(self.halted)))
        control = self.flow_control or self.credit_control
        if control is not None and not self.halted:
            yield from (Imbalance(where, detail) for where, detail in control.unbalanced())


def _switch_balance(switch: Switch) -> tuple[int, int]:
    """Return the frames that came into a switch, and those that it has queued or dropped."""
    ports = switch.ports.values()
    received = sum(port.received_frames for port in ports) + switch.emitted_frames
    refused = sum(sum(port.queue.dropped.values()) - port.queue.flushed_frames for port in ports)
    queued = sum(port.queue.entered_frames for port in ports)
    at_arrival = sum(sum(port.dropped.values()) for port in ports)
    return received, queued + refused + at_arrival + sum(switch.dropped.values()) + switch.punted_frames
