"""What ``rocelab explain`` prints: the chapters of a run's explanation, most costly first, as a table and as a story.

Of one rank, the parts of its stall, which add up to it, and the way that the largest of them came.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Column
from rich.text import Text

from testbed.report import style
from testbed.report.style import HEADING, QUIET, Signs, count, indented, plain_table
from testbed.units import format_time

Told = Mapping[str, Any]

_MOST_CHAPTERS = 10
"""Rows of the table of chapters."""
_TOLD_CHAPTERS = 3
"""Chapters that are told in sentences, too: those that cost most."""
_WORTH_TELLING = 0.005
"""A chapter below this share of all is not told."""
_MOST_PARTS = 16
_LONGEST_WAY = 8


def print_story(console: Console, title: str, told: Told) -> None:
    """Print why the ranks of a whole run stalled."""
    signs = Signs(console)
    _print(console, [Text(title, HEADING), *_whole(told, signs)])


def print_rank(console: Console, title: str, told: Told, rank: str) -> None:
    """Print why one rank (or the flows to one host) stalled."""
    signs = Signs(console)
    stalls = [stall for stall in told["stalls"] if stall["rank"] == rank]
    _print(console, [Text(title, HEADING), *(_of_stall(stall, told, signs) for stall in stalls)])


def _print(console: Console, parts: Sequence[RenderableType]) -> None:
    with console.capture() as captured:
        for part in parts:
            console.print()
            console.print(Padding(part, (0, 0, 0, 1), expand=False))
        console.print()
    style.write_tidy(console, captured.get())


def cost_line(told: Told) -> str:
    """Return what was lost in all: ``17.180s of GPU time lost by 4 ranks``."""
    ranks = {(s["collective"], s["trace"], s["rank"]) for s in told["stalls"] if s["flow"] is None and s["stall_ps"]}
    flows = sum(s["flow"] is not None and s["stall_ps"] > 0 for s in told["stalls"])
    lost = []
    if told["gpu_time_lost_ps"]:
        lost.append(f"{format_time(told['gpu_time_lost_ps'])} of GPU time, which {count(len(ranks), 'rank')} waited")
    if told["flow_time_lost_ps"]:
        lost.append(f"{format_time(told['flow_time_lost_ps'])} by which {count(flows, 'flow')} took longer than alone")
    return " and ".join(lost) or "nothing: no rank and no flow took longer than it would have alone"


def _whole(told: Told, signs: Signs) -> Iterator[RenderableType]:
    yield Text(f"Lost: {cost_line(told)}")
    chapters = told["chapters"]
    if not chapters:
        return
    yield _table(chapters, signs)
    for number, chapter in enumerate(chapters[:_TOLD_CHAPTERS], start=1):
        if number == 1 or chapter["share"] >= _WORTH_TELLING:
            yield _told(number, chapter)


def _table(chapters: Sequence[Told], signs: Signs) -> RenderableType:
    shown = chapters[:_MOST_CHAPTERS]
    table = plain_table(
        Column("what cost most", overflow="fold"),
        Column("time lost", justify="right", no_wrap=True),
        Column("share", justify="right", no_wrap=True),
        Column("stalled", justify="right", no_wrap=True),
        Column("from", justify="right", no_wrap=True),
        Column("to", justify="right", no_wrap=True),
    )
    for chapter in shown:
        table.add_row(
            Text(chapter["title"]),
            Text(format_time(_cost(chapter)), HEADING),
            Text(_share(chapter["share"])),
            Text(_stalled(chapter)),
            Text(format_time(chapter["first_ps"], 3), QUIET),
            Text(format_time(chapter["last_ps"], 3), QUIET),
        )
    if len(chapters) == len(shown):
        return table
    rest = chapters[len(shown) :]
    lost = format_time(sum(_cost(chapter) for chapter in rest))
    return Group(table, indented(Text(f"{signs.more} {len(rest)} more, {lost} in all, in explanation.json", QUIET)))


def _cost(chapter: Told) -> int:
    return int(chapter["ranks_ps"]) + int(chapter["flows_ps"])


def _share(share: float) -> str:
    return f"{share:.1%}" if share < 0.9995 or share == 1 else ">99.9%"


def _stalled(chapter: Told) -> str:
    stalled = (chapter["stalled_ranks"], "rank"), (chapter["stalled_flows"], "flow")
    return ", ".join(count(number, noun) for number, noun in stalled if number)


def _told(number: int, chapter: Told) -> RenderableType:
    heading = Text.assemble((f"{number}. {chapter['title']}", HEADING), f": {format_time(_cost(chapter))}")
    sentences = [indented(Text(sentence)) for sentence in chapter["sentences"]]
    most = [stalled for stalled in chapter["stalled"] if stalled["flow"] is None][:4]
    texts = [f"{stalled['rank']} {format_time(stalled['duration_ps'])}" for stalled in most]
    if texts:
        more = chapter["stalled_ranks"] - len(texts)
        sentences.append(indented(Text(f"Waited: {', '.join(texts)}{f', {more} more' if more else ''}.", QUIET)))
    return Group(heading, *sentences)


def _of_stall(stall: Told, told: Told, signs: Signs) -> RenderableType:
    job = next(f"{kind} {stall[kind]}" for kind in ("collective", "flow", "trace") if stall[kind] is not None)
    heading = f"{stall['rank']}, {job}: {format_time(stall['stall_ps'], 6)} longer than alone"
    if not stall["parts"]:
        return Text(heading, HEADING)
    table = plain_table(
        Column("cause", no_wrap=True),
        Column("where", no_wrap=True),
        Column("what", overflow="fold"),
        Column("time lost", justify="right", no_wrap=True),
        Column("from", justify="right", no_wrap=True),
        Column("to", justify="right", no_wrap=True),
    )
    shown = stall["parts"][:_MOST_PARTS]
    for part in shown:
        cause = told["causes"][part["cause"]]
        times = [format_time(part[name], 3) for name in ("duration_ps", "first_ps", "last_ps")]
        table.add_row(
            Text(cause["kind"]), Text(cause["where"]), Text(cause["detail"]), Text(times[0], HEADING), *times[1:]
        )
    lines: list[RenderableType] = [Text(heading, HEADING), table]
    rest = len(stall["parts"]) - len(shown) + stall["more_parts"]
    if rest:
        rest_ps = stall["stall_ps"] - sum(part["duration_ps"] for part in shown)
        lines.append(indented(Text(f"{signs.more} {rest} more, {format_time(rest_ps)} in all", QUIET)))
    if shown[0]["through"]:
        lines.append(indented(Text(f"the first came by {_way(shown[0]['through'], signs)}", QUIET)))
    return Group(*lines)


def _way(through: Sequence[Told], signs: Signs) -> str:
    steps = [f"{step['rank']} ({format_time(step['time_ps'])})" for step in through]
    if len(steps) > _LONGEST_WAY:
        steps = [*steps[: _LONGEST_WAY - 1], signs.more, steps[-1]]
    return f" {signs.to} ".join(steps)
