"""A modelled fabric for tests: forwarding computed in Python, NICs that are lists, every drop noted."""

from collections.abc import Callable

from testbed.engine.fabric import ModelFabric
from testbed.engine.forwarding import DROPPED, Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.pause.frames import is_control
from testbed.engine.transmitter import Transmitter
from testbed.fabric.build import build_plan
from testbed.fabric.paths import next_hops
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import FabricOptions
from testbed.scenario.qos import QosOptions
from tests.engine.kit import ROCE_CLASS, ListSource, frame_of, ip_frame_of, mark_of

SHAPES = {
    "single-switch": {"kind": "single-switch", "hosts": 4},
    "dumbbell": {"kind": "dumbbell", "left": 2, "right": 2, "core": {"rate": "10Gbps"}},
    "leaf-spine": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "uplink": {"rate": "40Gbps"}},
    "fat-tree": {"kind": "fat-tree", "k": 2},
    "ring": {"kind": "ring", "switches": 5},
}


def plan_of(shape: str, buffer: str = "32MiB", nics_per_host: int = 1) -> FabricPlan:
    return build_plan(
        FabricOptions.model_validate(
            {"topology": SHAPES[shape], "switch": {"buffer": buffer}, "nics_per_host": nics_per_host}
        )
    )


def mark(source: int, destination: int, number: int) -> int:
    """Return a frame's mark: the NICs' indices in the plan, and its number among those between them."""
    return source << 24 | destination << 16 | number


def destination(frame: Frame) -> int:
    return mark_of(frame) >> 16 & 0xFF


class PlannedForwarder:
    """Forwards along shortest paths, spreading flows over equal ones; to a NIC that is not in the plan: nowhere."""

    def __init__(self, plan: FabricPlan, switch: str) -> None:
        self._nics = [nic.name for nic in plan.nics]
        self._hops = next_hops(plan)[switch]

    def submit(self, in_port: int, frame: Frame) -> None:  # noqa: ARG002 - a forwarder's signature
        if destination(frame) >= len(self._nics):
            frame.answer = DROPPED
            return
        ports = self._hops[self._nics[destination(frame)]]
        frame.answer = ports[(mark_of(frame) >> 16) % len(ports)].number

    def answer(self, frame: Frame) -> int:
        return frame.answer


class TestNic(ListSource):
    """A NIC that sends what it is given, first in first out, and notes (time, mark) of what arrives.

    It obeys pauses: while the first frame's priority is paused, it sends nothing.
    """

    __test__ = False

    def __init__(self, loop: EventLoop) -> None:
        super().__init__()
        self._loop = loop
        self.received: list[tuple[int, int]] = []

    def dequeue(self) -> Frame | None:
        return super().dequeue() if self.has_more() else None

    def has_more(self) -> bool:
        return bool(self.frames) and not self.transmitter.paused_mask >> self.frames[0].priority & 1

    def attach(self, transmitter: Transmitter) -> None:
        self.transmitter = transmitter

    def receive(self, frame: Frame) -> None:
        self.received.append((self._loop.now, mark_of(frame)))

    def send(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.transmitter.kick()


class Lab:
    """A fabric of a plan, with a test NIC at each end, and all drops noted."""

    def __init__(
        self,
        plan: FabricPlan,
        forwarder: Callable[[FabricPlan, str], Forwarder] = PlannedForwarder,
        qos: QosOptions | None = None,
    ) -> None:
        self.loop = EventLoop()
        self.drops: list[tuple[str, str, int]] = []
        self.lost_control_frames = 0
        self.nics = {nic.name: TestNic(self.loop) for nic in plan.nics}
        forwarders = {switch.name: forwarder(plan, switch.name) for switch in plan.switches}
        self.fabric = ModelFabric(plan, self.loop, forwarders, self.nics, self._drop, qos)
        self._by_index = list(self.nics.values())

    def _drop(self, where: str, reason: str, frame: Frame) -> None:
        if is_control(frame.data):
            self.lost_control_frames += 1
        else:
            self.drops.append((where, reason, mark_of(frame)))

    def send(self, time_ps: int, source: int, to: int, size: int, number: int = 0) -> None:
        self.loop.at(time_ps, self._by_index[source].send, frame_of(size, mark(source, to, number)))

    def send_ip(
        self, time_ps: int, source: int, to: int, size: int, number: int = 0, traffic_class: int = ROCE_CLASS
    ) -> None:
        """As `send`, with an IP header whose traffic class byte is `traffic_class`."""
        frame = ip_frame_of(size, mark(source, to, number), traffic_class)
        self.loop.at(time_ps, self._by_index[source].send, frame)

    def run(self, turns: int = 10_000) -> None:
        """Run until nothing more happens; the fabric says when pauses alone would go on for ever."""
        for _ in range(turns):
            if not self.loop.run_events(100) or self.fabric.stopped(any(nic.frames for nic in self.nics.values())):
                return
        raise AssertionError(f"still running at {self.loop.now} ps")

    def received(self, index: int) -> list[int]:
        return [mark for _, mark in self._by_index[index].received]
