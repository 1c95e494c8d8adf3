"""The part of the printed report about marks, pauses and credits: nothing where there were none.

What was marked and paused in all; the queues that it happened at; whether the headroom was enough; the tree of who
paused whom, from the port where it began; storms and deadlocks, port by port. A large tree is folded: of the ports
that one port paused those with the longest pauses are shown, the others are added up.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from testbed.report import style
from testbed.report.style import BAD, HEADING, QUIET, WARNING, Signs, count, indented, plain_table
from testbed.units import format_rate, format_size, format_time

Summary = Mapping[str, Any]

_MOST_QUEUES = 8
_MOST_LINES = 24
"""Lines of a tree that is not folded."""
_MOST_EVENTS = 8


def lossless(result: Summary, signs: Signs) -> Iterator[RenderableType]:
    """Yield the parts of the report for what happened, in the order of reading."""
    facts = list(_facts(result))
    if facts:
        details = [indented(Text(text, QUIET)) for text in (*_slowed(result), *_headroom(result))]
        yield Group(Text(", ".join(facts), HEADING), *details, *_queues(result))
    yield from _headroom_drops(result)
    pauses = result.get("pauses")
    if pauses:
        yield from _tree(pauses["roots"], signs)
        yield from _storms(pauses["storms"], signs)
        yield from (_deadlock(each) for each in pauses["deadlocks"])


# --- in all ----------------------------------------------------------------------------------------------------------


def _facts(result: Summary) -> Iterator[str]:
    totals = result["totals"]
    if totals["ecn_marked_packets"]:
        yield f"{count(totals['ecn_marked_packets'], 'packet')} marked"
    if totals["cnps_sent"]:
        yield f"{count(totals['cnps_sent'], 'CNP')} sent"
    if totals["pauses"]:
        duration = format_time(totals["pfc_pause_duration_ps"])
        yield f"{count(totals['pauses'], 'pause')} for {duration} in all"
    if totals["credit_wait_ps"]:
        yield f"{format_time(totals['credit_wait_ps'])} without credit in all"


def _slowed(result: Summary) -> Iterator[str]:
    congestion = result.get("congestion")
    if congestion and (result["totals"]["ecn_marked_packets"] or result["totals"]["cnps_sent"]):
        ((name, least),) = congestion["lowest"].items()
        text = format_rate(least) if name.endswith("_bps") else format_size(least)
        senders = count(len(congestion["queue_pairs"]), "sending queue pair")
        yield f"{congestion['kind']}: {senders}, at least {text} each"


# --- queues ----------------------------------------------------------------------------------------------------------


class _Queue(NamedTuple):
    """An egress queue, as the report shows it."""

    port: str
    priority: str
    peak_bytes: int
    marked: int
    dropped: int
    paused_ps: int
    waited_ps: int


def _queues(result: Summary) -> Iterator[RenderableType]:
    """The queues that marked, dropped, were paused or had no credit, and those where pauses began; longest first."""
    roots = {root["port"] for root in result.get("pauses", {}).get("roots", ())}
    queues = [each for each in _all_queues(result) if any(each[3:]) or (each.port in roots and each.peak_bytes)]
    if not queues:
        return
    queues.sort(key=lambda queue: -queue.peak_bytes)
    yield _queue_table(queues[:_MOST_QUEUES])
    if len(queues) > _MOST_QUEUES:
        yield indented(Text(f"{count(len(queues) - _MOST_QUEUES, 'more queue')}: rocelab counters", QUIET))
    yield from (indented(Text(text, QUIET)) for text in _thresholds(result, queues))


def _queue_table(queues: Sequence[_Queue]) -> RenderableType:
    """One line a queue; a column that would be all zeros is left out."""
    values = {
        "peak": ([queue.peak_bytes for queue in queues], style.sizes_alike),
        "marked": ([queue.marked for queue in queues], _counts),
        "dropped": ([queue.dropped for queue in queues], _counts),
        "paused": ([queue.paused_ps for queue in queues], style.times_alike),
        "no credit": ([queue.waited_ps for queue in queues], style.times_alike),
    }
    columns = {name: write(numbers) for name, (numbers, write) in values.items() if any(numbers)}
    table = plain_table(Column(Text("queue"), no_wrap=True))
    for name in columns:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for queue, cells in zip(queues, zip(*columns.values(), strict=True), strict=True):
        table.add_row(f"{queue.port} priority {queue.priority}", *cells)
    return table


def _counts(numbers: Sequence[int]) -> list[str]:
    return [f"{number:,}" for number in numbers]


def _all_queues(result: Summary) -> Iterator[_Queue]:
    for switch in result.get("switches", {}).values():
        for name, port in switch["ports"].items():
            for priority, queue in port["queues"].items():
                paused_ps = port.get("pauses", {}).get(priority, {}).get("rx_pfc_duration_ps", 0)
                waited_ps = port.get("credits", {}).get(priority, {}).get("credit_wait_ps", 0)
                marked, dropped = queue["ecn_marked_packets"], queue["dropped"]
                yield _Queue(name, priority, queue["peak_bytes"], marked, dropped, paused_ps, waited_ps)


def _thresholds(result: Summary, queues: Sequence[_Queue]) -> Iterator[str]:
    """Say where marking begins, as the scenario has it."""
    for priority, ecn in result["scenario"]["fabric"]["qos"]["ecn"].items():
        if any(queue.marked for queue in queues if queue.priority == str(priority)):
            by_time = ecn["by"] == "time"
            low, high = (ecn["tmin"], ecn["tmax"]) if by_time else (ecn["kmin"], ecn["kmax"])
            what = "by waiting time, " if by_time else ""
            yield f"priority {priority} is marked {what}from {low} to {high} with up to {ecn['pmax']:.3g}, all above"


# --- headroom --------------------------------------------------------------------------------------------------------


def _groups(result: Summary) -> Iterator[tuple[str, Summary]]:
    for switch in result.get("switches", {}).values():
        for name, port in switch["ports"].items():
            yield from ((name, group) for group in port["groups"].values() if "headroom_limit_bytes" in group)


def _headroom(result: Summary) -> Iterator[str]:
    """Where the headroom was used most."""
    used = [(group["headroom_peak_bytes"], name, group) for name, group in _groups(result)]
    peak, name, group = max(used, key=lambda item: item[0], default=(0, "", {}))
    if peak:
        limit = group["headroom_limit_bytes"]
        yield f"headroom used: at most {format_size(peak, 1)} of {format_size(limit, 1)}, at {name}"


def _headroom_drops(result: Summary) -> Iterator[RenderableType]:
    """Say plainly that a lossless class lost frames, and why."""
    full = [(name, group) for name, group in _groups(result) if group["by_reason"].get("headroom_full")]
    if not full:
        return
    lost = sum(group["by_reason"]["headroom_full"] for _, group in full)
    name, worst = max(full, key=lambda item: item[1]["by_reason"]["headroom_full"])
    has, needs = worst["headroom_limit_bytes"], worst["headroom_needed_bytes"]
    text = f"Too little headroom: {count(lost, 'frame')} of a lossless class dropped at {count(len(full), 'port')}"
    why = f"{name} has {format_size(has, 1)} for what arrives after XOFF"
    if has < needs:
        why += f"; its link needs {format_size(needs, 1)}, which 'headroom: auto' gives"
    elif result.get("control", {}).get("actions"):
        why += ", and was sent more: a policy switched it to lossy and back, or pause frames were lost, or ignored"
    else:
        why += ", and its sender did not stop: its pause frames were lost, or ignored"
    yield Group(Text(text, BAD), indented(Text(why)))


# --- the tree of pauses ----------------------------------------------------------------------------------------------

_FOLDS = ((8, 4), (4, 4), (4, 2), (2, 4), (2, 2), (1, 4), (1, 2), (1, 1))
"""Ways to fold a tree that is too long, the mildest first: how many branches of one port, and roots, are shown."""


class _Line(NamedTuple):
    """A line of the tree: who paused whom, how often, for how long."""

    text: Text
    pauses: int
    duration_ps: int


def _tree(roots: Sequence[Summary], signs: Signs) -> Iterator[RenderableType]:
    if not roots:
        return
    lines = _folded(roots, signs)
    table = plain_table(
        Column(no_wrap=True), Column(justify="right", no_wrap=True), Column(justify="right", no_wrap=True)
    )
    durations = style.times_alike([line.duration_ps for line in lines])
    for line, duration in zip(lines, durations, strict=True):
        table.add_row(line.text, f"{line.pauses:,}{signs.times}", duration)
    yield Group(Text("Who paused whom, from where it began", HEADING), table)


def _folded(roots: Sequence[Summary], signs: Signs) -> list[_Line]:
    """Return the tree, folded as far as it must be to have no more than so many lines; a long chain is cut off."""
    lines: list[_Line] = []
    for branches, shown in ((_MOST_LINES, len(roots)), *_FOLDS):
        lines = _lines(roots, shown, branches, signs)
        if len(lines) <= _MOST_LINES:
            return lines
    rest = lines[_MOST_LINES - 1 :]
    text = Text(f"{signs.more} and on: pauses in summary.json", QUIET)
    return [
        *lines[: _MOST_LINES - 1],
        _Line(text, sum(line.pauses for line in rest), sum(line.duration_ps for line in rest)),
    ]


def _lines(roots: Sequence[Summary], shown: int, branches: int, signs: Signs) -> list[_Line]:
    """Return the tree with so many roots, and branches of one port, shown; the others are added up."""
    named = len({branch["priority"] for root in roots for branch in _walk(root["branches"])}) > 1
    found = []
    for root in roots[:shown]:
        found.append(_line(Text(_root_name(root), BAD if root["kind"] == "storm" else ""), [root]))
        found += _branch_lines(root["branches"], "", branches, signs, named=named)
    if len(roots) > shown:
        found.append(_line(Text(f"{signs.more} {count(len(roots) - shown, 'more root')}", QUIET), roots[shown:]))
    return found


def _line(text: Text, items: Sequence[Summary]) -> _Line:
    return _Line(text, *(sum(item[key] for item in items) for key in ("pauses", "duration_ps")))


def _root_name(root: Summary) -> str:
    what = {"congestion": "congested", "nic": "a NIC that pauses", "storm": "a NIC in a pause storm"}[root["kind"]]
    return f"{root['port']}, {what}: paused {count(len(root['paused_ports']), 'port')}"


def _branch_lines(branches: Sequence[Summary], indent: str, most: int, signs: Signs, *, named: bool) -> Iterator[_Line]:
    shown, rest = branches[:most], [*_walk(branches[most:])]
    if len(rest) == 1:  # its own line is no longer than the one that adds up
        shown, rest = branches, []
    for index, branch in enumerate(shown):
        is_last = index == len(shown) - 1 and not rest
        name = f"{indent}{signs.last if is_last else signs.fork}{branch['sender']} {signs.to} {branch['paused']}"
        if named:
            name += " all" if branch["priority"] is None else f" priority {branch['priority']}"
        yield _line(Text(name), [branch])
        below = indent + ("   " if is_last else signs.trunk)
        yield from _branch_lines(branch["branches"], below, most, signs, named=named)
    if rest:
        yield _line(Text(f"{indent}{signs.last}{signs.more} {len(rest)} more", QUIET), rest)


def _walk(branches: Sequence[Summary]) -> Iterator[Summary]:
    for branch in branches:
        yield branch
        yield from _walk(branch["branches"])


# --- storms and deadlocks --------------------------------------------------------------------------------------------

_DONE = {"drop": "its frames dropped", "forward": "its frames sent all the same", "alert": "nothing done"}


def _storms(storms: Sequence[Summary], signs: Signs) -> Iterator[RenderableType]:
    """What watchdogs found at which queue, and did about it."""
    if not storms:
        return
    lines = [
        indented(
            Text(
                f"{storm['port']} priority {storm['priority']}: at {format_time(storm['time_ps'])}, "
                f"{_DONE[storm['action']]}, {_restored(storm)}"
            )
        )
        for storm in storms[:_MOST_EVENTS]
    ]
    if len(storms) > _MOST_EVENTS:
        lines.append(indented(Text(f"{signs.more} {len(storms) - _MOST_EVENTS} more", QUIET)))
    yield Group(Text(f"The PFC watchdog found {count(len(storms), 'queue')} in a storm", WARNING), *lines)


def _restored(storm: Summary) -> str:
    return (
        "not restored by the end"
        if storm["restored_ps"] is None
        else f"restored at {format_time(storm['restored_ps'])}"
    )


def _deadlock(deadlock: Summary) -> RenderableType:
    """The cycle, one buffer a line; each waits for the next, the last for the first."""
    title = f"Deadlock since {format_time(deadlock['since_ps'])}, found at {format_time(deadlock['found_ps'])}"
    table = plain_table(Column(no_wrap=True), Column(justify="right", no_wrap=True), Column(overflow="fold"))
    for step in deadlock["steps"]:
        queue = f"{step['port']} priority {step['priority']}"
        why = f"{deadlock['held_by']} {step['paused_by']} since {format_time(step['since_ps'])}, whose frames wait in"
        table.add_row(queue, format_size(step["bytes"], 1), why)
    first = deadlock["steps"][0]
    table.add_row(Text(f"{first['port']} priority {first['priority']} again", QUIET), "", "")
    return Group(Text(title, BAD), table)
