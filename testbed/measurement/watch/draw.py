"""Draws a view for a terminal of any size: 80 columns by 24 lines are enough, and more show more.

    title                                     model time, wall time
    ━━━━━━━━━━━━━━━━━━━━━━━━╸━━━━━━━━━━━━━━━━━━━━━━━━━━  42 %  speed
    ╭─ ranks ───────────────────────╮╭─ ports ────────────────────────╮
    │ h3   ██████████▌        54 %  ││ leaf0-eth1  97 %  ▂▅█▇ 120KiB  │
    ╰───────────────────────────────╯╰────────────────────────────────╯
    pauses, marks, CNPs
    drops and their reasons, retransmissions
    who has waited longest, and for what

What does not fit is counted (``5 more ...``): ranks that are furthest behind, and ports that are busiest, come first.
"""

from collections.abc import Sequence

from rich.console import Console, Group, OverflowMethod, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from testbed.measurement.watch.view import JobView, PortView, View
from testbed.units import format_size, format_time

_NARROW = 76
"""Fewer columns than this have no room for two panels side by side."""
_LINES_AROUND = 5
"""Title, bar, two lines of counts, and the longest wait."""
_BORDER = 2
_BUSY = 0.8
_GOOD, _BAD, _WARNING, _QUIET, _BAR = "green", "bold red", "yellow", "dim", "cyan"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS, _ASCII_LEVELS = " ▁▂▃▄▅▆▇█", " .:-=+*%#"
_PADDING = (0, 1, 0, 0)


def draw(view: View, console: Console) -> RenderableType:
    """Return `view` drawn for `console`, as large as that is now."""
    return Drawing(console.width, console.height, ascii_only=console.options.ascii_only).of(view)


class Drawing:
    """Draws for `width` columns and `height` lines."""

    def __init__(self, width: int, height: int, *, ascii_only: bool = False) -> None:
        self._width = width
        self._height = height
        self._ascii = ascii_only
        self._cut: OverflowMethod = "crop" if ascii_only else "ellipsis"

    def of(self, view: View) -> RenderableType:
        """Return everything, top to bottom."""
        jobs = self._jobs(view)
        lines = self._height - _LINES_AROUND - len(jobs)
        below = self._line(_flow_control(view)), self._line(_losses(view)), self._line(_longest_wait(view))
        return Group(self._head(view), _whole(view), *jobs, *self._panels(view, lines), *below)

    def _head(self, view: View) -> RenderableType:
        times = Text(f"{format_time(view.now_ps)} of model time in {view.wall_s:.1f} s", _QUIET, no_wrap=True)
        table = Table.grid(Column(ratio=1), Column(), expand=True, padding=_PADDING)
        table.add_row(self._line(Text(view.title, "bold")), times)
        return table

    def _line(self, text: Text) -> Text:
        """Return a text that takes one line, cut where it must be."""
        text.no_wrap, text.overflow = True, self._cut
        return text

    def _panels(self, view: View, lines: int) -> list[RenderableType]:
        """Return ranks and ports in `lines` lines in all: side by side, or one below the other."""
        if self._width < _NARROW:
            rows = max(1, lines // 2 - _BORDER)
            return [self._ranks(view, self._width, rows), self._ports(view, self._width, rows)]
        left, rows = self._width * 9 // 20, max(1, lines - _BORDER)
        both = Table.grid()
        both.add_row(self._ranks(view, left, rows), self._ports(view, self._width - left, rows))
        return [both]

    # --- jobs ---------------------------------------------------------------------------------------------------------

    def _jobs(self, view: View) -> list[RenderableType]:
        """Return a line for each job, if there are several: those under way, furthest behind first, and the rest."""
        if len(view.jobs) < 2:
            return []
        room = max(1, self._height // 8)
        running = sorted((job for job in view.jobs if not job.done), key=lambda job: job.share)
        failed = sum(job.failed for job in view.jobs)
        counts = [f"{len(view.jobs) - len(running)} of {len(view.jobs)} jobs done"]
        counts += [f"{failed} failed"] if failed else []
        counts += [f"{len(running) - room} more under way"] if len(running) > room else []
        rest = self._line(Text(", ".join(counts), _BAD if failed else _QUIET))
        return [*map(self._job, running[:room]), rest]

    def _job(self, job: JobView) -> RenderableType:
        name = Text(job.name)
        name.truncate(self._width // 2, overflow=self._cut)
        return _row(name, _bar_line(job.share), Text(f"{job.share:.0%}"))

    # --- the two panels -----------------------------------------------------------------------------------------------

    def _ranks(self, view: View, width: int, rows: int) -> Panel:
        """Return all ranks that receive, in their order if they fit, else those furthest behind."""
        ranks = [(rank, rank.share) for rank in view.ranks if rank.share is not None]
        shown = ranks
        if len(ranks) > rows:
            shown = sorted(ranks, key=lambda item: (item[1], -item[0].waiting_ps))[: max(1, rows - 1)]
        several = len({rank.job for rank, _ in ranks}) > 1
        labels = [(f"{rank.name} {rank.job}" if several else rank.name)[: width // 2] for rank, _ in shown]
        bar = max(1, width - max(map(len, labels), default=0) - 11)
        table = Table.grid(Column(no_wrap=True), Column(width=bar), Column(justify="right"), padding=_PADDING)
        for (_, share), label in zip(shown, labels, strict=True):
            table.add_row(Text(label), self._bar(share, bar), Text(f"{share:.0%}"))
        return _panel("ranks: data received", table, len(ranks) - len(shown), "more ranks, further on", width, rows)

    def _ports(self, view: View, width: int, rows: int) -> Panel:
        """Return the busiest ports: how much of the link they use, what waits in their queues, and who is paused."""
        busy = [port for port in view.ports if port.utilisation or port.queue_bytes or port.paused]
        busy.sort(key=lambda port: (-round(port.utilisation, 2), -port.queue_bytes, port.name))
        shown = busy if len(busy) <= rows else busy[: max(1, rows - 1)]
        most = max((max(port.queue_history, default=0) for port in shown), default=0)
        spark = max(4, width - max((len(port.name) for port in shown), default=0) - 27)
        table = Table.grid(
            Column(no_wrap=True), Column(justify="right", width=4), Column(width=spark),
            Column(justify="right", width=7), Column(width=6), padding=_PADDING,
        )  # fmt: skip
        for port in shown:
            table.add_row(
                Text(port.name),
                Text(f"{port.utilisation:.0%}", "bold" if port.utilisation >= _BUSY else ""),
                self._spark(port, most, spark),
                Text(format_size(port.queue_bytes, 0) if port.queue_bytes else ""),
                Text("paused" if port.paused else "", _WARNING),
            )
        return _panel("ports: link in use, queue", table, len(busy) - len(shown), "more ports, less busy", width, rows)

    def _bar(self, share: float, width: int) -> Text:
        eighths = round(min(share, 1.0) * width * 8)
        if self._ascii:
            return Text("#" * (eighths // 8), _BAR)
        return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), _BAR)

    def _spark(self, port: PortView, most: int, width: int) -> Text:
        """Return the queue's peaks between looks, the last one right; all ports are on one scale, up to `most`."""
        levels = _ASCII_LEVELS if self._ascii else _LEVELS
        text = "".join(levels[-(-waits * (len(levels) - 1) // most)] if waits else " " for waits in port.queue_history)
        return Text(text[-width:].rjust(width), _WARNING)


def _whole(view: View) -> RenderableType:
    speed = f"{view.hops_per_s:,.0f} packet-hops, {format_time(round(view.model_ps_per_s), 1)} a second"
    return _row(_bar_line(view.share), Text(f"{view.share:.0%}", "bold"), Text(speed, _QUIET))


def _row(*cells: RenderableType) -> RenderableType:
    """Return cells in a line, of which the bar takes the room that the texts leave."""
    columns = [Column(no_wrap=True) if isinstance(cell, Text) else Column(ratio=1) for cell in cells]
    table = Table.grid(*columns, expand=True, padding=_PADDING)
    table.add_row(*cells)
    return table


def _bar_line(share: float) -> ProgressBar:
    return ProgressBar(total=1.0, completed=share, complete_style=_BAR, finished_style=_GOOD)


def _panel(title: str, table: Table, left_out: int, what: str, width: int, rows: int) -> Panel:
    more: Sequence[RenderableType] = [Text(f"{left_out:,} {what}", _QUIET)] if left_out else []
    return Panel(
        Group(table, *more), title=title, title_align="left", width=width, height=rows + _BORDER, border_style=_QUIET
    )


def _flow_control(view: View) -> Text:
    now = f" ({view.paused_now} ports now)" if view.paused_now else ""
    return _counts((view.pauses, f"pauses{now}"), (view.marks, "marks"), (view.cnps, "CNPs"), style=_WARNING)


def _losses(view: View) -> Text:
    reasons = ", ".join(f"{reason} {frames:,}" for reason, frames in sorted(view.drops.items()))
    drops = f"drops ({reasons})" if reasons else "drops"
    return _counts((view.retransmissions, "retransmissions"), (sum(view.drops.values()), drops), style=_BAD)


def _counts(*counts: tuple[int, str], style: str) -> Text:
    """Return counts of what a good run has little of; those that are 0 do not catch the eye."""
    return Text("  ").join(Text(f"{number:,} {what}", style if number else _QUIET) for number, what in counts)


def _longest_wait(view: View) -> Text:
    worst = view.worst
    if worst is None:
        return Text("no rank waits", _QUIET)
    return Text(f"{worst.name} has waited longest: {format_time(worst.waiting_ps)} so far, for {worst.waits_for}")
