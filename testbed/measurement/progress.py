"""A progress bar in model time, on a terminal only: how far the model is, how much is done, how fast it goes.

    12.480us ━━━━━━━━━━━━━━━━━━━━━━━╸━━━━━━━━━━━━━━━  58 %  61,204 packet-hops/s

It goes to stderr, so that stdout keeps what a script reads; and it vanishes when the run is over. The run's loop calls
`update` as often as it likes: only a few calls a second draw anything. There is no thread behind it, which a run could
not afford next to its own work.
"""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress

from testbed.units import format_time

REDRAW_S = 0.2
"""Wall time between two drawings."""


class Progress(Protocol):
    """What a run reports to while it goes on. A context manager: leaving it takes the bar away."""

    def update(self, now_ps: int, packet_hops: int, share: float | None = None) -> None:
        """The model has come to `now_ps`, with so many packet-hops in all and `share` (0 to 1) of the work done."""

    def __enter__(self) -> "Progress": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def progress_on(console: Console, *, quiet: bool = False) -> Progress:
    """Return a progress bar on `console` (of stderr), or, without a terminal that can draw one, something silent."""
    if quiet or not console.is_terminal or console.is_dumb_terminal:
        return _Silent()
    return _Bar(console)


class _Silent:
    """Reports nothing."""

    def update(self, now_ps: int, packet_hops: int, share: float | None = None) -> None:
        pass

    def __enter__(self) -> "_Silent":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class _Bar:
    """The bar. `clock` returns wall time in seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._drawn_at = self._started_at = clock()
        self._hops_drawn = 0
        self._progress = RichProgress(
            TextColumn("{task.fields[model_time]:>12}", style="bold"),
            BarColumn(bar_width=None, complete_style="cyan", finished_style="cyan", pulse_style="cyan"),
            TextColumn("{task.fields[done]:>5}"),
            TextColumn("{task.fields[speed]}", style="dim"),
            console=console,
            auto_refresh=False,
            transient=True,
            expand=True,
        )
        self._task: TaskID = self._progress.add_task("", total=None, model_time=format_time(0), done="", speed="")

    def update(self, now_ps: int, packet_hops: int, share: float | None = None) -> None:
        now_s = self._clock()
        elapsed_s = now_s - self._drawn_at
        if elapsed_s < REDRAW_S:
            return
        speed = (packet_hops - self._hops_drawn) / elapsed_s
        self._drawn_at, self._hops_drawn = now_s, packet_hops
        self._draw(now_ps, speed, share)

    def _draw(self, now_ps: int, speed: float, share: float | None) -> None:
        self._progress.update(
            self._task,
            total=None if share is None else 1.0,
            completed=share,
            model_time=format_time(now_ps),
            done="" if share is None else f"{share:.0%}",
            speed=f"{speed:,.0f} packet-hops/s",
        )
        self._progress.refresh()

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
