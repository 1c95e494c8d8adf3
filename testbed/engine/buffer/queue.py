"""The egress queue of one (port, priority): first in, first out, with a dynamic threshold if its class is lossy.

    a lossy queue takes a frame while     bytes - reserved <= alpha * (B - used)
    a lossless queue takes every frame:   its ingress group has room for it already

Then marking has its say: on the bytes that the frame finds as it enters, or on its time in the queue as it leaves.

Known limits: B and used are those of the one shared memory; chips count an egress pool of their own over it.
"""

from collections import deque
from collections.abc import Callable

from testbed.engine.buffer.marking import Ramp, marked
from testbed.engine.buffer.memory import Alpha, SharedMemory
from testbed.engine.frame import Frame
from testbed.engine.peaks import PeakBytes
from testbed.engine.reasons import EGRESS_THRESHOLD, PFC_WATCHDOG, WRED


class ClassQueue(PeakBytes):
    """Frames of one priority that wait to leave by one port.

    Attributes:
        priority, bit: 0 to 7, and 1 << priority.
        frames: in their order.
        limited: whether the dynamic threshold applies (lossy). discarding: whether the watchdog drops what comes.
        ramp: marks frames as they enter. time_ramp: marks them as they leave, by their time here.
        entered_frames, left_frames, left_bytes, flushed_frames: so far. marked_frames: CE marks made here.
        dropped: frames refused or flushed, by reason. deficit_bytes: the scheduler's.
        on_marked: called with every frame that is marked here; None: nobody wants to know.
    """

    __slots__ = (
        "_alpha", "_memory", "_reserved", "bit", "deficit_bytes", "discarding", "dropped", "entered_frames",
        "flushed_frames", "frames", "left_bytes", "left_frames", "limited", "marked_frames", "on_marked", "priority",
        "ramp", "time_ramp",
    )  # fmt: skip

    def __init__(
        self, memory: SharedMemory, priority: int, reserved_bytes: int, alpha: Alpha, *, limited: bool
    ) -> None:
        super().__init__()
        self.priority = priority
        self.bit = 1 << priority
        self.frames: deque[Frame] = deque()
        self.limited = limited
        self.discarding = False
        self.ramp: Ramp | None = None
        self.time_ramp: Ramp | None = None
        self.deficit_bytes = 0
        self.entered_frames = self.left_frames = self.left_bytes = self.flushed_frames = self.marked_frames = 0
        self.dropped: dict[str, int] = {}
        self.on_marked: Callable[[Frame], None] | None = None
        self._memory = memory
        self._reserved = reserved_bytes
        self._alpha = alpha

    def threshold(self) -> int:
        """Return how many bytes the queue may hold now, its reserved ones included; of no meaning if it is lossless."""
        return self._reserved + self._alpha.threshold(self._memory.shared_free_bytes)

    def enqueue(self, frame: Frame, now: int) -> str | None:
        """Take `frame`, or return the reason why it is dropped."""
        found = self.bytes
        waiting = found + frame.held_bytes
        if self.limited and waiting > self.threshold():
            return self.refuse(EGRESS_THRESHOLD)
        if self.discarding:
            return self.refuse(PFC_WATCHDOG)
        ramp = self.ramp
        if ramp is not None and ramp.hits(found) and not self._mark(frame) and ramp.drops_unmarkable:
            return self.refuse(WRED)
        frame.queued_ps = now
        self.frames.append(frame)
        self.entered_frames += 1
        self.bytes = waiting
        if waiting > self.recent_bytes:
            self.recent_bytes = waiting
        return None

    def take(self, now: int) -> Frame:
        """Hand over the frame that has waited longest; there must be one."""
        frame = self.frames.popleft()
        size = frame.held_bytes
        self.bytes -= size
        self.left_frames += 1
        self.left_bytes += size
        ramp = self.time_ramp
        if ramp is not None and ramp.hits(now - frame.queued_ps):
            self._mark(frame)
        return frame

    def flush(self) -> list[Frame]:
        """Drop all that waits, for the watchdog; return it."""
        frames = list(self.frames)
        self.frames.clear()
        self.bytes = self.deficit_bytes = 0
        self.flushed_frames += len(frames)
        if frames:
            self.dropped[PFC_WATCHDOG] = self.dropped.get(PFC_WATCHDOG, 0) + len(frames)
        return frames

    def refuse(self, reason: str) -> str:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        return reason

    def _mark(self, frame: Frame) -> bool:
        """Mark `frame`; return whether it can be. One that comes marked counts for the switch that marked it."""
        data = marked(frame.data)
        if data is None:
            return False
        if data is not frame.data:
            frame.data = data
            self.marked_frames += 1
            if self.on_marked is not None:
                self.on_marked(frame)
        return True
