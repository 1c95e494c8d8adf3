"""The model clock: order of events, and no way back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.loop import EventLoop
from tests.engine.kit import STEADY

Log = list[tuple[int, int]]

times = st.lists(st.integers(0, 10), max_size=40)


@STEADY
@given(times)
def test_events_run_by_time_and_then_in_the_order_they_were_scheduled(when: list[int]) -> None:
    loop, ran = EventLoop(), Log()
    for number, time in enumerate(when):
        loop.at(time, ran.append, (time, number))
    loop.run()
    assert ran == sorted((time, number) for number, time in enumerate(when))


def test_an_event_scheduled_for_now_runs_after_those_already_there() -> None:
    loop, ran = EventLoop(), []

    def first(_: object) -> None:
        ran.append("first")
        loop.at(loop.now, ran.append, "scheduled by first")

    loop.at(5, first)
    loop.at(5, ran.append, "second")
    loop.run()
    assert ran == ["first", "second", "scheduled by first"]


def test_now_is_the_time_of_the_running_event() -> None:
    loop, seen = EventLoop(), []
    for time in (30, 10, 20):
        loop.at(time, lambda _: seen.append(loop.now))
    loop.run()
    assert seen == [10, 20, 30]


def test_an_observer_sees_what_was_before_its_time_and_says_when_to_be_called_again() -> None:
    loop, ran, looks = EventLoop(), [], []
    for time in (9, 10, 35):
        loop.at(time, ran.append, time)

    def look(time_ps: int) -> int:
        looks.append((time_ps, list(ran), loop.now))
        return time_ps // 10 * 10 + 10

    loop.observe(10, look)
    assert loop.run_events(2)
    loop.run()
    assert looks == [(10, [9], 9), (35, [9, 10], 10)]


def test_the_past_is_refused() -> None:
    loop = EventLoop()
    loop.run(until_ps=100)
    with pytest.raises(ValueError, match="event at 99 ps is before now, 100 ps"):
        loop.at(99, print)


def test_run_until_includes_its_end_and_leaves_the_rest() -> None:
    loop = EventLoop()
    ran: list[int] = []
    for time in (9, 10, 11):
        loop.at(time, ran.append, time)
    loop.run(until_ps=10)
    assert (ran, loop.now, loop.next_time()) == ([9, 10], 10, 11)
    loop.run(until_ps=10_000)
    assert (ran, loop.now, loop.next_time()) == ([9, 10, 11], 10_000, None)


@STEADY
@given(times, st.integers(1, 7))
def test_running_in_turns_is_running_at_once(when: list[int], turn: int) -> None:
    loop, ran, turns = EventLoop(), Log(), 0
    for number, time in enumerate(when):
        loop.at(time, ran.append, (time, number))
    while loop.run_events(turn):
        turns += 1
        assert len(ran) == turns * turn
    assert ran == sorted((time, number) for number, time in enumerate(when))


def test_upkeep_runs_like_any_event_and_is_told_apart() -> None:
    loop, ran = EventLoop(), []
    assert loop.only_upkeep  # there is nothing else: there is nothing
    loop.upkeep_at(10, ran.append, "upkeep")
    assert loop.only_upkeep
    loop.at(5, ran.append, "work")
    assert not loop.only_upkeep
    loop.run(until_ps=5)
    assert (ran, loop.only_upkeep) == (["work"], True)
    loop.run()
    assert ran == ["work", "upkeep"]
    assert loop.next_time() is None


def test_while_upkeep_runs_it_is_no_longer_counted() -> None:
    loop, seen = EventLoop(), []
    loop.upkeep_at(1, lambda _: seen.append(loop.only_upkeep))
    loop.at(2, lambda _: None)
    loop.run()
    loop.upkeep_at(3, lambda _: seen.append(loop.only_upkeep))
    loop.run()
    assert seen == [False, True]


def test_the_next_work_is_found_behind_upkeep() -> None:
    loop = EventLoop()
    loop.upkeep_at(10, lambda _: None)
    assert (loop.next_time(), loop.next_work_time()) == (10, None)
    loop.at(30, lambda _: None)
    loop.at(20, lambda _: None)
    assert (loop.next_time(), loop.next_work_time()) == (10, 20)
