"""The sending side of a port: takes frames from its source when the wire is free, and puts them on the wire.

    total delay of a hop = queueing (in the source) + serialisation (size * 8 / rate) + propagation (delay)

The source is a switch's egress queue or a NIC. It is asked when the wire is free (pull), so a scheduler or a rate
limiter decides as late as hardware does; and it calls `kick` when it has something for an idle wire. An idle wire costs
no event, and a frame on it one: its arrival.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from testbed.engine.frame import Frame
from testbed.engine.hops import WireLog
from testbed.engine.loop import EventLoop, Handler
from testbed.units import serialisation_ps


class Source(Protocol):
    """Where a transmitter's frames come from."""

    def dequeue(self) -> Frame | None:
        """Hand over the next frame to send now; None when there is none (the source kicks when that changes)."""

    def has_more(self) -> bool:
        """Whether `dequeue` may have a frame when the wire is next free; if not, the source kicks when it has."""


class Receiver(Protocol):
    """What stands at the other end of the wire."""

    def receive(self, frame: Frame) -> None:
        """Take a frame whose last bit arrives now."""


class Endpoint(Source, Receiver, Protocol):
    """A NIC as the engine sees it: a source of frames and a receiver of frames."""

    def attach(self, transmitter: "Transmitter") -> None:
        """Tell the NIC whom to kick when it has something to send."""


class Impairment(Protocol):
    """What a wire does to frames beyond delaying them (`testbed.engine.impairments`)."""

    def on_departure(self, frame: Frame, now: int) -> str | None:
        """Return the reason why `frame` is lost, None when it goes on; may change its bytes."""

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:
        """Return the reason why a frame on the wire between these times is lost, None when it arrives."""


class _Listened:
    """A receiver with a listener in front of it."""

    __slots__ = ("_listener", "_loop", "_receive")

    def __init__(
        self, loop: EventLoop, receive: Callable[[Frame], None], listener: Callable[[int, Frame], None]
    ) -> None:
        self._loop = loop
        self._receive = receive
        self._listener = listener

    def receive(self, frame: Frame) -> None:
        self._listener(self._loop.now, frame)
        self._receive(frame)


class Transmitter:
    """One direction of a link.

    Attributes:
        sent_frames, sent_bytes: put on the wire, overhead included.
        data_hops: frames with RDMA payload among them: packet-hops.
        delivered_frames: arrived at the other end. lost: frames lost on the way, by reason.
        busy_ps: time the wire was occupied.
        paused_mask: bit p is set while priority p must not be sent; the source consults it (0: no flow control).
        sent_control_frames: MAC control frames (PFC, PAUSE) among those sent.
    """

    __slots__ = (
        "_arrive", "_arrive_control", "_control", "_free_at", "_has_more", "_hops", "_impairment", "_loop",
        "_ordinary_source", "_receive", "_receive_control", "_send_next_handler", "_serialisation", "_source",
        "_wake_at", "busy_ps", "data_hops", "delay_ps", "delivered_frames", "lost", "name", "on_lost",
        "on_sent", "paused_mask", "rate_bps", "sent_bytes", "sent_control_frames", "sent_frames",
    )  # fmt: skip

    def __init__(self, loop: EventLoop, name: str, rate_bps: int, delay_ps: int) -> None:
        self.name = name
        self.rate_bps = rate_bps
        self.delay_ps = delay_ps
        self.sent_frames = self.sent_bytes = self.data_hops = self.delivered_frames = self.busy_ps = 0
        self.paused_mask = self.sent_control_frames = 0
        self.lost: dict[str, int] = {}
        self.on_sent: Any = None
        """Called with (time, frame) for each frame put on the wire: how a port is captured."""
        self.on_lost: Any = None
        """Called with (reason, frame) for each frame that is lost on the wire."""
        self._loop = loop
        self._free_at = 0
        self._wake_at = -1
        self._serialisation: dict[int, int] = {}
        self._impairment: Impairment | None = None
        self._hops: WireLog | None = None
        self._send_next_handler: Handler = self._send_next
        self._arrive: Handler = self._deliver
        self._arrive_control: Handler = self._deliver_control
        self._control: deque[Frame] = deque()
        self._receive_control: Callable[[Frame], None] = _ignore

    def connect(self, source: Source, receiver: Receiver) -> None:
        """Say whose frames go to whom."""
        self._source = self._ordinary_source = source.dequeue
        self._has_more = source.has_more
        self._receive = receiver.receive

    def connect_control(self, receive: Callable[[Frame], None]) -> None:
        """Say who takes the MAC control frames at the other end; without this they are taken out and ignored."""
        self._receive_control = receive

    def listen(self, listener: Callable[[int, Frame], None]) -> None:
        """Call ``listener(time, frame)`` for each frame that arrives at the other end, before its receiver takes it.

        The transmitter must be connected. A wire without a listener pays nothing for this.
        """
        self._receive = _Listened(self._loop, self._receive, listener).receive
        self._receive_control = _Listened(self._loop, self._receive_control, listener).receive

    def impair(self, impairment: Impairment) -> None:
        """Put `impairment` on the wire."""
        self._impairment = impairment

    def log_hops(self, log: WireLog) -> None:
        """Keep a record of every frame in `log` from now on."""
        self._hops = log

    def kick(self) -> None:
        """The source has something to send: start if the wire is free, else as soon as it is."""
        free_at = self._free_at
        if self._loop.now >= free_at:
            self._send_next(None)
        elif self._wake_at != free_at:
            self._wake_at = free_at
            self._loop.at(free_at, self._send_next_handler)

    def _send_next(self, _nothing: None) -> None:
        loop = self._loop
        now = loop.now
        if now < self._free_at:  # a kick at this very time came first
            return
        frame = self._source()
        if frame is None:
            return
        size = frame.size_bytes
        duration = self._serialisation.get(size)
        if duration is None:
            duration = self._serialisation[size] = serialisation_ps(size, self.rate_bps)
        self._free_at = free_at = now + duration
        self.sent_frames += 1
        self.sent_bytes += size
        self.busy_ps += duration
        if frame.is_data:
            self.data_hops += 1
        if self._hops is not None:
            frame.hop = self._hops.add(now, frame.hop or size)
        if self.on_sent is not None:
            self.on_sent(now, frame)
        if self._impairment is None:
            loop.at(free_at + self.delay_ps, self._arrive, frame)
        else:
            self._send_impaired(self._impairment, frame, now, free_at + self.delay_ps, self._arrive)
        if self._has_more():
            self._wake_at = free_at
            loop.at(free_at, self._send_next_handler)

    def _deliver(self, frame: Frame) -> None:
        self.delivered_frames += 1
        self._receive(frame)

    @property
    def free_at_ps(self) -> int:
        """When the wire is free for the next frame; it may have been for long."""
        return self._free_at

    # --- MAC control frames: ahead of everything, but never in the middle of a frame ----------------------------------

    def send_control(self, frame: Frame) -> None:
        """Send a MAC control frame (EtherType 0x8808) before anything else, as soon as the wire is free.

        It is taken out at the other end (`connect_control`): neither switch nor NIC sees it. No pause holds it up.
        """
        self._control.append(frame)
        self._source = self._send_waiting_control  # asked in place of the ordinary source until none is left
        self.kick()

    def holds_control(self, frame: Frame) -> bool:
        """Return whether the control frame `frame` still waits for the wire (and may still be rewritten)."""
        return frame in self._control

    def _send_waiting_control(self) -> None:
        """Put the next control frame on the wire, and return no ordinary one."""
        frame = self._control.popleft()
        if not self._control:
            self._source = self._ordinary_source
        now, size = self._loop.now, frame.size_bytes
        duration = serialisation_ps(size, self.rate_bps)
        self._free_at = self._wake_at = free_at = now + duration
        self.sent_frames += 1
        self.sent_control_frames += 1
        self.sent_bytes += size
        self.busy_ps += duration
        if self._hops is not None:
            frame.hop = self._hops.add(now, frame.hop or size)
        if self.on_sent is not None:
            self.on_sent(now, frame)
        if self._impairment is None:
            self._loop.at(free_at + self.delay_ps, self._arrive_control, frame)
        else:
            self._send_impaired(self._impairment, frame, now, free_at + self.delay_ps, self._arrive_control)
        self._loop.at(free_at, self._send_next_handler)

    def _deliver_control(self, frame: Frame) -> None:
        self.delivered_frames += 1
        self._receive_control(frame)

    # --- impaired wires -----------------------------------------------------------------------------------------------

    def _send_impaired(self, impairment: Impairment, frame: Frame, now: int, arrival: int, arrive: Handler) -> None:
        reason = impairment.on_departure(frame, now)
        if reason is None:
            self._loop.at(arrival, self._deliver_impaired, (frame, now, arrive))
        else:
            self._lose(reason, frame)

    def _deliver_impaired(self, flight: tuple[Frame, int, Handler]) -> None:
        frame, departed, arrive = flight
        assert self._impairment is not None
        reason = self._impairment.lost_in_flight(departed, self._loop.now)
        if reason is None:
            arrive(frame)
        else:
            self._lose(reason, frame)

    def _lose(self, reason: str, frame: Frame) -> None:
        self.lost[reason] = self.lost.get(reason, 0) + 1
        if self.on_lost is not None:
            self.on_lost(reason, frame)

    @property
    def in_flight(self) -> int:
        """Frames on the wire now."""
        return self.sent_frames - self.delivered_frames - sum(self.lost.values())


def _ignore(_frame: Frame) -> None:
    """Flow control is off at the other end: a MAC control frame means nothing there."""
