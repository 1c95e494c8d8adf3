"""What the engine's tests share: sources and receivers made of lists, and how hypothesis runs here."""

from collections import deque

from hypothesis import settings

from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter

STEADY = settings(derandomize=True, deadline=None, max_examples=60)
"""The same cases in every run, and no clock: a loaded machine is not a failure."""


def frame_of(wire_bytes: int, mark: int = 0, *, is_data: bool = True) -> Frame:
    """Return a frame that occupies `wire_bytes` (84 at least) of a wire; its last 4 bytes are `mark`."""
    return Frame(bytes(wire_bytes - 24 - 4) + mark.to_bytes(4, "big"), is_data=is_data)


ROCE_CLASS = 106
"""The IP byte of RoCE data: DSCP 26, so priority 3, and ECT(0)."""

SECOND_DSCP, SECOND_CLASS = 40, 40 << 2 | 2
"""Another class of data, for priority 4 where a test's map says so."""

_PRIORITY_OF = priority_by_traffic_class({SECOND_DSCP: 4})


def ip_frame_of(wire_bytes: int, mark: int = 0, traffic_class: int = ROCE_CLASS, *, is_data: bool = True) -> Frame:
    """As `frame_of`, but with the start of an IPv4 header: `traffic_class` is the byte with DSCP and ECN."""
    head = bytes(12) + b"\x08\x00\x45" + bytes((traffic_class,))
    body = bytes(wire_bytes - 24 - 4 - len(head))
    return Frame(head + body + mark.to_bytes(4, "big"), is_data=is_data, priority=_PRIORITY_OF[traffic_class])


def mark_of(frame: Frame) -> int:
    """Return the `mark` that a frame was made with."""
    return int.from_bytes(frame.data[-4:], "big")


class ListSource:
    """A source that hands over frames in the order in which they were put into it."""

    def __init__(self, *frames: Frame) -> None:
        self.frames = deque(frames)

    def dequeue(self) -> Frame | None:
        return self.frames.popleft() if self.frames else None

    def has_more(self) -> bool:
        return bool(self.frames)


class Arrivals:
    """A receiver that notes (time, frame)."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self.log: list[tuple[int, Frame]] = []

    def receive(self, frame: Frame) -> None:
        self.log.append((self._loop.now, frame))

    @property
    def times(self) -> list[int]:
        return [time for time, _ in self.log]

    @property
    def marks(self) -> list[int]:
        return [mark_of(frame) for _, frame in self.log]


class Wire:
    """A clock, a source, a transmitter and a receiver, connected."""

    def __init__(
        self, rate_bps: int = 100_000_000_000, delay_ps: int = 500_000, frames: tuple[Frame, ...] = ()
    ) -> None:
        self.loop = EventLoop()
        self.source = ListSource(*frames)
        self.arrivals = Arrivals(self.loop)
        self.transmitter = Transmitter(self.loop, "h0-eth0", rate_bps, delay_ps)
        self.transmitter.connect(self.source, self.arrivals)

    def send(self, frame: Frame) -> None:
        """Put `frame` into the source and kick, as a queue does."""
        self.source.frames.append(frame)
        self.transmitter.kick()

    def kick(self, _nothing: object) -> None:
        self.transmitter.kick()
