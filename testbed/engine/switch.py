"""A switch on the model clock: forwarding latency, egress queues, and a forwarder that decides where frames go."""

from collections.abc import Callable

from testbed.engine.forwarding import DROPPED, PENDING, Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.queues import DropTail, EgressQueue, SwitchMemory
from testbed.engine.reasons import OPENFLOW
from testbed.engine.transmitter import Transmitter

DropHandler = Callable[[str, str, Frame], None]
"""Called with (where: a port's or switch's name, reason, frame) for every frame a switch drops."""


class SwitchPort:
    """One port: what arrives goes to the switch, what leaves waits in the port's queue."""

    __slots__ = ("_submit", "_switch", "name", "number", "queue", "received_frames", "transmitter")

    def __init__(self, switch: "Switch", number: int, transmitter: Transmitter, queue: EgressQueue) -> None:
        self.number = number
        self.name = transmitter.name
        self.transmitter = transmitter
        self.queue = queue
        self.received_frames = 0
        self._switch = switch
        self._submit = switch.forwarder.submit

    def receive(self, frame: Frame) -> None:
        """A frame's last bit has arrived: ask where it goes, and look at the answer one latency later."""
        self.received_frames += 1
        switch = self._switch
        self._submit(self.number, frame)
        switch.loop.at(switch.loop.now + switch.latency_ps, switch.forward_handler, frame)


class Switch:
    """One switch: its ports by OpenFlow number, its memory, its drops that happen at no port (`openflow`)."""

    __slots__ = (
        "_answer", "_on_drop", "dropped", "forward_handler", "forwarder", "latency_ps", "loop", "memory", "name",
        "ports",
    )  # fmt: skip

    def __init__(
        self, loop: EventLoop, name: str, latency_ps: int, buffer_bytes: int, forwarder: Forwarder, on_drop: DropHandler
    ) -> None:
        self.loop = loop
        self.name = name
        self.latency_ps = latency_ps
        self.memory = SwitchMemory(buffer_bytes)
        self.forwarder = forwarder
        self.ports: dict[int, SwitchPort] = {}
        self.dropped: dict[str, int] = {}
        self.forward_handler = self._forward
        self._answer = forwarder.answer
        self._on_drop = on_drop

    def add_port(self, number: int, transmitter: Transmitter) -> SwitchPort:
        """Give the switch a port that sends by `transmitter`."""
        port = SwitchPort(self, number, transmitter, EgressQueue(self.memory, DropTail(self.memory)))
        self.ports[number] = port
        return port

    def _forward(self, frame: Frame) -> None:
        number = frame.answer
        if number == PENDING:
            number = self._answer(frame)
        if number == DROPPED:
            self.dropped[OPENFLOW] = self.dropped.get(OPENFLOW, 0) + 1
            self._on_drop(self.name, OPENFLOW, frame)
            return
        port = self.ports[number]
        reason = port.queue.enqueue(frame)
        if reason is None:
            port.transmitter.kick()
        else:
            self._on_drop(port.name, reason, frame)
