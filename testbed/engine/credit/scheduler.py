"""A switch port's scheduler with credits: a lane whose next frame has none is skipped, as if it were paused."""

from testbed.engine.buffer.scheduler import PortScheduler
from testbed.engine.credit.arithmetic import blocks_of
from testbed.engine.credit.end import CreditEnd
from testbed.engine.frame import Frame
from testbed.units import serialisation_ps


class CreditScheduler(PortScheduler):
    """The eight queues of a port whose end of the link is `end` (to be set before it is used)."""

    __slots__ = ("end",)

    end: CreditEnd

    def enqueue(self, frame: Frame) -> str | None:
        """Put `frame` into its queue; if it is the first there, see whether it may go."""
        reason = super().enqueue(frame)
        if reason is None and len(self.queues[frame.priority].frames) == 1:
            self._look_at(frame, self._transmitter.free_at_ps)
        return reason

    def dequeue(self) -> Frame | None:
        """Hand over the next frame, spend its credit, and see whether the one behind it may go."""
        frame = super().dequeue()
        if frame is not None:
            self.end.spend(frame)
            behind = self.queues[frame.priority].frames
            if behind:
                wire = self._transmitter
                self._look_at(behind[0], self._loop.now + serialisation_ps(frame.size_bytes, wire.rate_bps))
        return frame

    def _look_at(self, first: Frame, wire_free_ps: int) -> None:
        """`first` is the next of its priority; the wire is free for it from `wire_free_ps` on."""
        blocks = blocks_of(len(first.data))
        if not self.end.sending.allows(first.priority, blocks):
            self.end.hold(first.priority, blocks, max(wire_free_ps, self._loop.now))
