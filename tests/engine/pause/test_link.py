"""Pauses over one link: when they begin and end, how they are refreshed, and what is counted."""

import pytest

from testbed.engine.frame import Frame
from testbed.engine.pause.frames import GLOBAL, pause_frame, pfc_frame, read_pause, read_pfc
from testbed.fabric.buffers import pause_ps
from tests.engine.kit import ip_frame_of, mark_of
from tests.engine.pause.kit import GBPS, SOURCE_MAC, Link

CONTROL_PS = 84 * 80
"""A control frame on a wire of 100 Gb/s."""
FRAME_PS = 4182 * 80
DELAY_PS = 500_000
RESPONSE_PS = 500_000
ON_THE_WAY_PS = CONTROL_PS + DELAY_PS + RESPONSE_PS
"""From the decision to the obedience over an idle wire."""


def busy(link: Link, frames: int = 30) -> None:
    for mark in range(frames):
        link.source.frames.append(ip_frame_of(4182, mark))
    link.data.kick()


def starts(link: Link) -> list[int]:
    """When each data frame that has arrived began to be sent."""
    return [time - DELAY_PS - FRAME_PS for time in link.arrivals.times]


def test_a_port_finishes_its_frame_and_then_stops() -> None:
    link = Link()
    busy(link)
    link.pause_at(0)
    link.loop.run(until_ps=10_000_000)
    stops = -(-ON_THE_WAY_PS // FRAME_PS) * FRAME_PS
    assert starts(link) == list(range(0, stops, FRAME_PS))
    assert link.receiver.paused(3)


@pytest.mark.parametrize("rate_gbps", [10, 25, 100, 400, 800])
@pytest.mark.parametrize("quanta", [1, 100, 0xFFFF])
def test_a_pause_lasts_its_quanta_at_the_links_rate(rate_gbps: int, quanta: int) -> None:
    link = Link(rate_bps=rate_gbps * GBPS)
    link.back.send_control(Frame(pfc_frame(SOURCE_MAC, {3: quanta})))
    link.loop.run()
    assert link.receiver.duration_ps(3) == quanta * 512 * 1000 // rate_gbps
    assert not link.receiver.paused(3)


def test_xon_ends_a_pause_after_the_response_time() -> None:
    link = Link()
    link.pause_at(0)
    link.resume_at(3_000_000)
    link.loop.run()
    assert link.receiver.duration_ps(3) == 3_000_000
    assert link.loop.now > 3_000_000 + ON_THE_WAY_PS - 1


def test_traffic_goes_on_in_the_instant_of_xon() -> None:
    link = Link()
    link.pause_at(0)
    link.loop.at(2_000_000, lambda _: busy(link, 1))
    link.resume_at(5_000_000)
    link.loop.run()
    assert starts(link) == [5_000_000 + ON_THE_WAY_PS]


def test_a_later_frame_replaces_the_time_of_an_earlier_one() -> None:
    """Longer or shorter: what counts is the last one's time from its own obedience on."""
    for first, second in ((100, 1000), (1000, 100)):
        link = Link()
        link.back.send_control(Frame(pfc_frame(SOURCE_MAC, {3: first})))
        link.back.send_control(Frame(pfc_frame(SOURCE_MAC, {3: second})))
        link.loop.run()
        assert link.receiver.duration_ps(3) == CONTROL_PS + pause_ps(second, 100 * GBPS)
        assert link.receiver.transitions[3] == 1


def test_xoff_is_refreshed_before_it_runs_out() -> None:
    link = Link(quanta=1000, refresh=0.5)
    whole = pause_ps(1000, 100 * GBPS)
    link.pause_at(0)
    link.resume_at(2 * whole + 1)
    link.loop.run()
    sent = [0, whole // 2, whole, 3 * whole // 2, 2 * whole]
    assert [time for time, _ in link.control] == [*sent, 2 * whole + CONTROL_PS]  # XON waits for the last XOFF to leave
    assert link.refreshed == [(time, 3) for time in sent[1:]]
    assert (link.sender.xoff_frames[3], link.sender.xon_frames[3]) == (5, 1)
    assert (link.receiver.xoff_frames[3], link.receiver.xon_frames[3]) == (5, 1)
    assert (link.receiver.transitions[3], link.receiver.duration_ps(3)) == (1, 2 * whole + CONTROL_PS)
    assert [(p.start_ps, p.end_ps, p.refreshes) for p in link.journal.pauses] == [(0, 2 * whole + 1, 4)]


def test_a_pause_that_began_anew_is_refreshed_from_then_on() -> None:
    link = Link(quanta=1000, refresh=0.5)
    half = pause_ps(1000, 100 * GBPS) // 2
    link.pause_at(0)
    link.resume_at(1_000_000)
    link.pause_at(1_500_000)
    link.resume_at(1_500_000 + half + 500_000)
    link.loop.run()
    assert link.refreshed == [(1_500_000 + half, 3)]


def test_changes_of_one_instant_go_into_one_frame() -> None:
    link = Link(enabled=0xFF)
    link.pause_at(0, 3)
    link.pause_at(0, 4)
    link.loop.run(until_ps=2_000_000)
    assert [read_pfc(data) for _, data in link.control] == [{3: 0xFFFF, 4: 0xFFFF}]
    assert link.data.paused_mask == 0b11000


def test_a_frame_that_waits_for_the_wire_is_rewritten() -> None:
    """XOFF and XON while a data frame holds the wire: one frame goes out, with the last word, and is counted so."""
    link = Link(enabled=0xFF)
    link.back_source.frames.append(ip_frame_of(4182, 1))
    link.back.kick()
    link.pause_at(1000, 3)
    link.pause_at(2000, 4)
    link.resume_at(3000, 3)
    link.loop.run(until_ps=2_000_000)
    assert [(time, read_pfc(data)) for time, data in link.control[1:]] == [(FRAME_PS, {3: 0, 4: 0xFFFF})]
    assert (link.sender.xoff_frames[3], link.sender.xon_frames[3], link.sender.xoff_frames[4]) == (0, 1, 1)


def test_control_goes_before_waiting_data_but_not_into_a_frame() -> None:
    link = Link()
    for mark in range(3):
        link.back_source.frames.append(ip_frame_of(4182, mark))
    link.back.kick()
    link.pause_at(1000)
    link.loop.run(until_ps=5_000_000)
    assert [time for time, _ in link.control] == [0, FRAME_PS, FRAME_PS + CONTROL_PS, 2 * FRAME_PS + CONTROL_PS]
    assert read_pfc(link.control[1][1]) == {3: 0xFFFF}
    assert [mark_of(frame) for _, frame in link.back_arrivals.log] == [0, 1, 2]  # control frames are taken out
    assert (link.back.sent_frames, link.back.sent_control_frames, link.back.delivered_frames) == (4, 1, 4)


def test_a_priority_without_flow_control_is_counted_but_not_obeyed() -> None:
    link = Link(enabled=1 << 3)
    link.pause_at(0, 4)
    link.loop.run(until_ps=5_000_000)
    assert (link.receiver.xoff_frames[4], link.data.paused_mask) == (1, 0)


def test_pause_stops_the_whole_link_with_the_first_and_frees_it_with_the_last() -> None:
    link = Link(enabled=0xFF, kind="pause")
    link.pause_at(0, 3)
    link.pause_at(1_000_000, 4)
    link.resume_at(2_000_000, 3)
    link.loop.run(until_ps=4_000_000)
    assert link.data.paused_mask == 0xFF
    link.resume_at(5_000_000, 4)
    link.loop.run()
    assert link.data.paused_mask == 0
    assert [(time, read_pause(data)) for time, data in link.control] == [(0, 0xFFFF), (5_000_000, 0)]
    assert (link.sender.xoff_frames[GLOBAL], link.receiver.xon_frames[GLOBAL]) == (1, 1)
    assert [(pause.priority, pause.end_ps) for pause in link.journal.pauses] == [(None, 5_000_000)]


def test_a_pause_of_all_priorities_is_refreshed_whoever_began_it() -> None:
    link = Link(enabled=0xFF, kind="pause", quanta=1000)
    half = pause_ps(1000, 100 * GBPS) // 2
    link.pause_at(0, 3)
    link.pause_at(1000, 4)
    link.resume_at(2000, 3)
    link.resume_at(2 * half + 1, 4)
    link.loop.run()
    assert [time for time, data in link.control if read_pause(data)] == [0, half, 2 * half]
    assert link.receiver.duration_ps(0) == 2 * half + CONTROL_PS


@pytest.mark.parametrize(
    "data", [pause_frame(SOURCE_MAC, 5)[:14] + b"\x00\x02" + bytes(44), bytes(12) + b"\x88\x08" + bytes(46)]
)
def test_unknown_control_frames_are_ignored(data: bytes) -> None:
    link = Link(enabled=0xFF)
    link.back.send_control(Frame(data))
    link.loop.run()
    assert (link.data.paused_mask, sum(link.receiver.xoff_frames), sum(link.receiver.xon_frames)) == (0, 0, 0)


def test_an_open_pause_is_upkeep_only() -> None:
    link = Link()
    link.pause_at(0)
    link.loop.run(until_ps=2_000_000)
    assert link.loop.only_upkeep
