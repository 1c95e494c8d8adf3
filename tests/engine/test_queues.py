"""Egress queues in a switch's memory: bounds to the byte, order, peaks."""

from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.frame import Frame
from testbed.engine.queues import DropTail, EgressQueue, SwitchMemory
from testbed.engine.reasons import SHARED_FULL
from tests.engine.kit import STEADY


def queues(memory_bytes: int, count: int = 1) -> tuple[SwitchMemory, list[EgressQueue]]:
    memory = SwitchMemory(memory_bytes)
    return memory, [EgressQueue(memory, DropTail(memory)) for _ in range(count)]


def test_a_frame_that_fits_to_the_byte_enters() -> None:
    memory, (queue,) = queues(3000)
    assert queue.enqueue(Frame(bytes(1000))) is None
    assert queue.enqueue(Frame(bytes(2000))) is None
    assert (queue.bytes, memory.used_bytes) == (3000, 3000)


def test_a_frame_one_byte_too_long_is_refused_and_leaves_no_trace() -> None:
    memory, (queue,) = queues(3000)
    queue.enqueue(Frame(bytes(1000)))
    assert queue.enqueue(Frame(bytes(2001))) == SHARED_FULL
    assert (queue.bytes, len(queue), queue.entered_frames, queue.dropped) == (1000, 1, 1, {SHARED_FULL: 1})
    assert (memory.used_bytes, memory.peak_bytes) == (1000, 1000)


def test_memory_is_shared_by_all_queues_of_a_switch() -> None:
    _, (one, other) = queues(3000, count=2)
    assert one.enqueue(Frame(bytes(2500))) is None
    assert other.enqueue(Frame(bytes(501))) == SHARED_FULL
    one.dequeue()
    assert other.enqueue(Frame(bytes(501))) is None


def test_an_empty_queue_hands_over_nothing() -> None:
    _, (queue,) = queues(3000)
    assert queue.dequeue() is None
    assert (queue.has_more(), queue.left_frames) == (False, 0)


operations = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 700)), max_size=60)
"""(queue, size of a frame to enter; 0: one leaves)."""


@STEADY
@given(operations)
def test_queues_hold_what_a_list_would(steps: list[tuple[int, int]]) -> None:
    memory, pair = queues(2000, count=2)
    model: list[list[int]] = [[], []]
    refused, peak, peaks = 0, 0, [0, 0]
    for index, size in steps:
        if size == 0:
            frame = pair[index].dequeue()
            assert (len(frame.data) if frame else None) == (model[index].pop(0) if model[index] else None)
        elif sum(map(sum, model)) + size <= 2000:
            assert pair[index].enqueue(Frame(bytes(size))) is None
            model[index].append(size)
        else:
            assert pair[index].enqueue(Frame(bytes(size))) == SHARED_FULL
            refused += 1
        peak = max(peak, sum(map(sum, model)))
        peaks = [max(most, sum(held)) for most, held in zip(peaks, model, strict=True)]
        assert [queue.bytes for queue in pair] == [sum(held) for held in model]
        assert [len(queue) for queue in pair] == [len(held) for held in model]
        assert 0 <= memory.used_bytes == sum(map(sum, model)) <= 2000
        assert all(queue.entered_frames == queue.left_frames + len(queue) for queue in pair)
    assert memory.peak_bytes == peak
    assert sum(queue.dropped.get(SHARED_FULL, 0) for queue in pair) == refused
    assert [queue.peak_bytes for queue in pair] == peaks
