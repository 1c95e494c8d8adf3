"""A link with credits whose receiver keeps what it is told to keep, for tests."""

from testbed.engine.credit.arithmetic import blocks_of
from testbed.engine.credit.end import CreditEnd
from testbed.engine.credit.nic import CreditedNic
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter
from testbed.fabric.buffers import BLOCK_BYTES
from testbed.scenario.qos import CreditOptions
from tests.engine.fabric_kit import TestNic
from tests.engine.kit import ListSource, ip_frame_of, mark_of

GBPS = 10**9
NEAR_MAC, FAR_MAC = "02:00:00:00:00:01", "02:00:00:00:01:07"
CONTROL_PS = 84 * 80
"""An update on a wire of 100 Gb/s."""
DELAY_PS = 500_000


class Keeper(ListSource):
    """Receives into the lanes of `end`, and keeps the frames until they are taken out."""

    end: CreditEnd

    def __init__(self, loop: EventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.kept: list[Frame] = []
        self.times: list[int] = []
        self.overruns = 0

    def receive(self, frame: Frame) -> None:
        self.times.append(self._loop.now)
        lane = self.end.lanes.get(frame.priority)
        if lane is not None:
            self.overruns += not lane.arrive(blocks_of(len(frame.data)))
            self.kept.append(frame)

    def take(self, count: int = 1) -> None:
        """Take out the `count` frames that came first."""
        for frame in self.kept[:count]:
            self.end.lanes[frame.priority].free(blocks_of(len(frame.data)))
        del self.kept[:count]


class Link:
    """``h0-eth0``, a NIC, sends data to ``leaf0-eth1``, which keeps it in lanes of `buffer_blocks` each."""

    def __init__(self, buffer_blocks: int, lanes: tuple[int, ...] = (3,), **credits: object) -> None:
        self.loop = EventLoop()
        options = CreditOptions.model_validate(credits)
        self.data = Transmitter(self.loop, "h0-eth0", 100 * GBPS, DELAY_PS)
        self.back = Transmitter(self.loop, "leaf0-eth1", 100 * GBPS, DELAY_PS)
        size = buffer_blocks * BLOCK_BYTES
        self.near = CreditEnd(self.loop, self.data, NEAR_MAC, lanes, options, size, size)
        self.far = CreditEnd(self.loop, self.back, FAR_MAC, lanes, options, size, size)
        self.near.far, self.far.far = self.far, self.near
        self.nic, self.keeper = TestNic(self.loop), Keeper(self.loop)
        self.keeper.end = self.far
        behind = CreditedNic(self.loop, self.nic, self.near)
        behind.attach(self.data)
        self.data.connect(behind, self.keeper)
        self.back.connect(self.keeper, behind)
        self.data.connect_control(self.far.receive)
        self.back.connect_control(self.near.receive)
        self.updates: list[tuple[int, bytes]] = []
        self.back.on_sent = lambda now, frame: self.updates.append((now, frame.data))

    def send(self, count: int, wire_bytes: int = 4194, traffic_class: int = 106) -> None:
        """Let the NIC send `count` frames."""
        for mark in range(count):
            self.nic.frames.append(ip_frame_of(wire_bytes, mark, traffic_class))
        self.data.kick()

    def take_at(self, time_ps: int, count: int = 1) -> None:
        self.loop.at(time_ps, self.keeper.take, count)

    def marks(self) -> list[int]:
        return [mark_of(frame) for frame in self.keeper.kept]


class DropFrames:
    """An impairment that loses the frames with these numbers, 0 the first, of those of a kind."""

    def __init__(self, *numbers: int, control: bool) -> None:
        self._numbers = numbers
        self._control = control
        self._seen = 0

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - an impairment's signature
        if (frame.data[12:14] == b"\x88\xb5") != self._control:
            return None
        self._seen += 1
        return "fault" if self._seen - 1 in self._numbers else None

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002 - as above
        return None
