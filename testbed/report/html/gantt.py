"""What each rank did when: its compute and its waits on one line, what it sent on a second one below.

Stretches of one kind that are nearer to each other than could be seen are drawn as one; and of very many ranks those
that are nearer than that, until there are few enough for a page.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from testbed.report.html.read import RunFiles
from traffic.results import COMPUTE, START

Span = tuple[int, int]
FINEST = 3000
"""A run is so many times longer than the shortest gap that is drawn."""
MOST_BARS = 60_000
"""Bars of all ranks together, unless there are more ranks; each takes about 30 bytes of the page."""

Bars = dict[str, list[list[int]]]


def gantt(files: RunFiles) -> dict[str, Any]:
    """Return the names of the ranks, what each stalled in all (ps), and by kind (compute, wait, send) [rank's index,
    start_ps, end_ps] of each bar; `lacking` says why there is none."""
    found: dict[tuple[str, str], list[Span]] = {}
    for key, span in (*_waits(files), *_sends(files)):
        found.setdefault(key, []).append(span)
    ranks = _in_order(files, {rank for rank, _ in found})
    bars = _few_enough(found, ranks, max(1, files.summary["duration_ps"] // FINEST))
    return {"ranks": ranks, "stalls_ps": _stalls(files, ranks), "lacking": "" if ranks else _lacking(files), **bars}


def _few_enough(found: dict[tuple[str, str], list[Span]], ranks: list[str], gap: int) -> Bars:
    found = {key: joined(spans, gap) for key, spans in found.items()}
    fewest = len(found)  # one of each rank and kind
    while sum(map(len, found.values())) > max(MOST_BARS, fewest):
        gap *= 2
        found = {key: joined(spans, gap) for key, spans in found.items()}
    return {
        kind: [[index, *span] for index, rank in enumerate(ranks) for span in found.get((rank, kind), ())]
        for kind in ("compute", "wait", "send")
    }


def _waits(files: RunFiles) -> Iterator[tuple[tuple[str, str], Span]]:
    """Yield (rank, kind) and the time of each wait and calculation of collectives and traces."""
    waits = files.table("waits")
    if waits is not None:
        for rank, what, start, end in zip(*(waits[c] for c in ("rank", "what", "start_ps", "end_ps")), strict=True):
            if what != START:
                yield (rank, "compute" if what == COMPUTE else "wait"), (start, end)


def _sends(files: RunFiles) -> Iterator[tuple[tuple[str, str], Span]]:
    messages = files.table("messages")
    if messages is not None:
        names = ("source", "posted_ps", "granted_ps", "arrived_ps")
        for rank, posted, granted, arrived in zip(*(messages[name] for name in names), strict=True):
            if arrived is not None:
                yield (rank, "send"), (granted or posted, arrived)


def _stalls(files: RunFiles, ranks: list[str]) -> list[int]:
    found = dict.fromkeys(ranks, 0)
    for item in _with_ranks(files):
        for rank, stall_ps in (item["stall_ps_by_rank"] or {}).items():
            found[rank] = found.get(rank, 0) + stall_ps
    return [found[rank] for rank in ranks]


def _with_ranks(files: RunFiles) -> list[dict[str, Any]]:
    return [*files.summary["collectives"], *files.summary.get("traces", ())]


def _lacking(files: RunFiles) -> str:
    """Return why nothing is drawn."""
    if files.summary.get("replays") and not _with_ranks(files) and not files.summary["flows"]:
        return "The packets of a capture are sent when they are due: nobody waits for them."
    return "The run kept neither waits nor messages of ranks (measure: {series: true} records them)."


def joined(spans: Iterable[Span], gap: int) -> list[Span]:
    """Return `spans` in order, those that overlap or are at most `gap` apart as one."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start - result[-1][1] <= gap:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def _in_order(files: RunFiles, ranks: set[str]) -> list[str]:
    """Ranks of collectives and traces in their order, then the others as a person would sort them."""
    first = [name for item in _with_ranks(files) for name in item["hosts"] if name in ranks]
    rest = sorted(ranks - set(first), key=lambda name: [int(p) if p.isdigit() else 0 for p in name[1:].split(".")])
    return [*dict.fromkeys(first), *rest]
