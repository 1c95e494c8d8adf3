"""Ingress accounting: reserved, then shared up to T = alpha * (B - used), then headroom; back in the other order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.buffer.ingress import IngressGroup
from testbed.engine.buffer.memory import Alpha, SharedMemory
from testbed.engine.reasons import HEADROOM_FULL, INGRESS_THRESHOLD, SHARED_FULL
from tests.engine.kit import STEADY


class Told:
    """Notes who was told to pause and to go on."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def congested(self, group: IngressGroup) -> None:
        self.log.append(f"xoff {group.priority}")

    def relieved(self, group: IngressGroup) -> None:
        self.log.append(f"xon {group.priority}")


def lossy(shared: int = 1000, reserved: int = 0) -> tuple[SharedMemory, IngressGroup]:
    memory = SharedMemory(10_000, shared)
    return memory, IngressGroup(memory, 1, 0, reserved, 4)


def lossless(
    shared: int = 1000, reserved: int = 0, alpha: float = 0.5, headroom: int = 300, xon_offset: int = 100
) -> tuple[SharedMemory, IngressGroup, Told]:
    memory, told = SharedMemory(10_000, shared), Told()
    group = IngressGroup(memory, 1, 3, reserved, 4)
    group.protect(told, Alpha(alpha), headroom, xon_offset)
    return memory, group, told


def parts(group: IngressGroup) -> tuple[int, int, int]:
    return group.used_bytes - group.shared_bytes, group.shared_bytes, group.headroom_used_bytes


def test_reserved_bytes_come_first_and_cost_nothing_shared() -> None:
    memory, group = lossy(reserved=200)
    assert group.admit(150) is None
    assert (parts(group), memory.shared_used_bytes) == ((150, 0, 0), 0)
    assert group.admit(150) is None
    assert (parts(group), memory.shared_used_bytes, memory.used_bytes) == ((200, 100, 0), 100, 300)


def test_a_lossy_group_may_take_what_is_free_to_the_byte() -> None:
    memory, group = lossy(shared=1000, reserved=200)
    assert group.admit(1200) is None
    assert memory.shared_free_bytes == 0
    assert group.admit(1) == SHARED_FULL
    assert (group.dropped, memory.used_bytes) == ({SHARED_FULL: 1}, 1200)


def test_the_threshold_follows_alpha_times_free() -> None:
    """T = alpha * (B - used) with what is used before the frame: alone with alpha 1/2, a group of B = 1000 gets 500 of
    the first frame, or 333 byte by byte, where x = (1000 - x) / 2."""
    _, group, told = lossless(shared=1000, alpha=0.5)
    assert group.threshold() == 500
    assert group.admit(500) is None
    assert told.log == []
    assert group.threshold() == 250
    _, group, told = lossless(shared=1000, alpha=0.5)
    while not told.log:
        group.admit(1)
    assert (group.shared_bytes, group.headroom_used_bytes) == (333, 1)  # byte 334 finds T = 333.5


@STEADY
@given(st.sampled_from([1 / 64, 0.125, 0.5, 1.0, 2.0, 8.0]), st.integers(0, 900), st.integers(1, 400))
def test_a_frame_is_shared_exactly_while_it_fits_under_the_threshold(alpha: float, others: int, size: int) -> None:
    memory, group, _ = lossless(shared=1000, alpha=alpha, headroom=400)
    memory.shared_used_bytes = others
    group.admit(size)
    fits = size <= alpha * (1000 - others) and size <= 1000 - others
    assert parts(group) == ((0, size, 0) if fits else (0, 0, size))


def test_headroom_takes_a_whole_frame_and_asks_for_a_pause_once() -> None:
    memory, group, told = lossless(shared=1000, alpha=0.5, headroom=300)
    for size in (400, 150, 150):
        assert group.admit(size) is None
    assert parts(group) == (0, 400, 300)
    assert told.log == ["xoff 3"]
    assert memory.used_bytes == 700


def test_headroom_to_the_byte_and_one_more() -> None:
    _, group, _ = lossless(alpha=0.001, headroom=300)
    assert group.admit(300) is None
    assert group.admit(1) is None  # one byte is T
    assert group.admit(2) == HEADROOM_FULL
    assert (group.dropped, group.headroom_peak_bytes) == ({HEADROOM_FULL: 1}, 300)


def test_headroom_is_freed_first_then_shared_then_reserved() -> None:
    memory, group, _ = lossless(shared=1000, reserved=100, alpha=0.5, headroom=300)
    for size in (500, 250):
        group.admit(size)
    assert parts(group) == (100, 400, 250)
    group.release(300)
    assert (parts(group), memory.shared_used_bytes) == ((100, 350, 0), 350)
    group.release(400)
    assert (parts(group), memory.shared_used_bytes, memory.used_bytes) == ((50, 0, 0), 0, 50)


def test_xon_comes_at_the_offset_below_the_threshold() -> None:
    """With 100 B used T is 450; XON at 350 or less. At first: used 400, T = 300, XON at 200."""
    _, group, told = lossless(shared=1000, alpha=0.5, headroom=300, xon_offset=100)
    group.admit(400)
    group.admit(200)
    group.release(200)
    assert (parts(group), told.log) == ((0, 400, 0), ["xoff 3"])
    group.release(133)  # 267 left: T = 366, XON at 266
    assert told.log == ["xoff 3"]
    group.release(1)
    assert told.log == ["xoff 3", "xon 3"]


def test_an_empty_group_resumes_whatever_the_threshold() -> None:
    memory, group, told = lossless(alpha=0.5, xon_offset=900)
    memory.shared_used_bytes = 999
    group.admit(10)
    assert told.log == ["xoff 3"]
    group.release(10)
    assert told.log == ["xoff 3", "xon 3"]


def test_before_a_refresh_the_threshold_may_have_risen() -> None:
    memory, group, told = lossless(shared=1000, alpha=0.5, xon_offset=0, headroom=300)
    group.admit(200)
    memory.shared_used_bytes += 700
    group.admit(200)
    group.release(200)
    assert not group.resume_if_relieved()
    memory.shared_used_bytes -= 700
    assert group.resume_if_relieved()
    assert told.log == ["xoff 3", "xon 3"]


def test_a_group_made_lossy_resumes_and_drops() -> None:
    memory, group, told = lossless(shared=1000, alpha=0.1, headroom=300)
    group.admit(200)
    assert told.log == ["xoff 3"]
    group.set_lossless(False)
    assert told.log == ["xoff 3", "xon 3"]
    assert group.admit(100) is None
    assert group.admit(1) == INGRESS_THRESHOLD
    memory.shared_used_bytes = 1000
    assert group.admit(1) == SHARED_FULL


def test_a_group_made_lossless_again_pauses_at_once_while_its_headroom_is_in_use() -> None:
    _, group, told = lossless(shared=1000, alpha=0.1, headroom=300)
    assert not group.was_lossy
    group.admit(200)
    group.set_lossless(False)
    group.set_lossless(True)
    assert told.log == ["xoff 3", "xon 3", "xoff 3"]
    assert group.was_lossy
    group.set_lossless(True)
    assert told.log == ["xoff 3", "xon 3", "xoff 3"]
    group.release(200)
    assert told.log == ["xoff 3", "xon 3", "xoff 3", "xon 3"]
    group.set_lossless(False)
    group.set_lossless(True)
    assert len(told.log) == 4  # nothing is in the headroom


def test_a_lossy_group_that_is_made_lossy_never_was_anything_else() -> None:
    _, group = lossy()
    group.set_lossless(False)
    assert not group.was_lossy


def test_a_group_without_headroom_cannot_become_lossless() -> None:
    _, group = lossy()
    with pytest.raises(ValueError, match="priority 0 of port 1 has no headroom"):
        group.set_lossless(True)


steps = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 200)), max_size=120)
"""(group, size of a frame that arrives), or with size above 120: its oldest frame leaves."""


@STEADY
@given(steps, st.sampled_from([0.05, 0.125, 0.5, 1.0, 4.0]), st.integers(0, 60))
def test_accounting_is_never_negative_and_returns_to_zero(
    moves: list[tuple[int, int]], alpha: float, reserved: int
) -> None:
    memory = SharedMemory(2000, 700)
    groups = [IngressGroup(memory, 1, number, reserved, 4) for number in range(4)]
    for group in groups[2:]:
        group.protect(Told(), Alpha(alpha), 150, 20)
    held: list[list[int]] = [[], [], [], []]
    for index, size in moves:
        if size > 120:
            if held[index]:
                groups[index].release(held[index].pop(0))
        elif groups[index].admit(size) is None:
            held[index].append(size)
        for group, frames in zip(groups, held, strict=True):
            assert group.held_bytes == sum(frames)
            assert group.shared_bytes == max(group.used_bytes - reserved, 0)
            assert 0 <= group.headroom_used_bytes <= group.headroom_bytes
        assert memory.used_bytes == sum(map(sum, held))
        assert 0 <= memory.shared_used_bytes == sum(group.shared_bytes for group in groups) <= 700
    for group, frames in zip(groups, held, strict=True):
        for size in frames:
            group.release(size)
    assert (memory.used_bytes, memory.shared_used_bytes) == (0, 0)
    assert [parts(group) for group in groups] == [(0, 0, 0)] * 4
    assert not any(group.xoff for group in groups)
