"""A NIC behind its end of a link with credits.

What the NIC hands over and has no credit for is kept here, one frame a lane, and the lane is held: the NIC skips it
until the frame has gone. What arrives is taken at once, so that its credits are free again.
"""

from testbed.engine.credit.arithmetic import blocks_of
from testbed.engine.credit.end import CreditEnd
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Endpoint, Transmitter


class CreditedNic:
    """Stands between `nic` and the transmitter of `end`."""

    __slots__ = ("_end", "_held", "_held_mask", "_loop", "_nic")

    def __init__(self, loop: EventLoop, nic: Endpoint, end: CreditEnd) -> None:
        self._loop = loop
        self._nic = nic
        self._end = end
        self._held: dict[int, Frame] = {}
        self._held_mask = 0

    def attach(self, transmitter: Transmitter) -> None:
        """Tell the NIC whom to kick."""
        self._nic.attach(transmitter)

    def dequeue(self) -> Frame | None:
        """Hand over a frame that has waited for its credit, else the NIC's next one that has some."""
        end = self._end
        ready = self._held_mask & ~end.transmitter.paused_mask
        frame = self._held.pop(ready.bit_length() - 1) if ready else self._next()
        if frame is None:
            return None
        if ready:
            self._held_mask ^= 1 << frame.priority
        end.spend(frame)
        return frame

    def _next(self) -> Frame | None:
        end, dequeue = self._end, self._nic.dequeue
        while (frame := dequeue()) is not None:
            blocks = blocks_of(len(frame.data))
            if end.sending.allows(frame.priority, blocks):
                return frame
            self._held[frame.priority] = frame
            self._held_mask |= 1 << frame.priority
            end.hold(frame.priority, blocks, self._loop.now)
        return None

    def has_more(self) -> bool:
        """Whether `dequeue` may have a frame."""
        return bool(self._held_mask & ~self._end.transmitter.paused_mask) or self._nic.has_more()

    def receive(self, frame: Frame) -> None:
        """Take a frame: its credits are free at once."""
        lane = self._end.lanes.get(frame.priority)
        if lane is not None:
            lane.pass_on(blocks_of(len(frame.data)))
        self._nic.receive(frame)
