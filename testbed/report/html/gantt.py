"""What each rank did when: its compute and its waits on one line, what it sent on a second one below.

Stretches of one kind that are nearer to each other than could be seen are drawn as one.
"""

from collections.abc import Iterable
from typing import Any

from testbed.report.html.read import RunFiles
from traffic.results import COMPUTE, START

Span = tuple[int, int]
_FINEST = 3000
"""A run is so many times longer than the shortest gap that is drawn."""


def gantt(files: RunFiles) -> dict[str, Any]:
    """Return the names of the ranks, and by kind (compute, wait, send) [rank's index, start_ps, end_ps] of each bar."""
    found: dict[tuple[str, str], list[Span]] = {}
    waits = files.table("waits")
    if waits is not None:
        for rank, what, start, end in zip(*(waits[c] for c in ("rank", "what", "start_ps", "end_ps")), strict=True):
            if what != START:
                found.setdefault((rank, "compute" if what == COMPUTE else "wait"), []).append((start, end))
    messages = files.table("messages")
    if messages is not None:
        names = ("source", "posted_ps", "granted_ps", "arrived_ps")
        for rank, posted, granted, arrived in zip(*(messages[name] for name in names), strict=True):
            if arrived is not None:
                found.setdefault((rank, "send"), []).append((granted or posted, arrived))
    ranks = _in_order(files, {rank for rank, _ in found})
    gap = files.summary["duration_ps"] // _FINEST
    bars: dict[str, list[list[int]]] = {"compute": [], "wait": [], "send": []}
    for index, rank in enumerate(ranks):
        for kind, rows in bars.items():
            rows += [[index, start, end] for start, end in joined(found.get((rank, kind), ()), gap)]
    return {"ranks": ranks, **bars}


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
    """Ranks of collectives in their order, then the others as a person would sort them."""
    first = [name for collective in files.summary["collectives"] for name in collective["hosts"] if name in ranks]
    rest = sorted(ranks - set(first), key=lambda name: [int(p) if p.isdigit() else 0 for p in name[1:].split(".")])
    return [*dict.fromkeys(first), *rest]
