"""One link with credits: how much may be outstanding, when updates go out, what a lost frame or update costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.credit.frames import read_update
from tests.engine.credit.kit import CONTROL_PS, DELAY_PS, DropFrames, Link
from tests.engine.kit import STEADY, ip_frame_of

FRAME_BYTES = 4170
"""Without FCS: 66 blocks, the last of them begun only."""
BLOCKS = 66
FRAME_PS = 4194 * 80
US = 1_000_000


@pytest.mark.parametrize(
    ("buffer", "frames"), [(65, 0), (66, 1), (131, 1), (132, 2), (10 * 66 - 1, 9), (10 * 66, 10), (2048, 31)]
)
def test_as_many_frames_are_outstanding_as_the_buffer_has_blocks_for(buffer: int, frames: int) -> None:
    link = Link(buffer)
    link.send(40)
    link.loop.run(until_ps=100 * US)
    assert frames == buffer // BLOCKS == len(link.keeper.kept)
    assert link.keeper.overruns == 0
    assert link.far.lanes[3].peak_blocks == frames * BLOCKS
    assert link.near.sending.credits(3) == buffer - frames * BLOCKS


def test_small_frames_take_whole_blocks() -> None:
    link = Link(10)
    link.send(20, wire_bytes=84)  # 60 bytes each
    link.loop.run(until_ps=100 * US)
    assert len(link.keeper.kept) == 10


def test_credit_comes_back_when_the_receiver_frees_it() -> None:
    """Freed at t: an update goes out at once, and the frame that waits leaves when it has arrived."""
    link = Link(2 * BLOCKS, growth="64B")
    link.send(3)
    freed = 10 * US
    link.take_at(freed)
    link.loop.run(until_ps=20 * US)
    left = freed + CONTROL_PS + DELAY_PS
    assert link.keeper.times[2] == left + FRAME_PS + DELAY_PS
    assert (link.near.sending.wait_ps(3), link.near.sending.waits(3)) == (left - 2 * FRAME_PS, 1)


def test_a_frame_that_waits_counts_while_it_waits() -> None:
    link = Link(BLOCKS)
    link.send(2)
    link.loop.run(until_ps=7 * US)
    assert (link.near.sending.wait_ps(3), link.near.sending.waits(3)) == (7 * US - FRAME_PS, 1)
    assert link.near.sending.held(3)


def test_an_update_says_both_counts() -> None:
    link = Link(2 * BLOCKS, growth="64B")
    link.send(2)
    link.take_at(5 * US)
    link.loop.run(until_ps=6 * US)
    sent, limit = 0, 3 * BLOCKS  # 2 received, 1 of 2 buffers free
    assert [(time, read_update(data)) for time, data in link.updates] == [(5 * US, {3: (sent, limit)})]


def test_little_credit_waits_for_more_or_for_the_interval() -> None:
    link = Link(10 * BLOCKS, growth="8448B", update="10us")  # two frames
    link.send(10)
    link.take_at(12 * US)
    link.take_at(13 * US)
    link.take_at(14 * US)
    link.loop.run(until_ps=60 * US)
    assert [time for time, _ in link.updates] == [13 * US, 23 * US]
    assert link.near.sending.credits(3) == 3 * BLOCKS


def test_an_update_that_waits_for_the_wire_is_rewritten() -> None:
    link = Link(4 * BLOCKS, growth="64B")
    link.send(4)
    link.loop.run(until_ps=4 * US)
    link.updates.clear()
    link.keeper.frames.append(ip_frame_of(4194))
    link.back.kick()
    link.take_at(4 * US + 1000)
    link.take_at(4 * US + 2000)
    link.loop.run(until_ps=5 * US)
    assert [read_update(data) for _, data in link.updates[1:]] == [{3: (0, 6 * BLOCKS)}]


def test_a_lost_update_is_mended_by_the_next() -> None:
    link = Link(BLOCKS, growth="64B", update="10us")
    link.back.impair(DropFrames(0, control=True))
    link.send(2)
    link.take_at(5 * US)
    link.loop.run(until_ps=14 * US)
    assert len(link.keeper.times) == 1
    link.loop.run(until_ps=20 * US)
    assert link.keeper.times[1] == 15 * US + CONTROL_PS + DELAY_PS + FRAME_PS + DELAY_PS


def test_the_credit_of_lost_frames_comes_back() -> None:
    """The receiver hears what was sent, and counts the missing blocks as received and free again."""
    link = Link(3 * BLOCKS, growth="64B", update="10us")
    link.data.impair(DropFrames(0, 1, control=False))
    link.send(3)
    link.loop.run(until_ps=100 * US)
    assert link.marks() == [2]
    assert link.near.sending.credits(3) == 2 * BLOCKS
    assert link.far.lanes[3].received == link.near.sending.sent[3] == 3 * BLOCKS


def test_a_quiet_link_says_nothing_more() -> None:
    link = Link(4 * BLOCKS, growth="64B")
    link.send(4)
    link.take_at(9 * US, 4)
    link.loop.run()
    assert link.loop.now < 40 * US
    assert link.near.sending.credits(3) == 4 * BLOCKS


def test_other_lanes_and_lossy_priorities_pass_a_lane_that_waits() -> None:
    link = Link(BLOCKS, lanes=(3, 6))
    link.send(2)
    link.send(1, traffic_class=48 << 2)  # priority 6, a lane of its own
    link.send(2, traffic_class=0)  # priority 0, which has no credits
    link.loop.run(until_ps=20 * US)
    assert [frame.priority for frame in link.keeper.kept] == [3, 6]
    assert len(link.keeper.times) == 4
    assert link.data.paused_mask == 1 << 3


def test_counters_wrap_in_the_middle_of_traffic() -> None:
    link = Link(4 * BLOCKS, growth="64B")
    frames = 3 * 4096 // BLOCKS
    link.send(frames)
    for number in range(frames):
        link.take_at((number + 5) * US)
    link.loop.run()
    assert len(link.keeper.times) == frames
    assert link.keeper.overruns == 0
    assert link.near.sending.sent[3] == frames * BLOCKS % 4096


@STEADY
@given(
    st.integers(66, 2048),
    st.lists(st.tuples(st.integers(84, 4194), st.integers(0, 3 * US)), min_size=1, max_size=60),
    st.sets(st.integers(0, 40)),
    st.sets(st.integers(0, 40)),
    st.sampled_from(["0B", "64B", "8KiB", "128KiB"]),
)
def test_nothing_overruns_and_all_arrives_whatever_is_lost(
    buffer: int, frames: list[tuple[int, int]], lost: set[int], lost_updates: set[int], growth: str
) -> None:
    """Frames of any size, taken out at any time, while data and updates are lost: no overrun, and no credit is lost."""
    link = Link(buffer, growth=growth)
    link.data.impair(DropFrames(*lost, control=False))
    link.back.impair(DropFrames(*lost_updates, control=True))
    time = 0
    for size, pause in frames:
        time += pause
        link.send(1, wire_bytes=size)
        link.take_at(time)
    for later in range(1, 200):
        link.take_at(time + later * 5 * US, 60)
    link.loop.run()
    dropped = sum(number in lost for number in range(len(frames)))
    assert len(link.keeper.times) == len(frames) - dropped
    assert link.keeper.overruns == 0
    assert link.near.sending.credits(3) == buffer
    assert link.far.lanes[3].used_blocks == 0
