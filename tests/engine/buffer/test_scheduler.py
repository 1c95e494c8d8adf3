"""Which queue sends next: strict priorities, deficit round robin, pauses. And what a queue lets in."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.buffer.ingress import IngressGroup
from testbed.engine.buffer.marking import Ramp
from testbed.engine.buffer.memory import Alpha, SharedMemory
from testbed.engine.buffer.queue import ClassQueue
from testbed.engine.buffer.scheduler import PortScheduler
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.reasons import EGRESS_THRESHOLD, PFC_WATCHDOG, WRED
from testbed.engine.transmitter import Transmitter
from tests.engine.kit import ROCE_CLASS, STEADY, ip_frame_of

QUANTUM = 1000
SHARED = 1_000_000


class Port:
    """A scheduler whose frames are put in by hand."""

    def __init__(
        self,
        strict: tuple[int, ...] = (),
        weights: dict[int, int] | None = None,
        limited: bool = False,
        alpha: float = 1.0,
        reserved: int = 0,
    ) -> None:
        self.loop = EventLoop()
        self.memory = SharedMemory(SHARED, SHARED)
        self.transmitter = Transmitter(self.loop, "leaf0-eth1", 10**11, 0)
        self.groups = [IngressGroup(self.memory, 2, priority, 0, 2) for priority in range(8)]
        self.queues = [ClassQueue(self.memory, p, reserved, Alpha(alpha), limited=limited) for p in range(8)]
        self.scheduler = PortScheduler(self.loop, 1, self.transmitter, self.queues, strict, weights or {}, QUANTUM)

    def put(self, priority: int, size: int, traffic_class: int = ROCE_CLASS) -> str | None:
        frame = ip_frame_of(size + 24, traffic_class=traffic_class)
        frame.priority, frame.held_bytes, frame.group = priority, size, self.groups[priority]
        assert frame.group.admit(size) is None
        reason = self.scheduler.enqueue(frame)
        if reason is not None:
            frame.group.release(size)
        return reason

    def sends(self, frames: int) -> list[int]:
        """Return the priorities of the next frames."""
        taken = [self.scheduler.dequeue() for _ in range(frames)]
        return [frame.priority for frame in taken if frame is not None]


def test_one_queue_is_first_in_first_out() -> None:
    port = Port()
    for size in (100, 200, 300):
        port.put(3, size)
    assert [frame.held_bytes for frame in (port.scheduler.dequeue() for _ in range(3)) if frame] == [100, 200, 300]
    assert port.scheduler.dequeue() is None
    assert not port.scheduler.has_more()
    assert (port.memory.used_bytes, port.scheduler.bytes, port.scheduler.peak_bytes) == (0, 0, 600)


def test_strict_priorities_go_first_the_highest_before_the_others() -> None:
    port = Port(strict=(6, 7))
    for priority in (0, 6, 3, 7, 6, 7):
        port.put(priority, 100)
    assert port.sends(6)[:4] == [7, 7, 6, 6]


def shares(weights: dict[int, int], sizes: dict[int, int], frames: int = 4000) -> dict[int, int]:
    """Return the bytes that each priority sent of the first `frames` frames, when all always have some waiting."""
    port = Port(weights=weights)
    sent: Counter[int] = Counter()
    for priority, size in sizes.items():
        for _ in range(3):
            port.put(priority, size)
    for _ in range(frames):
        (priority,) = port.sends(1)
        sent[priority] += sizes[priority]
        port.put(priority, sizes[priority])
    return dict(sent)


@pytest.mark.parametrize("sizes", [{0: 1000, 3: 1000}, {0: 100, 3: 1000}, {0: 977, 3: 333}])
@pytest.mark.parametrize("weights", [{}, {3: 2}, {0: 3, 3: 5}])
def test_deficit_round_robin_shares_bytes_by_weight(weights: dict[int, int], sizes: dict[int, int]) -> None:
    """Shreedhar and Varghese: no queue is ever more than a grant and a frame away from its share."""
    sent = shares(weights, sizes)
    w = [weights.get(priority, 1) for priority in (0, 3)]
    assert abs(sent[0] / w[0] - sent[3] / w[1]) <= 2 * QUANTUM + max(sizes.values())


def test_a_queue_that_runs_empty_keeps_no_credit() -> None:
    port = Port()
    for _ in range(3):
        port.put(0, 100)
        port.put(3, 1000)
    port.sends(6)
    assert [queue.deficit_bytes for queue in port.queues] == [0] * 8


def test_a_paused_priority_is_passed_over_and_the_others_go_on() -> None:
    port = Port()
    for priority in (3, 3, 0):
        port.put(priority, 100)
    port.transmitter.paused_mask = 1 << 3
    assert port.scheduler.has_more()
    assert port.sends(3) == [0]
    assert not port.scheduler.has_more()
    port.transmitter.paused_mask = 0
    assert port.sends(3) == [3, 3]


def test_a_pause_that_is_not_obeyed_holds_nothing_up() -> None:
    port = Port()
    port.put(3, 100)
    port.transmitter.paused_mask = 1 << 3
    port.scheduler.obeyed_mask = 0xFF ^ 1 << 3
    assert port.sends(1) == [3]


def test_a_flushed_queue_is_empty_and_freed() -> None:
    port = Port()
    flushed: list[Frame] = []
    for priority in (3, 3, 0):
        port.put(priority, 100)
    port.scheduler.flush(3, flushed.append)
    assert len(flushed) == 2
    assert (port.scheduler.dropped, port.scheduler.flushed_frames) == ({PFC_WATCHDOG: 2}, 2)
    assert (port.memory.used_bytes, port.scheduler.bytes, len(port.scheduler)) == (100, 100, 1)
    assert port.sends(2) == [0]


@STEADY
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(60, 1000)), max_size=60),
    st.lists(st.integers(0, 255), min_size=1, max_size=60),
)
def test_every_frame_leaves_once_in_the_order_of_its_queue(puts: list[tuple[int, int]], masks: list[int]) -> None:
    port = Port(strict=(6, 7), weights={0: 3})
    for priority, size in puts:
        port.put(priority, size)
    left: list[tuple[int, int]] = []
    for mask in [*masks, *[0] * len(puts)]:
        port.transmitter.paused_mask = mask
        may = port.scheduler.has_more()
        frame = port.scheduler.dequeue()
        assert (frame is not None) == may
        if frame is not None:
            assert not mask >> frame.priority & 1
            left.append((frame.priority, frame.held_bytes))
    for priority in range(8):
        assert [item for item in left if item[0] == priority] == [item for item in puts if item[0] == priority]
    assert (port.memory.used_bytes, port.scheduler.bytes) == (0, 0)
    assert all(not any(group.waiting_bytes) for group in port.groups)


# --- what a queue lets in ---------------------------------------------------------------------------------------------


def test_a_lossy_queue_holds_alpha_times_free_to_the_byte() -> None:
    """T = alpha * (B - used), the frame itself being in the memory already: with alpha 1, x <= B - x."""
    port = Port(limited=True, alpha=1.0)
    while port.put(0, 1000) is None:
        pass
    assert port.queues[0].bytes == SHARED // 2
    assert port.queues[0].dropped == {EGRESS_THRESHOLD: 1}
    assert port.put(0, 100) == EGRESS_THRESHOLD
    assert port.put(1, 1000) is None  # another queue still gets in


@STEADY
@given(
    st.sampled_from([0.125, 0.5, 1.0, 2.0]), st.integers(0, SHARED - 2000), st.integers(60, 1500), st.integers(0, 900)
)
def test_the_egress_threshold_is_its_formula(alpha: float, used: int, size: int, reserved: int) -> None:
    port = Port(limited=True, alpha=alpha, reserved=reserved)
    port.memory.shared_used_bytes = used
    refused = port.put(0, size)
    fits = size - reserved <= int(alpha * 1000) * (SHARED - used - size) // 1000
    assert (refused is None) == fits


def test_a_lossless_queue_takes_all() -> None:
    port = Port(limited=False, alpha=0.001)
    assert all(port.put(3, 1000) is None for _ in range(900))


def test_the_watermark_is_the_most_since_it_was_cleared() -> None:
    port = Port()
    for _ in range(3):
        port.put(3, 100)
    port.sends(2)
    queue = port.queues[3]
    assert (queue.bytes, queue.watermark_bytes) == (100, 300)
    queue.clear_watermark()
    assert (queue.watermark_bytes, queue.peak_bytes) == (100, 300)
    port.put(3, 50)
    assert (queue.watermark_bytes, queue.peak_bytes) == (150, 300)


def test_a_frame_is_marked_by_the_bytes_that_it_finds() -> None:
    port = Port()
    port.queues[3].ramp = Ramp(250, 250, 1.0, Random(1))
    for _ in range(5):
        port.put(3, 100)
    marks = [frame.data[15] & 3 for frame in (port.scheduler.dequeue() for _ in range(5)) if frame]
    assert marks == [2, 2, 2, 3, 3]  # they found 0, 100, 200, 300 and 400 bytes
    assert port.queues[3].marked_frames == 2


def test_a_frame_is_marked_by_its_time_in_the_queue() -> None:
    port = Port()
    port.queues[3].time_ramp = Ramp(1000, 1000, 1.0, Random(1))
    marks = []
    for wait in (0, 1000, 1001):
        port.put(3, 100)
        port.loop.run(until_ps=port.loop.now + wait)
        frame = port.scheduler.dequeue()
        assert frame is not None
        marks.append(frame.data[15] & 3)
    assert marks == [2, 2, 3]


@pytest.mark.parametrize(("wred", "outcome"), [(True, WRED), (False, None)])
def test_what_cannot_be_marked_is_dropped_only_with_wred(wred: bool, outcome: str | None) -> None:
    port = Port()
    port.queues[0].ramp = Ramp(0, 0, 1.0, Random(1), drops_unmarkable=wred)
    assert port.put(0, 100, traffic_class=0) is None  # finds an empty queue
    assert port.put(0, 100, traffic_class=0) == outcome
    assert port.put(0, 100, traffic_class=1) is None  # ECT: marked instead
    assert port.queues[0].marked_frames == 1
    assert port.queues[0].dropped == ({WRED: 1} if wred else {})
