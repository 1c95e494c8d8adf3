"""Which queue of a port sends next: the source of a switch port's transmitter when there are traffic classes.

    1. a paused priority does not send
    2. strict priorities go first, the highest before the others
    3. the rest share by deficit round robin: at its turn a queue is granted weight * (largest frame) bytes on top of
       what it has left over, and sends while its next frame fits

With a single queue to choose from, none of this is computed.

References: M. Shreedhar, G. Varghese, Efficient fair queueing using deficit round robin (SIGCOMM 1995).
Known limits: there is no shaping; a queue's grant is not spent on frames that it sends while it is alone.
"""

from collections.abc import Callable, Mapping, Sequence

from testbed.engine.buffer.queue import ClassQueue
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter

_ALL = 0xFF


class PortScheduler:
    """The eight queues of a port.

    Attributes:
        queues: by priority. bytes: waiting in all of them; peak_bytes: the most there ever was.
        obeyed_mask: bit p is set if a pause of priority p is obeyed (the watchdog may forward in spite of one).
    """

    __slots__ = (
        "_active", "_alone", "_loop", "_number", "_quantum_bytes", "_ring", "_strict_mask", "_transmitter", "_turn",
        "bytes", "obeyed_mask", "peak_bytes", "queues",
    )  # fmt: skip

    def __init__(
        self,
        loop: EventLoop,
        number: int,
        transmitter: Transmitter,
        queues: Sequence[ClassQueue],
        strict: Sequence[int],
        weights: Mapping[int, int],
        largest_frame_bytes: int,
    ) -> None:
        """The scheduler of port `number`. `weights` are by priority, 1 where absent."""
        self.queues = tuple(queues)
        self.bytes = self.peak_bytes = 0
        self.obeyed_mask = _ALL
        self._loop = loop
        self._number = number
        self._transmitter = transmitter
        self._active = 0
        self._alone = {queue.bit: queue for queue in queues}
        self._strict_mask = sum(1 << priority for priority in set(strict))
        self._ring = [queue for queue in queues if queue.priority not in strict]
        self._quantum_bytes = [weights.get(queue.priority, 1) * largest_frame_bytes for queue in self._ring]
        self._turn = 0

    def __len__(self) -> int:
        return sum(len(queue.frames) for queue in self.queues)

    def enqueue(self, frame: Frame) -> str | None:
        """Put `frame` into the queue of its priority, or return the reason why it is dropped."""
        queue = self.queues[frame.priority]
        reason = queue.enqueue(frame, self._loop.now)
        if reason is None:
            size = frame.held_bytes
            self._active |= queue.bit
            frame.group.waiting_bytes[self._number] += size
            self.bytes = waiting = self.bytes + size
            if waiting > self.peak_bytes:
                self.peak_bytes = waiting
        return reason

    def has_more(self) -> bool:
        """Whether a frame waits that may be sent now."""
        return bool(self._active & ~(self._transmitter.paused_mask & self.obeyed_mask))

    def dequeue(self) -> Frame | None:
        """Hand over the next frame, and free its memory; None when none may be sent."""
        eligible = self._active & ~(self._transmitter.paused_mask & self.obeyed_mask)
        if not eligible:
            return None
        queue = self._alone.get(eligible) or self._choose(eligible)
        frame = queue.take(self._loop.now)
        if not queue.frames:
            self._active ^= queue.bit
            queue.deficit_bytes = 0
        size = frame.held_bytes
        self.bytes -= size
        group = frame.group
        group.waiting_bytes[self._number] -= size
        group.release(size)
        return frame

    def _choose(self, eligible: int) -> ClassQueue:
        """Choose among two queues or more (bits of `eligible`)."""
        strict = eligible & self._strict_mask
        if strict:
            return self.queues[strict.bit_length() - 1]
        ring = self._ring
        queue = ring[self._turn]
        while not eligible & queue.bit or queue.frames[0].held_bytes > queue.deficit_bytes:
            self._turn = turn = (self._turn + 1) % len(ring)
            queue = ring[turn]
            if eligible & queue.bit:
                queue.deficit_bytes += self._quantum_bytes[turn]
        queue.deficit_bytes -= queue.frames[0].held_bytes
        return queue

    def flush(self, priority: int, on_frame: Callable[[Frame], None]) -> None:
        """Drop all frames of `priority`, for the watchdog, and call `on_frame` with each."""
        queue = self.queues[priority]
        self._active &= ~queue.bit
        for frame in queue.flush():
            self.bytes -= frame.held_bytes
            frame.group.waiting_bytes[self._number] -= frame.held_bytes
            frame.group.release(frame.held_bytes)
            on_frame(frame)

    # --- sums over the queues, by the names that a single queue has ---------------------------------------------------

    @property
    def entered_frames(self) -> int:
        return sum(queue.entered_frames for queue in self.queues)

    @property
    def left_frames(self) -> int:
        return sum(queue.left_frames for queue in self.queues)

    @property
    def flushed_frames(self) -> int:
        return sum(queue.flushed_frames for queue in self.queues)

    @property
    def dropped(self) -> dict[str, int]:
        """Frames refused or flushed, by reason."""
        total: dict[str, int] = {}
        for queue in self.queues:
            for reason, frames in queue.dropped.items():
                total[reason] = total.get(reason, 0) + frames
        return total
