"""Where the time went: what each rank or flow lost to which kind of cause, and the story's chapters, with times."""

from typing import Any

from testbed.measurement.causes.model import KINDS
from testbed.report.html.gantt import FINEST, joined
from testbed.report.html.read import Rows, RunFiles

_MOST_CHAPTERS = 12
_KEPT = ("kind", "title", "ranks_ps", "flows_ps", "share", "first_ps", "last_ps", "sentences")

Chapter = dict[str, Any]


def causes(files: RunFiles) -> dict[str, Any]:
    """Return, by rank (or both ends of a flow) and kind of cause, [time lost, when it began]; and the chapters.

    A chapter's `spans` ([from, to]) are when anybody lost time to it: of its kind, with its origin and reason.
    """
    told, table = files.story(), files.table("causes")
    by_rank = {} if table is None else _by_rank(files, table)
    chapters: list[Chapter] = told["chapters"] if told is not None else []
    gap = files.summary["duration_ps"] // FINEST
    return {
        "missing": _why_missing(files) if told is None else None,
        "kinds": {kind: text for kind, text in KINDS.items() if any(kind in of_rank for of_rank in by_rank.values())},
        "by_rank": by_rank,
        "chapters": [
            {**{key: chapter[key] for key in _KEPT}, "spans": _spans(chapter, table, gap)}
            for chapter in chapters[:_MOST_CHAPTERS]
        ],
        "more_chapters": max(0, len(chapters) - _MOST_CHAPTERS),
    }


def _why_missing(files: RunFiles) -> str:
    failed = next((each for each in files.summary["invariants"] if each["name"] == "causes" and not each["ok"]), None)
    if failed is not None:
        return f"The run could not be explained: {failed['detail']}"
    return "The run did not look for causes (measure: {causes: true} does, on the virtual clock)."


def _by_rank(files: RunFiles, table: Rows) -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = {}
    sources = (files.table("flows") or {}).get("source", ())
    columns = (table[name] for name in ("flow", "rank", "cause", "duration_ps", "first_ps"))
    for flow, rank, cause, duration, first in zip(*columns, strict=True):
        who = rank if flow is None else f"{sources[flow]} to {rank}"
        lost = found.setdefault(who, {}).setdefault(cause, [0, first])
        lost[0] += duration
        lost[1] = min(lost[1], first)
    return found


def _spans(chapter: Chapter, table: Rows | None, gap: int) -> list[tuple[int, int]]:
    if table is None:
        return [(chapter["first_ps"], chapter["last_ps"])]
    keys = zip(*(table[name] for name in ("cause", "origin", "reason")), strict=True)
    times = zip(table["first_ps"], table["last_ps"], strict=True)
    its_key = chapter["kind"], chapter["origin"], chapter["reason"]
    return joined((span for key, span in zip(keys, times, strict=True) if key == its_key), gap)
