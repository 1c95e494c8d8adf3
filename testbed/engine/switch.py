"""A switch on the model clock: forwarding latency, egress queues, and a forwarder that decides where frames go.

Here a port has one queue, first in first out. `qos_switch` has the switch with traffic classes.
"""

from collections.abc import Callable
from typing import NoReturn, Protocol

from testbed.engine.forwarding import DROPPED, PENDING, PUNTED, Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.queues import DropTail, EgressQueue, SwitchMemory
from testbed.engine.reasons import OPENFLOW
from testbed.engine.statistics import PortStatistics, QueueStatistics, SwitchStatistics
from testbed.engine.transmitter import Source, Transmitter

DropHandler = Callable[[str, str, Frame], None]
"""Called with (where: a port's or switch's name, reason, frame) for every frame a switch drops."""

_MAC_CONTROL = b"\x88\x08"


class Memory(Protocol):
    """A switch's packet memory: in all, in use now, and the most there ever was."""

    size_bytes: int
    used_bytes: int
    peak_bytes: int


class PortQueue(Source, Protocol):
    """What waits to leave by a port: one queue, or several behind a scheduler.

    Attributes:
        bytes: waiting now; peak_bytes: the most there ever was.
        entered_frames, left_frames, flushed_frames: so far. dropped: frames refused or flushed, by reason.
    """

    bytes: int

    @property
    def peak_bytes(self) -> int: ...

    @property
    def entered_frames(self) -> int: ...

    @property
    def left_frames(self) -> int: ...

    @property
    def flushed_frames(self) -> int: ...

    @property
    def dropped(self) -> dict[str, int]: ...

    def __len__(self) -> int: ...

    def enqueue(self, frame: Frame) -> str | None:
        """Take `frame`, or return the reason why it is dropped."""


class SwitchPort:
    """One port: what arrives goes to the switch, what leaves waits in the port's queue.

    `dropped` are frames refused at arrival, by reason; there are none without traffic classes.
    `emitted_control_frames` are pause frames that a controller had sent by the port.
    """

    __slots__ = (
        "_submit",
        "_switch",
        "dropped",
        "emitted_control_frames",
        "name",
        "number",
        "queue",
        "received_frames",
        "transmitter",
    )

    def __init__(self, switch: "Switch", number: int, transmitter: Transmitter, queue: PortQueue) -> None:
        self.number = number
        self.name = transmitter.name
        self.transmitter = transmitter
        self.queue = queue
        self.received_frames = self.emitted_control_frames = 0
        self.dropped: dict[str, int] = {}
        self._switch = switch
        self._submit = switch.forwarder.submit

    def receive(self, frame: Frame) -> None:
        """A frame's last bit has arrived: ask where it goes, and look at the answer one latency later."""
        self.received_frames += 1
        switch = self._switch
        self._submit(self.number, frame)
        switch.loop.at(switch.loop.now + switch.latency_ps, switch.forward_handler, frame)

    def statistics(self) -> PortStatistics:
        """Return a frozen snapshot of the port's counters."""
        wire = self.transmitter
        return PortStatistics(
            self.name,
            wire.rate_bps,
            wire.sent_bytes,
            wire.sent_frames,
            wire.busy_ps,
            wire.paused_mask,
            (self._queue(),),
        )

    def _queue(self) -> QueueStatistics:
        queue = self.queue
        return QueueStatistics(
            priority=0,
            queue_bytes=queue.bytes,
            watermark_bytes=queue.peak_bytes,
            peak_bytes=queue.peak_bytes,
            out_packets=queue.left_frames,
            out_bytes=self.transmitter.sent_bytes,
            ecn_marked_packets=0,
            dropped=dict(queue.dropped),
        )


class Switch:
    """One switch: its ports by OpenFlow number, its memory, its drops that happen at no port (`openflow`).

    `emitted_frames`: put out by the switch itself (a packet-out), rather than received. `punted_frames`: sent up to the
    controller and given back by it; `on_punt` is told of each as it goes up (none: it is dropped).
    """

    __slots__ = (
        "_answer", "_on_drop", "dropped", "emitted_frames", "forward_handler", "forwarder", "latency_ps", "loop",
        "memory", "name", "on_punt", "ports", "punted_frames",
    )  # fmt: skip

    ports: "dict[int, SwitchPort]"

    def __init__(
        self, loop: EventLoop, name: str, latency_ps: int, buffer_bytes: int, forwarder: Forwarder, on_drop: DropHandler
    ) -> None:
        self.loop = loop
        self.name = name
        self.latency_ps = latency_ps
        self.memory: Memory = SwitchMemory(buffer_bytes)
        self.forwarder = forwarder
        self.ports = {}
        self.dropped: dict[str, int] = {}
        self.emitted_frames = self.punted_frames = 0
        self.on_punt: Callable[[Switch, Frame], None] | None = None
        self.forward_handler = self._forward
        self._answer = forwarder.answer
        self._on_drop = on_drop

    def add_port(self, number: int, transmitter: Transmitter) -> SwitchPort:
        """Give the switch a port that sends by `transmitter`."""
        assert isinstance(self.memory, SwitchMemory)
        port = SwitchPort(self, number, transmitter, EgressQueue(self.memory, DropTail(self.memory)))
        self.ports[number] = port
        return port

    def emit(self, number: int, frame: Frame) -> None:
        """Send a frame of the switch's own (a controller's packet-out) by port `number`, as of now.

        A MAC control frame goes straight to the wire, ahead of everything; any other takes its place in a queue.
        """
        port = self.ports[number]
        if frame.data[12:14] == _MAC_CONTROL:
            port.emitted_control_frames += 1
            port.transmitter.send_control(frame)
            return
        self.emitted_frames += 1
        self._enqueue(port, frame)

    def _forward(self, frame: Frame) -> None:
        number = frame.answer
        if number == PENDING:
            number = self._answer(frame)
        if number <= DROPPED:
            self._goes_nowhere(number, frame)
            return
        port = self.ports[number]
        reason = port.queue.enqueue(frame)
        if reason is None:
            port.transmitter.kick()
        else:
            self._on_drop(port.name, reason, frame)

    def _goes_nowhere(self, number: int, frame: Frame) -> None:
        if number == PUNTED and self.on_punt is not None:
            self.punted_frames += 1
            self.on_punt(self, frame)
        else:
            self.drop(OPENFLOW, frame)

    def drop(self, reason: str, frame: Frame) -> None:
        """Drop a frame that no port has."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        self._on_drop(self.name, reason, frame)

    def _enqueue(self, port: SwitchPort, frame: Frame) -> None:
        reason = port.queue.enqueue(frame)
        if reason is None:
            port.transmitter.kick()
        else:
            self._on_drop(port.name, reason, frame)

    # --- what policies see and change ---------------------------------------------------------------------------------

    def statistics(self) -> SwitchStatistics:
        """Return a frozen snapshot of the switch's counters."""
        memory = self.memory
        ports = {port.name: port.statistics() for port in self.ports.values()}
        return SwitchStatistics(self.name, memory.size_bytes, memory.used_bytes, memory.peak_bytes, 0, 0, ports)

    def clear_watermarks(self) -> None:
        """Begin a new interval for the queues' watermarks; a queue without classes only has its peak."""

    def port_named(self, name: str) -> SwitchPort:
        """Return the port called `name`. Raises LookupError for a name that is not one of this switch's."""
        found = next((port for port in self.ports.values() if port.name == name), None)
        if found is None:
            names = ", ".join(port.name for port in self.ports.values())
            raise LookupError(f"expected a port of {self.name} ({names}), found {name!r}")
        return found

    def set_ecn(self, port: str, priority: int, kmin_bytes: int, kmax_bytes: int, pmax: float) -> None:  # noqa: ARG002 - the signature of a switch with classes
        """Mark on an egress queue with RED's ramp from now on."""
        self._needs_classes("ECN")

    def set_pfc_threshold(self, port: str, priority: int, alpha: float) -> None:  # noqa: ARG002 - as above
        """Give an ingress group another factor for its dynamic threshold, at which it sends XOFF."""
        self._needs_classes("PFC thresholds")

    def set_lossless(self, port: str, priority: int, lossless: bool) -> None:  # noqa: ARG002 - as above
        """Take a port's priority out of the lossless ones, or take it back."""
        self._needs_classes("lossless priorities")

    def _needs_classes(self, what: str) -> NoReturn:
        raise LookupError(
            f"expected traffic classes to set {what} on {self.name}, found none: add 'qos: {{}}' to the fabric"
        )
