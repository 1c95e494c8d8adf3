"""What became of the packets of one flow of a replay: from one host to one queue pair of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from traffic.nic.replayed import ReplayedFrame
from traffic.results import ReplayFlow


class FlowTally:
    """Counts what becomes of a flow's frames; `on_settled` is called for each that has arrived or is lost.

    Attributes:
        frames: handed to the sender's NIC. latencies_ps: of those that arrived, from the first bit sent to the last one
        received. dropped: by reason.
    """

    def __init__(self, source: str, destination: str, queue_pair: int, on_settled: Callable[[int], None]) -> None:
        self._names = source, destination
        self._queue_pair = queue_pair
        self._on_settled = on_settled
        self.frames = self.marked = self.marked_before = self.out_of_order = 0
        self.latencies_ps: list[int] = []
        self.dropped: Counter[str] = Counter()
        self.latest_wait_ps = 0
        self._furthest = -1

    def on_arrival(self, frame: ReplayedFrame, now_ps: int, *, marked: bool) -> None:
        """A frame has arrived."""
        self.latencies_ps.append(now_ps - frame.sent_ps)
        self.latest_wait_ps = max(self.latest_wait_ps, frame.sent_ps - frame.due_ps)
        self.marked += marked
        self.marked_before += frame.was_marked
        self.out_of_order += frame.index < self._furthest
        self._furthest = max(self._furthest, frame.index)
        self._on_settled(now_ps)

    def on_loss(self, frame: ReplayedFrame, reason: str) -> None:  # noqa: ARG002 - a replayed flow's signature
        """A frame was lost."""
        self.dropped[reason] += 1
        self._on_settled(-1)

    def result(self) -> ReplayFlow:
        """Return how it stands now."""
        return ReplayFlow(
            *self._names,
            queue_pair=self._queue_pair,
            frames=self.frames,
            delivered=len(self.latencies_ps),
            marked=self.marked,
            marked_before=self.marked_before,
            out_of_order=self.out_of_order,
            dropped=dict(sorted(self.dropped.items())),
        )
