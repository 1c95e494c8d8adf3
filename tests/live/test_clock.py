"""The clock with a wall that the test moves: no test here takes any time."""

import os

import pytest

from testbed.engine.loop import EventLoop
from testbed.live.clock import LiveClock


class Wall:
    """Wall time in ns. Each look at it takes `step_ns`."""

    def __init__(self, step_ns: int = 0) -> None:
        self.time_ns = 10**9
        self.step_ns = step_ns

    def now_ns(self) -> int:
        self.time_ns += self.step_ns
        return self.time_ns

    def sleep(self, _file: int, longest_ns: int) -> None:
        self.time_ns += longest_ns


class Ran:
    """Notes which events ran."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def note(self, name: str) -> None:
        self.names.append(name)


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def loop() -> EventLoop:
    return EventLoop()


@pytest.fixture
def ran() -> Ran:
    return Ran()


def test_model_time_is_wall_time_over_the_factor(wall: Wall, loop: EventLoop) -> None:
    clock = LiveClock(loop, 1000, wall)
    wall.time_ns += 5_000_000  # 5 ms of wall time at a factor of 1000 are 5 us
    assert clock.model_ps() == 5_000_000
    assert clock.due_ns(5_000_000) == wall.time_ns


def test_an_event_waits_for_its_wall_time(wall: Wall, loop: EventLoop, ran: Ran) -> None:
    clock = LiveClock(loop, 1000, wall)
    loop.at(2_000_000, ran.note, "due at 2 ms")
    wall.time_ns += 1_999_999
    clock.turn(0)
    assert ran.names == []
    wall.time_ns += 1
    clock.turn(0)
    assert ran.names == ["due at 2 ms"]
    assert clock.lateness.worst_ns == 0


def test_late_events_keep_their_order_and_their_model_times(wall: Wall, loop: EventLoop, ran: Ran) -> None:
    clock = LiveClock(loop, 1000, wall)
    loop.at(2_000_000, ran.note, "second")
    loop.at(1_000_000, ran.note, "first")
    wall.time_ns += 10_000_000
    clock.turn(0)
    assert ran.names == ["first", "second"]
    assert loop.now == 2_000_000
    assert (clock.lateness.events, clock.lateness.worst_ns) == (2, 9_000_000)


def test_what_comes_in_is_handled_now_and_never_in_the_past(wall: Wall, loop: EventLoop) -> None:
    clock = LiveClock(loop, 1000, wall)
    read_end, write_end = os.pipe()
    times: list[int] = []

    def take() -> None:
        times.append(clock.now_ps())
        os.read(read_end, 1)

    clock.watch(read_end, take)
    os.write(write_end, b"x")
    wall.time_ns += 3_000_000
    clock.turn(0)
    assert times == [3_000_000]
    loop.run(until_ps=9_000_000)
    assert clock.now_ps() == 9_000_000
    clock.forget(read_end)
    os.write(write_end, b"x")
    clock.turn(0)
    assert len(times) == 1
    clock.close()
    os.close(read_end)
    os.close(write_end)


def test_time_that_was_held_is_nobodys_lateness(wall: Wall, loop: EventLoop, ran: Ran) -> None:
    clock = LiveClock(loop, 1000, wall)
    loop.at(1_000_000, ran.note, "event")
    began_ns = wall.time_ns
    wall.time_ns += 7_000_000
    clock.held(began_ns)
    clock.turn(0)
    assert ran.names == []
    wall.time_ns += 1_000_000
    clock.turn(0)
    assert ran.names == ["event"]
    assert (clock.held_ns, clock.lateness.worst_ns) == (7_000_000, 0)


def test_a_restart_leaves_what_was_late_behind(wall: Wall, loop: EventLoop, ran: Ran) -> None:
    loop.run(until_ps=4_000_000)
    clock = LiveClock(loop, 1000, wall)
    assert clock.model_ps() == 4_000_000
    wall.time_ns += 5_000_000
    clock.restart()
    loop.at(4_000_001, ran.note, "event")
    clock.turn(0)
    assert clock.model_ps() == 4_000_000
    assert ran.names == []


def test_it_goes_on_until_told(loop: EventLoop, ran: Ran) -> None:
    wall = Wall()
    clock = LiveClock(loop, 1, wall)
    for time_ms in (1, 2, 3):
        loop.at(time_ms * 10**9, ran.note, f"{time_ms} ms")
    clock.run_for(10**9, lambda: len(ran.names) == 2)
    assert ran.names == ["1 ms", "2 ms"]
    assert clock.model_ps() == 2 * 10**9


def test_it_goes_on_until_the_time_is_over(loop: EventLoop) -> None:
    wall = Wall()
    clock = LiveClock(loop, 1, wall)
    clock.run_for(5_000_000, lambda: False)
    assert clock.elapsed_ns == 5_000_000
    assert clock.busy_ns == 0


def test_all_but_sleep_is_busy(loop: EventLoop, ran: Ran) -> None:
    clock = LiveClock(loop, 1, Wall(step_ns=1000))
    loop.at(0, ran.note, "event")
    clock.turn(0)
    assert clock.busy_ns > 0


def test_a_factor_below_one_is_refused(loop: EventLoop) -> None:
    with pytest.raises(ValueError, match="1 or more, found 0"):
        LiveClock(loop, 0)


def test_what_begins_after_a_while_without_events_begins_now(wall: Wall, loop: EventLoop) -> None:
    clock = LiveClock(loop, 1000, wall)
    wall.time_ns += 7_000_000
    clock.catch_up()
    assert loop.now == 7_000_000
    loop.at(8_000_000, print)
    wall.time_ns += 5_000_000
    clock.catch_up()
    assert loop.now == 8_000_000 - 1  # an event that is late is not overtaken


def test_time_that_was_held_inside_a_turn_is_not_busy(wall: Wall, loop: EventLoop) -> None:
    clock = LiveClock(loop, 1000, wall)

    def command(_nothing: object) -> None:
        began_ns = wall.time_ns
        wall.time_ns += 500_000_000
        clock.held(began_ns)

    loop.at(0, command)
    clock.turn(0)
    assert clock.busy_ns == 0
