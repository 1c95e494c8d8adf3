"""When a watched run is looked at and drawn, and what becomes of the terminal.

On a terminal the view has a screen of its own, which goes when the run is over, however it ends: what was there before
is there again, and the report follows it. Where there is no terminal that can do so (a pipe, ``TERM=dumb``), a plain
line is written every few seconds instead.

Looking and drawing may take one part in `_SHARE` of wall time: after an expensive look the next one waits longer.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.live import Live

from testbed.measurement.watch.draw import draw
from testbed.measurement.watch.look import Onlooker, Watched
from testbed.measurement.watch.view import View
from testbed.units import format_time

REDRAW_S = 0.2
LINE_S = 5.0
"""Wall time between two drawings, and between two plain lines, at least."""
_SHARE = 25

Clock = Callable[[], float]


class Screen(Protocol):
    """Where a view is shown. A context manager: leaving it gives the terminal back."""

    def __enter__(self) -> "Screen": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, view: View) -> None:
        """Show `view` in place of the one before."""


class Terminal(Protocol):
    """The terminal that a screen is on, as others see it who stop the run (Ctrl-Z)."""

    taken: bool
    """Set while the alternate screen is in use: before it is switched on, unset before it is switched off."""
    shown: bool
    """Whether the terminal shows it now. Set with `taken`, unset by whoever has switched it off."""

    @property
    def hidden(self) -> bool:
        """Whether the terminal is somebody else's for now: nothing may be written to it."""


class Watch:
    """Watches one run on `screen`: `update` is called as often as the run's loop likes. `clock` gives wall seconds."""

    def __init__(self, screen: Screen, interval_s: float, clock: Clock = time.monotonic) -> None:
        self._screen = screen
        self._interval_s = interval_s
        self._clock = clock
        self._onlooker: Onlooker | None = None
        self._next_s = clock() + interval_s

    def update(self, run: Watched) -> None:
        """The run has gone on: look at it and draw it if it is time."""
        now_s = self._clock()
        if self._onlooker is None:
            self._onlooker = Onlooker(run, now_s)
        if now_s < self._next_s:
            return
        self._screen.show(self._onlooker.look(now_s))
        took_s = self._clock() - now_s
        self._next_s = now_s + max(self._interval_s, _SHARE * took_s)

    def __enter__(self) -> "Watch":
        self._screen.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._screen.__exit__(kind, error, trace)


def watch_on(console: Console, terminal: Terminal, clock: Clock = time.monotonic) -> Watch:
    """Return a watch on `console` (of stderr), which is `terminal`: a screen of its own there, or plain lines where
    that cannot be."""
    if console.is_terminal and not console.is_dumb_terminal:
        return Watch(FullScreen(console, terminal), REDRAW_S, clock)
    return Watch(PlainLines(console), LINE_S, clock)


class FullScreen:
    """The terminal's alternate screen, from the first view on; drawn by the run's own loop, with no thread.

    While the terminal is hidden nothing is drawn; whoever shows it again has the alternate screen on by then.
    """

    def __init__(self, console: Console, terminal: Terminal) -> None:
        self._console = console
        self._terminal = terminal
        self._live: Live | None = None

    def show(self, view: View) -> None:
        if self._terminal.hidden:
            return
        drawing = draw(view, self._console)
        if self._live is None:
            self._terminal.taken = True
            self._live = Live(drawing, console=self._console, screen=True, auto_refresh=False)
            self._live.start(refresh=True)
        else:
            self._live.update(drawing, refresh=True)

    def __enter__(self) -> "FullScreen":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._terminal.taken = False  # first of all: from now on nobody takes it again
            self._console.quiet = not self._terminal.shown
            self._live.stop()
            if not self._console.quiet:
                self._terminal.shown = False
            self._console.quiet = False


class PlainLines:
    """A line each time."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, view: View) -> None:
        self._console.print(plain_line(view), soft_wrap=True)

    def __enter__(self) -> "PlainLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def plain_line(view: View) -> str:
    """Return the view in one line."""
    parts = [
        f"{view.share:.0%} sent",
        f"{format_time(view.now_ps)} of model time in {view.wall_s:.0f} s",
        f"{view.hops_per_s:,.0f} packet-hops/s",
        f"{sum(view.drops.values()):,} drops, {view.pauses:,} pauses, {view.marks:,} marks",
    ]
    worst = view.worst
    wait = f"; {worst.name} has waited {format_time(worst.waiting_ps)} for {worst.waits_for}" if worst else ""
    return f"rocelab: {'; '.join(parts)}{wait}"
