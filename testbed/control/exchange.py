"""Frames that a switch sends up to the controller, and how they come back: in model time.

A frame that finished arriving at *t* is decided on at *t + switch latency*. If the switch punts it, it comes back one
control latency later, out of whatever ports the application then sends it to:

    t                       t + switch latency              + control latency
    |-- in the pipeline ----|-- with the controller --------|-- egress queue(s), and new rules in force

So frames that arrive meanwhile meet the old rules, as they do behind a real controller; they may be punted too, and the
first to find the new rules may overtake them.

At the time of return, an exchange:

1. every frame that was submitted so far gets its answer: no switch holds any;
2. the controller lets its applications have the packet-ins that are due, in the model's order, and answers when they
   are idle and every switch has confirmed what it was told (`controllers.exchange`);
3. Open vSwitch forgets what it has cached of the old rules;
4. what the switches have put out enters their egress queues, in the order of switches and ports.

Packet-ins are held in the controller until then, so all that the machine's speed decides is how long a step takes.

A frame that the application sends through a switch's table, and that the table sends up again, comes back one more
control latency later. A punted frame that no switch puts out in its exchange is dropped (`controller`). If an
application has kept it and sends it later, it counts as a new frame. MAC control frames (PFC) that come out go straight
to the wire.

Known limits: a frame goes either up or out; a flow that does both is refused. An exchange costs some milliseconds of
wall time, and the pipeline through Open vSwitch runs empty for it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from controllers.channel import Exchanged, PacketIn
from testbed.engine.fabric import ModelFabric
from testbed.engine.frame import Frame
from testbed.engine.identity import identity
from testbed.engine.loop import EventLoop
from testbed.engine.pause.frames import GLOBAL, read_pause, read_pfc
from testbed.engine.qos_switch import QosPort
from testbed.engine.reasons import CONTROLLER
from testbed.engine.switch import Switch
from testbed.errors import TestbedError
from testbed.outside.ovs_forwarder import Emission


class Speaker(Protocol):
    """The controller, as far as an exchange needs it."""

    def exchange(self, time_ps: int, packet_ins: Sequence[int], decision: int | None) -> Exchanged: ...


class Datapath(Protocol):
    """The real switches, as far as an exchange needs them (`testbed.outside.ovs_forwarder.OvsDatapath`)."""

    def settle(self) -> None: ...

    def open_to_emissions(self) -> None: ...

    def collect(self, emitting: Iterable[str]) -> tuple[list[Emission], list[PacketIn]]: ...


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What Open vSwitch needs after a change: `forget` its cached rules, `protect` a switch whose flows are gone."""

    forget: Callable[[], None]
    protect: Callable[[str], None]


@dataclass(slots=True)
class _Punt:
    """A frame with the controller: the switch that sent it up, the number of its packet-in, whether it came back."""

    switch: Switch
    frame: Frame
    packet_in: int
    returned: bool = False


class ControlExchange:
    """Carries out exchanges on the clock of `loop`; punted frames come back `latency_ps` after their switch's decision.

    Attributes:
        exchanges: so far. punted: frames sent up. data_copies: data frames put out in exchanges, less those sent up and
            put out again: more than 0 where frames were flooded.
    """

    def __init__(
        self,
        loop: EventLoop,
        fabric: ModelFabric,
        controller: Speaker,
        datapath: Datapath,
        maintenance: Maintenance,
        latency_ps: int,
    ) -> None:
        self.exchanges = self.punted = self.data_copies = 0
        self._loop = loop
        self._fabric = fabric
        self._controller = controller
        self._datapath = datapath
        self._maintenance = maintenance
        self._latency_ps = latency_ps
        self._due: dict[int, list[_Punt]] = {}
        self._kept: dict[bytes, Frame] = {}
        for switch in fabric.switches.values():
            switch.on_punt = self._on_punt

    def _on_punt(self, switch: Switch, frame: Frame) -> None:
        """`switch` has sent `frame` up: its packet-in's number stands in the forwarder's note."""
        self.punted += 1
        self._return_later(_Punt(switch, frame, frame.ingress))

    def _return_later(self, punt: _Punt) -> None:
        due = self._loop.now + self._latency_ps
        if due not in self._due:
            self._due[due] = []
            self._loop.at(due, self._bring_back, due)
        self._due[due].append(punt)

    def _bring_back(self, due: int) -> None:
        self.perform(self._due.pop(due))

    def perform(self, punts: Sequence[_Punt] = (), decision: int | None = None) -> None:
        """Have one exchange now: `punts` come back, the policy's OpenFlow actions of `decision` take effect."""
        self.exchanges += 1
        self._datapath.settle()
        self._datapath.open_to_emissions()
        answer = self._controller.exchange(self._loop.now, [punt.packet_in for punt in punts], decision)
        for switch in answer.cleared:
            self._maintenance.protect(switch)
        if answer.changed:
            self._maintenance.forget()
        emissions, again = self._datapath.collect(answer.emitting)
        for emission in emissions:
            self._put_out(emission, punts)
        for packet_in in again:
            self._sent_up_again(packet_in, punts)
        for punt in punts:
            if not punt.returned:
                self._kept[identity(punt.frame.data)] = punt.frame
                punt.switch.punted_frames -= 1
                punt.switch.drop(CONTROLLER, punt.frame)

    def _put_out(self, emission: Emission, punts: Sequence[_Punt]) -> None:
        switch = self._fabric.switches[emission.switch]
        key = identity(emission.data)
        punt = _of(punts, switch, key)
        original = punt.frame if punt else self._kept.get(key)
        frame = Frame(emission.data) if original is None else original.again(emission.data)
        if frame.is_data:
            self.data_copies += 1
        if punt is not None and not punt.returned:
            punt.returned = True
            if frame.is_data:
                self.data_copies -= 1
        self._count_pause(switch, emission)
        switch.emit(emission.port, frame)

    def _count_pause(self, switch: Switch, emission: Emission) -> None:
        """A controller's pause frame counts as sent by its port, so that sent and received stay comparable."""
        port, quanta, for_all = switch.ports[emission.port], read_pfc(emission.data), read_pause(emission.data)
        if for_all is not None:
            quanta = {GLOBAL: for_all}
        if quanta is not None and isinstance(port, QosPort) and port.sender is not None:
            for priority, time in quanta.items():
                (port.sender.xoff_frames if time else port.sender.xon_frames)[priority] += 1

    def _sent_up_again(self, packet_in: PacketIn, punts: Sequence[_Punt]) -> None:
        """A frame that was sent through the switch's table has come up once more. Raises TestbedError for any other."""
        punt = _of(punts, self._fabric.switches[packet_in.switch], bytes.fromhex(packet_in.identity))
        if punt is None:
            raise TestbedError(
                f"switch {packet_in.switch} sent the controller a frame, from port {packet_in.in_port}, that was not "
                "with the controller at this time; on the model clock an application may send through the table "
                "(OFPP_TABLE), or up, only the frames of the packet-ins that it is handling"
            )
        if punt.returned and punt.frame.is_data:  # it has been put out as well
            self.data_copies += 1
        punt.returned = True
        self.punted += 1
        self._return_later(_Punt(punt.switch, punt.frame, packet_in.number))


def _of(punts: Sequence[_Punt], switch: Switch, key: bytes) -> _Punt | None:
    """Return the punt of the frame with identity `key` at a switch: one that has not come back yet, if there is one."""
    of_it = [punt for punt in punts if punt.switch is switch and identity(punt.frame.data) == key]
    return next((punt for punt in of_it if not punt.returned), of_it[0] if of_it else None)
