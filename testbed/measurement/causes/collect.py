"""Collects, while the model runs, what delayed each message: it walks back (`walk`) at the moment of its arrival.

So the log of hops needs to hold no more than what unfinished messages can lead to; the rest is forgotten whenever it
has doubled.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from testbed.engine.fabric import ModelFabric
from testbed.engine.frame import Frame
from testbed.engine.holds import Holds
from testbed.engine.hops import MASK, HopLog
from testbed.engine.qos_switch import QosPort
from testbed.fabric.plan import Port
from testbed.measurement.causes.model import Unexplained
from testbed.measurement.causes.walk import CREDIT, PAUSED, Found, Stretch, Walker, Wire
from testbed.units import serialisation_ps
from traffic.nic import Nic
from traffic.nic.queue_pair import Owner
from traffic.nic.transit import Posted, SenderLog, TransitLog

_LEAST_RECORDS = 1 << 16
"""Fewer records than this are not worth forgetting."""
_LOOK_EVERY = 64
"""Arrivals between two looks at how many records there are."""
_LARGEST_FRAME_BYTES = 10_000

Key = tuple[str, int, int]
"""A message: the sender's interface, its queue pair, and the sequence of its first packet."""


@dataclass(frozen=True, slots=True)
class Transit:
    """A message's way: posted to its queue pair, arrived, and what delayed it."""

    posted_ps: int
    arrived_ps: int
    stretches: tuple[Stretch, ...]


class Flow(NamedTuple):
    """A flow: the name of who owns its queue pairs, its sender's interface, its destination's address."""

    owner: str
    nic: str
    address: str


class _Flows(dict[int, int]):
    """The number of each sender's flow: queue pairs of one owner between the same hosts are one. Numbered as they
    come."""

    def __init__(self, log: TransitLog) -> None:
        super().__init__()
        self._log = log
        self.flows: list[Flow] = []
        self._numbers: dict[tuple[Owner | None, str, str], int] = {}

    def __missing__(self, sender: int) -> int:
        qp = self._log.senders[sender].qp
        key = (qp.owner, qp.nic.name, qp.peer.ip if qp.peer is not None else "")
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.flows)
            self.flows.append(Flow(qp.owner.name if qp.owner is not None else "", *key[1:]))
        self[sender] = number
        return number


class TransitCollector:
    """Listens to `log`, whose hops come from the wires of `fabric` once `attach` was called.

    Attributes:
        transits: by message. marks: by sender, how many of its packets were marked at which port.
        failed: why nothing is collected any more; None as long as all is well.
    """

    def __init__(self, log: TransitLog) -> None:
        self.log = log
        self.transits: dict[Key, Transit] = {}
        self.marks: dict[int, Counter[str]] = {}
        self.wires: list[Wire] = []
        self.failed: Unexplained | None = None
        self._flows = _Flows(log)
        self._forget_at = _LEAST_RECORDS
        self._arrivals = 0
        self.margin_ps = 0
        """The longest that a frame takes over a wire and through a switch."""

    @classmethod
    def watching(cls, nics: Iterable[Nic], fabric: ModelFabric) -> "TransitCollector":
        """Return one that hears of all that is sent over `fabric` by queue pairs that `nics` make from now on."""
        collector = cls(TransitLog(HopLog()))
        for nic in nics:
            nic.transits = collector.log
        collector.attach(fabric)
        return collector

    def attach(self, fabric: ModelFabric) -> None:
        """Keep a record of every frame on every wire, and of every mark, from now on."""
        log_hops(fabric, self.log.hops)
        self.wires = wires_of(fabric)
        self.margin_ps = max(_crossing_ps(wire) for wire in self.wires)
        self._walker = Walker(self.log, self.wires, self._flows)
        self.log.on_arrival = self._arrived
        for port in fabric.ports.values():
            if isinstance(port, QosPort):
                listener = _Marks(self, port.name)
                for queue in port.scheduler.queues:
                    queue.on_marked = listener.on_marked

    def flow(self, number: int) -> Flow:
        """Return what is known of a flow by its number."""
        return self._flows.flows[number]

    def first_sent_ps(self, recovery: Found) -> int:
        """Return when the packet that was sent again had been sent before."""
        return self._walker.first_sent[recovery]

    def paused(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return from when to when each port was paused, by its name; ports that never were are left out."""
        pauses = {
            wire.port: wire.holds.spans() for wire in self.wires if wire.held_by == PAUSED and wire.holds is not None
        }
        return {port: spans for port, spans in pauses.items() if spans}

    def _arrived(self, sender: SenderLog, message: Posted, now: int, hop: int) -> None:
        if self.failed is None:
            try:
                stretches = self._walker.walk(sender, message, hop)
            except Exception as error:  # the run goes on: it is worth more than what explains it
                self.failed = Unexplained.by(error)
                self.transits.clear()
            else:
                self.transits[_key(sender, message)] = Transit(message.time_ps, now, stretches)
        self._arrivals += 1
        if self._arrivals % _LOOK_EVERY == 0 and len(self.log.hops) > self._forget_at:
            self._forget(now)

    def _forget(self, now: int) -> None:
        oldest = min((message.time_ps for _, message in self.log.oldest_unfinished()), default=now)
        self.log.hops.forget_before(oldest - self.margin_ps)
        for wire in self.wires:
            if wire.held_by == CREDIT and wire.holds is not None:  # pauses are few, and looked at again in the end
                wire.holds.forget_before(oldest - self.margin_ps)
        self._forget_at = max(_LEAST_RECORDS, 2 * len(self.log.hops))

    def marked(self, port: str, frame: Frame) -> None:
        """`frame` was marked at `port`."""
        source = self.log.hops.source(frame.hop)
        if source < 0:
            self.marks.setdefault(-source & MASK, Counter())[port] += 1


class _Marks:
    """Hears of the marks of one port."""

    def __init__(self, collector: TransitCollector, port: str) -> None:
        self._collector = collector
        self._port = port

    def on_marked(self, frame: Frame) -> None:
        self._collector.marked(self._port, frame)


def log_hops(fabric: ModelFabric, hops: HopLog) -> None:
    """Let every wire of `fabric` keep its records in `hops`."""
    for wire in fabric.transmitters.values():
        wire.log_hops(hops.add_wire(wire.name))


def wires_of(fabric: ModelFabric) -> list[Wire]:
    """Return what a walk must know of each wire, in the order in which `log_hops` numbers them."""
    latencies = {name: fabric.switches[port.node].latency_ps for name, port in _switch_ports(fabric)}
    held_by = PAUSED if fabric.credit_control is None else CREDIT
    return [
        Wire(name, wire.rate_bps, wire.delay_ps, latencies.get(name, 0), _holds(fabric, name), held_by)
        for name, wire in fabric.transmitters.items()
    ]


def _holds(fabric: ModelFabric, port: str) -> Holds | None:
    """Let `port` keep when it is held from now on, and return that; None without flow control."""
    if fabric.flow_control is not None:
        found = fabric.flow_control.receivers[port].holds = Holds()
        return found
    if fabric.credit_control is not None:
        found = fabric.credit_control.ends[port].sending.holds = Holds()
        return found
    return None


def _switch_ports(fabric: ModelFabric) -> Iterator[tuple[str, Port]]:
    for link in fabric.plan.links:
        for port in (link.a, link.b):
            if port.node in fabric.switches:
                yield port.name, port


def _crossing_ps(wire: Wire) -> int:
    return serialisation_ps(_LARGEST_FRAME_BYTES, wire.rate_bps) + wire.delay_ps + wire.latency_ps


def _key(sender: SenderLog, message: Posted) -> Key:
    return sender.qp.nic.name, sender.qp.number, message.first
