"""Notes each CE mark while the model runs: when, at which queue, and the headers of the packet that was marked.

Headers are kept as they are and read when the run is over: a mark is too frequent to be parsed while it happens. Of
more than `MOST_MARKS` the first are kept, and the others counted (a time series has them all, interval by interval).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from testbed.engine.fabric import ModelFabric
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.qos_switch import QosPort

MOST_MARKS = 100_000
_HEADER_BYTES = 78
"""Ethernet, a VLAN tag, IPv6, UDP and the base transport header."""

Listener = Callable[[Frame], None]


class Mark(NamedTuple):
    """A packet was marked at `time_ps` in the queue of (`port`, `priority`); `header` is the beginning of its frame."""

    time_ps: int
    port: str
    priority: int
    header: bytes


class MarkRecorder:
    """The marks of one run. `left_out` counts those that are not in `marks`."""

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        self.marks: list[Mark] = []
        self.left_out = 0

    def attach(self, fabric: ModelFabric) -> None:
        """Listen at every queue, beside whoever listens there already."""
        for port in _qos_ports(fabric):
            for queue in port.scheduler.queues:
                queue.on_marked = _QueueListener(self, port.name, queue.priority, queue.on_marked).on_marked


class _QueueListener:
    """Hears of the marks of one queue, and hands them on to `other`."""

    __slots__ = ("_other", "_port", "_priority", "_recorder")

    def __init__(self, recorder: MarkRecorder, port: str, priority: int, other: Listener | None) -> None:
        self._recorder = recorder
        self._port = port
        self._priority = priority
        self._other = other

    def on_marked(self, frame: Frame) -> None:
        recorder = self._recorder
        if len(recorder.marks) < MOST_MARKS:
            mark = Mark(recorder.loop.now, self._port, self._priority, frame.data[:_HEADER_BYTES])
            recorder.marks.append(mark)
        else:
            recorder.left_out += 1
        if self._other is not None:
            self._other(frame)


def _qos_ports(fabric: ModelFabric) -> Iterator[QosPort]:
    return (port for port in fabric.ports.values() if isinstance(port, QosPort))
