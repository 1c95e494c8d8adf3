"""The progress bar: on a terminal only, a few times a second only, and gone at the end."""

import io

import pytest
from rich.console import Console

from testbed.measurement import progress
from testbed.measurement.progress import REDRAW_S, progress_on


class Clock:
    """Wall time that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def terminal(width: int = 80) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, force_terminal=True, width=width, color_system=None), stream


@pytest.fixture(autouse=True)
def _term(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_model_time_share_and_speed() -> None:
    console, stream = terminal()
    clock = Clock()
    with progress._Bar(console, clock) as bar:
        clock.seconds += 0.5
        bar.update(123_456_789, 30_000, 0.25)
    drawn = stream.getvalue()
    assert "123.457us" in drawn
    assert "25%" in drawn
    assert "60,000 packet-hops/s" in drawn


def test_speed_is_that_since_the_last_drawing() -> None:
    console, stream = terminal()
    clock = Clock()
    with progress._Bar(console, clock) as bar:
        for hops in (10_000, 60_000):
            clock.seconds += 1.0
            bar.update(0, hops)
    assert "10,000 packet-hops/s" in stream.getvalue()
    assert "50,000 packet-hops/s" in stream.getvalue()


def test_it_draws_a_few_times_a_second() -> None:
    console, stream = terminal()
    clock = Clock()
    with progress._Bar(console, clock) as bar:
        for step in range(1000):
            clock.seconds += REDRAW_S / 100
            bar.update(step, step)
    assert 9 <= stream.getvalue().count("packet-hops/s") <= 12


def test_it_takes_itself_away() -> None:
    console, stream = terminal()
    with progress_on(console):
        pass
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K") or stream.getvalue().endswith("\x1b[2K")


@pytest.mark.parametrize("quiet", [True, False])
def test_nothing_in_a_pipe(quiet: bool) -> None:
    stream = io.StringIO()
    with progress_on(Console(file=stream), quiet=quiet) as bar:
        bar.update(1, 1, 0.5)
    assert stream.getvalue() == ""


def test_nothing_when_quiet_or_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    console, stream = terminal()
    with progress_on(console, quiet=True) as bar:
        bar.update(1, 1)
    monkeypatch.setenv("TERM", "dumb")
    dumb, more = terminal()
    with progress_on(dumb) as bar:
        bar.update(1, 1)
    assert stream.getvalue() == more.getvalue() == ""
