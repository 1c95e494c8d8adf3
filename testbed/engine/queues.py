"""Egress queues and who may enter them.

A queue holds frames and counts them; a *discipline* is only its decision. Here there is one, drop-tail on the switch's
whole packet memory; thresholds per queue, lossless classes and marking take their place beside it.
"""

from collections import deque
from typing import Protocol

from testbed.engine.frame import Frame
from testbed.engine.peaks import PeakBytes
from testbed.engine.reasons import SHARED_FULL


class SwitchMemory:
    """A switch's packet memory: what all its queues hold together. `peak_bytes` is the most there ever was."""

    __slots__ = ("peak_bytes", "size_bytes", "used_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.used_bytes = self.peak_bytes = 0


class Discipline(Protocol):
    """Decides on a frame at the door of a queue."""

    def refuses(self, frame_bytes: int, queue: "EgressQueue") -> str | None:
        """Return the reason to drop a frame of `frame_bytes` that would enter `queue`, None to let it in."""


class DropTail:
    """Drop-tail: a frame enters while the memory has room for it."""

    def __init__(self, memory: SwitchMemory) -> None:
        self._memory = memory

    def refuses(self, frame_bytes: int, queue: "EgressQueue") -> str | None:  # noqa: ARG002 - a discipline's signature
        return SHARED_FULL if self._memory.used_bytes + frame_bytes > self._memory.size_bytes else None


class EgressQueue(PeakBytes):
    """First in, first out, in the memory of its switch.

    Attributes:
        entered_frames, left_frames: so far. dropped: refused frames by reason.
    """

    flushed_frames = 0  # nothing ever empties such a queue but its wire
    marked_frames = 0  # nor marks its frames

    __slots__ = ("_discipline", "_frames", "_memory", "dropped", "entered_frames", "left_frames")

    def __init__(self, memory: SwitchMemory, discipline: Discipline) -> None:
        super().__init__()
        self._memory = memory
        self._discipline = discipline
        self._frames: deque[Frame] = deque()
        self.entered_frames = self.left_frames = 0
        self.dropped: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._frames)

    def enqueue(self, frame: Frame) -> str | None:
        """Take `frame`, or return the reason why it is dropped."""
        size = len(frame.data)
        reason = self._discipline.refuses(size, self)
        if reason is not None:
            self.dropped[reason] = self.dropped.get(reason, 0) + 1
            return reason
        self._frames.append(frame)
        self.entered_frames += 1
        self.bytes = waiting = self.bytes + size
        if waiting > self.recent_bytes:
            self.recent_bytes = waiting
        memory = self._memory
        memory.used_bytes = used = memory.used_bytes + size
        if used > memory.peak_bytes:
            memory.peak_bytes = used
        return None

    def has_more(self) -> bool:
        """Whether a frame waits."""
        return bool(self._frames)

    def dequeue(self) -> Frame | None:
        """Hand over the frame that has waited longest; None when empty."""
        if not self._frames:
            return None
        frame = self._frames.popleft()
        size = len(frame.data)
        self.bytes -= size
        self._memory.used_bytes -= size
        self.left_frames += 1
        return frame
