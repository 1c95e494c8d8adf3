"""When a watched run is drawn, and what becomes of the terminal."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from testbed.measurement.watch import screen
from testbed.measurement.watch.screen import LINE_S, REDRAW_S, FullScreen, PlainLines, Watch, plain_line, watch_on
from testbed.measurement.watch.view import View
from tests.measurement.watch.examples import BUSY, EMPTY, QUIET

ENTER, LEAVE, HIDE, SHOW = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h"


class Clock:
    """Wall time that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


class Shared:
    """Stands for the terminal as others know it: `hidden` while it is somebody else's, unless it is `shown`."""

    def __init__(self) -> None:
        self._taken = False
        self.shown = False

    @property
    def taken(self) -> bool:
        return self._taken

    @taken.setter
    def taken(self, taken: bool) -> None:
        self._taken = taken
        self.shown = taken or self.shown

    @property
    def hidden(self) -> bool:
        return self.taken and not self.shown


class Looker:
    """Stands for an onlooker: a look costs `cost_s` of wall time."""

    def __init__(self, clock: Clock, cost_s: float) -> None:
        self._clock = clock
        self._cost_s = cost_s
        self.looks: list[float] = []

    def look(self, now_s: float) -> View:
        self.looks.append(now_s)
        self._clock.seconds += self._cost_s
        return QUIET


def terminal(kind: str = "xterm", *, is_terminal: bool = True) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    console = Console(
        file=stream, force_terminal=is_terminal, width=80, height=24, color_system=None, _environ={"TERM": kind}
    )
    return console, stream


def looks_of(cost_s: float, seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Update a watch a hundred times a second for so long; return when it looked."""
    clock = Clock()
    looker = Looker(clock, cost_s)
    monkeypatch.setattr(screen, "Onlooker", lambda _run, _now: looker)
    watch = Watch(PlainLines(terminal()[0]), REDRAW_S, clock)
    run: Any = SimpleNamespace()
    while clock.seconds < 100.0 + seconds:
        watch.update(run)
        clock.seconds += 0.01
    return looker.looks


def test_it_looks_a_few_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 / REDRAW_S * 10 * 0.9 <= len(looks_of(0.0, 10.0, monkeypatch)) <= 1 / REDRAW_S * 10


def test_an_expensive_look_is_made_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look of 50 ms: at most one part in 25 of wall time."""
    looks = looks_of(0.05, 60.0, monkeypatch)
    assert len(looks) * 0.05 <= 60.0 / 25 + 0.05


def test_the_screen_is_of_its_own_and_is_given_back() -> None:
    console, stream = terminal()
    with FullScreen(console, Shared()) as shown:
        assert stream.getvalue() == "", "nothing before there is something to see"
        shown.show(QUIET)
        shown.show(BUSY)
    text = stream.getvalue()
    assert text.startswith(ENTER)
    assert "An All-Reduce beside an incast" in text
    assert text.count(ENTER) == text.count(LEAVE) == 1
    assert text.rindex(SHOW) > text.rindex(HIDE)


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_it_is_given_back_whatever_happens(end: type[BaseException]) -> None:
    console, stream = terminal()

    def die() -> None:
        with FullScreen(console, Shared()) as shown:
            shown.show(QUIET)
            raise end

    with pytest.raises(end):
        die()
    assert stream.getvalue().count(LEAVE) == 1
    assert stream.getvalue().rindex(SHOW) > stream.getvalue().rindex(HIDE)


def test_an_error_before_the_first_view_finds_the_terminal_as_it_was() -> None:
    console, stream = terminal()
    with pytest.raises(RuntimeError), FullScreen(console, Shared()):
        raise RuntimeError
    assert stream.getvalue() == ""


def test_while_the_terminal_is_somebody_elses_nothing_is_written() -> None:
    console, stream = terminal()
    shared = Shared()
    with FullScreen(console, shared) as shown:
        assert not shared.taken
        shown.show(QUIET)
        assert shared.taken
        shared.shown = False
        before = stream.getvalue()
        shown.show(BUSY)
        assert stream.getvalue() == before
        shared.shown = True
        shown.show(BUSY)
        assert "An All-Reduce beside an incast" in stream.getvalue()
    assert (shared.taken, shared.shown) == (False, False)
    assert stream.getvalue().count(LEAVE) == 1


def test_a_run_that_ends_while_hidden_leaves_the_terminal_alone() -> None:
    """Whoever hid it has left the alternate screen already."""
    console, stream = terminal()
    shared = Shared()
    with FullScreen(console, shared) as shown:
        shown.show(QUIET)
        shared.shown = False
        before = stream.getvalue()
    assert stream.getvalue() == before
    console.print("the report")
    assert stream.getvalue().endswith("the report\n")


@pytest.mark.parametrize(("kind", "is_terminal"), [("dumb", True), ("xterm", False)])
def test_lines_where_there_is_no_terminal_to_draw_on(kind: str, is_terminal: bool) -> None:
    console, stream = terminal(kind, is_terminal=is_terminal)
    watch = watch_on(console, Shared())
    assert isinstance(watch._screen, PlainLines)
    assert watch._interval_s == LINE_S
    watch._screen.show(BUSY)
    assert stream.getvalue() == plain_line(BUSY) + "\n"
    assert "\x1b" not in stream.getvalue()


def test_a_screen_on_a_terminal() -> None:
    watch = watch_on(terminal()[0], Shared())
    assert isinstance(watch._screen, FullScreen)
    assert watch._interval_s == REDRAW_S


def test_a_plain_line() -> None:
    assert plain_line(BUSY) == (
        "rocelab: 56% sent; 412.346us of model time in 12 s; 37,131 packet-hops/s; "
        "1,235 drops, 125 pauses, 6,540 marks; h15 has waited 15ns for data from h14"
    )
    assert plain_line(EMPTY).endswith("0 drops, 0 pauses, 0 marks")
