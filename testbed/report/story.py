"""explanation.json: why the ranks of a run stalled, as numbers and as a story, what cost most first.

A *chapter* gathers causes of one kind with one origin (all flows that were in front in one port's queue, all ports that
one storm paused, all packets that one port lost for one reason): one line of a table and a few sentences. `stalls` have
the parts of each rank's stall, which add up to it; docs/explain.md describes every key.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from testbed.measurement.causes.model import (
    CLEAR_TO_SEND,
    CONTROLLER,
    CREDIT,
    FAILURE,
    KINDS,
    LATE_ACK,
    LINK_DOWN,
    LOST_PACKET,
    NVLINK,
    OUT_OF_ORDER,
    OWN_PACKETS,
    PAUSED,
    QUEUE,
    RATE,
    RECEIVER_NOT_READY,
    STRAGGLER,
    WINDOW,
    Cause,
    Delayed,
    Explanation,
    Packet,
    Stall,
    StallPart,
)
from testbed.report.style import count
from testbed.units import SECOND, format_time

EXPLANATION_FILE = "explanation.json"
_MOST_NAMED = 4
"""Flows, ports or ranks named in a sentence."""
_MOST_PARTS = 40
"""Parts of a stall that are told one by one."""
_MOST_WAYS = 8
"""Parts of a stall of which the way through the ranks is told."""
_MOST_SPREAD = 64
"""Ranks that a chapter says it reached."""

Story = dict[str, Any]


def story(explanation: Explanation) -> Story:
    """Return the explanation as JSON values."""
    chapters = _chapters(explanation)
    total = sum(stall.stall_ps for stall in explanation.stalls)
    return {
        **lost(explanation),
        "chapters": [_chapter(explanation, key, causes, total) for key, causes in chapters],
        "causes": [_cause(cause, explanation.delayed.get(n)) for n, cause in enumerate(explanation.causes)],
        "stalls": [_stall(stall) for stall in explanation.stalls],
    }


def lost(explanation: Explanation) -> Story:
    """Return what was lost in all, by kind of cause, and what cost most: the block `stall` of the summary."""
    by_kind: dict[str, list[int]] = {}
    for stall in explanation.stalls:
        for part in stall.parts:
            of_kind = by_kind.setdefault(explanation.causes[part.cause].kind, [0, 0])
            of_kind[stall.flow is not None] += part.duration_ps
    ordered = sorted(by_kind.items(), key=lambda item: (-sum(item[1]), item[0]))
    return {
        "gpu_time_lost_ps": sum(stall.stall_ps for stall in explanation.stalls if stall.flow is None),
        "flow_time_lost_ps": sum(stall.stall_ps for stall in explanation.stalls if stall.flow is not None),
        "by_cause": {kind: {"ranks_ps": ranks, "flows_ps": flows} for kind, (ranks, flows) in ordered},
        "most": _most(explanation),
    }


def _most(explanation: Explanation) -> Story | None:
    """Return what cost most in a few words; None when nothing was lost."""
    chapters = _chapters(explanation)
    if not chapters:
        return None
    key, causes = chapters[0]
    total = sum(stall.stall_ps for stall in explanation.stalls)
    cost = sum(cost for _, cost in causes)
    title = _title(key, [explanation.causes[number] for number, _ in causes])
    return {"kind": key[0], "origin": key[1], "title": title, "lost_ps": cost, "share": round(cost / total, 6)}


def write_story(directory: Path, told: Story) -> None:
    """Write explanation.json into `directory`."""
    text = json.dumps(told, indent=1, ensure_ascii=False)
    (directory / EXPLANATION_FILE).write_text(text + "\n", encoding="utf-8")


def _cause(cause: Cause, delayed: Delayed | None) -> Story:
    return {
        "kind": cause.kind,
        "where": cause.where,
        "detail": cause.detail,
        "origin": _origin(cause),
        "packet": asdict(cause.packet) if cause.packet is not None else None,
        "message": asdict(delayed) if delayed is not None else None,
    }


def _part(part: StallPart, *, with_way: bool) -> Story:
    told: Story = {
        "cause": part.cause,
        "duration_ps": part.duration_ps,
        "first_ps": part.first_ps,
        "last_ps": part.last_ps,
    }
    if with_way:
        told["through"] = [{"rank": rank, "time_ps": time_ps} for rank, time_ps in part.through]
    return told


def _stall(stall: Stall) -> Story:
    shown = stall.parts[:_MOST_PARTS]
    return {
        "collective": stall.collective,
        "flow": stall.flow,
        "trace": stall.trace,
        "rank": stall.rank,
        "stall_ps": stall.stall_ps,
        "parts": [_part(part, with_way=number < _MOST_WAYS) for number, part in enumerate(shown)],
        "more_parts": len(stall.parts) - len(shown),
        "more_ps": sum(part.duration_ps for part in stall.parts[len(shown) :]),
    }


# --- chapters --------------------------------------------------------------------------------------------------------


_Key = tuple[str, str, str]
"""Kind, origin, and the reason of a loss."""


def _origin(cause: Cause) -> str:
    return cause.origin or cause.where


def _chapters(explanation: Explanation) -> list[tuple[_Key, list[tuple[int, int]]]]:
    """Return the chapters in their order: the key of each, and its causes with what each cost, most first."""
    costs: dict[int, int] = {}
    for stall in explanation.stalls:
        for part in stall.parts:
            costs[part.cause] = costs.get(part.cause, 0) + part.duration_ps
    found: dict[_Key, list[tuple[int, int]]] = {}
    for number, cost in sorted(costs.items(), key=lambda item: (-item[1], item[0])):
        cause = explanation.causes[number]
        reason = cause.packet.reason or "" if cause.packet else ""
        found.setdefault((cause.kind, _origin(cause), reason), []).append((number, cost))
    return sorted(found.items(), key=lambda item: (-sum(cost for _, cost in item[1]), item[0]))


def _chapter(explanation: Explanation, key: _Key, causes: Sequence[tuple[int, int]], total_ps: int) -> Story:
    numbers = {number for number, _ in causes}
    ranks_ps = flows_ps = 0
    first_ps, last_ps = [], []
    stalled: list[Story] = []
    for stall in explanation.stalls:
        parts = [part for part in stall.parts if part.cause in numbers]
        cost = sum(part.duration_ps for part in parts)
        if not cost:
            continue
        ranks_ps, flows_ps = (ranks_ps + cost, flows_ps) if stall.flow is None else (ranks_ps, flows_ps + cost)
        first_ps += [part.first_ps for part in parts]
        last_ps += [part.last_ps for part in parts]
        job = {"collective": stall.collective, "flow": stall.flow, "trace": stall.trace}
        stalled.append({**job, "rank": stall.rank, "duration_ps": cost})
    stalled.sort(key=lambda item: -item["duration_ps"])
    spread = _spread(explanation, causes[0][0])
    return {
        "kind": key[0],
        "origin": key[1],
        "reason": key[2] or None,
        "title": _title(key, [explanation.causes[number] for number, _ in causes]),
        "ranks_ps": ranks_ps,
        "flows_ps": flows_ps,
        "share": round((ranks_ps + flows_ps) / total_ps, 6),
        "first_ps": min(first_ps),
        "last_ps": max(last_ps),
        "sentences": list(_sentences(explanation, key, causes, spread)),
        "stalled_ranks": sum(item["flow"] is None for item in stalled),
        "stalled_flows": sum(item["flow"] is not None for item in stalled),
        "stalled": stalled[:_MOST_SPREAD],
        "spread": [{"rank": rank, "time_ps": time_ps} for rank, time_ps in spread],
        "causes": [number for number, _ in causes],
    }


def _spread(explanation: Explanation, cause: int) -> list[tuple[str, int]]:
    """Return the ranks that the delay of a cause reached, with the time when it first did, in that order."""
    reached: dict[str, int] = {}
    for stall in explanation.stalls:
        for part in stall.parts:
            if part.cause == cause:
                for rank, time_ps in part.through:
                    reached[rank] = min(time_ps, reached.get(rank, time_ps))
    return sorted(reached.items(), key=lambda item: (item[1], item[0]))[:_MOST_SPREAD]


# --- words -----------------------------------------------------------------------------------------------------------


_TITLES = {
    QUEUE: "queue at {0}",
    PAUSED: "pauses from {0}",
    CREDIT: "no credit at {0}",
    RATE: "rate limits after marks at {0}",
    WINDOW: "windows after marks at {0}",
    LATE_ACK: "a late acknowledgement at {0}",
    OUT_OF_ORDER: "packets out of order from {0}",
    RECEIVER_NOT_READY: "no receive posted for {0}",
    CLEAR_TO_SEND: "clear-to-send of {0}",
    STRAGGLER: "the straggler {0}",
    NVLINK: "NVLink at {0}",
    CONTROLLER: "frames held at {0}",
    OWN_PACKETS: "messages piled up at {0}",
    FAILURE: "the failure",
}


def _title(key: _Key, causes: Sequence[Cause]) -> str:
    kind, origin, reason = key
    if kind in (LOST_PACKET, LINK_DOWN):
        what = "a lost packet" if len(causes) == 1 else f"packets lost {len(causes)} times"
        return f"{what} at {origin} ({reason})"
    if kind in (RATE, WINDOW) and not causes[0].origin:
        return f"rate limits at {origin}" if kind == RATE else f"windows at {origin}"
    return _TITLES[kind].format(origin)


def _sentences(
    explanation: Explanation, key: _Key, causes: Sequence[tuple[int, int]], spread: Sequence[tuple[str, int]]
) -> Iterator[str]:
    """Yield the story of a chapter; of many causes that of the one that cost most."""
    first = explanation.causes[causes[0][0]]
    if first.packet is not None:
        yield from _of_packet(first.packet, explanation.delayed.get(causes[0][0]))
        if len(causes) > 1:
            rest = sum(cost for _, cost in causes[1:])
            yield f"{count(len(causes) - 1, 'more recovery').replace('recoverys', 'recoveries')} cost {_time(rest)}."
    elif key[0] == FAILURE:
        yield f"{first.detail}."
    else:
        places = list(dict.fromkeys(explanation.causes[number].where for number, _ in causes))
        details = list(dict.fromkeys(explanation.causes[number].detail for number, _ in causes))
        yield f"{KINDS[key[0]][0].upper()}{KINDS[key[0]][1:]}."
        yield f"At {_some(places)}: {_some(details)}."
    if spread:
        yield f"It reached {_some([f'{rank} at {_at(time_ps)}' for rank, time_ps in spread])}."


def _of_packet(packet: Packet, delayed: Delayed | None) -> Iterator[str]:
    name = f"{packet.source} to {packet.destination}, QP {packet.qp}, PSN {packet.psn}"
    if delayed is not None:
        name += f" (step {delayed.step}, piece {delayed.piece} of {delayed.job})"
    found = {"timeout": "its sender's timeout ran out", "nak": "a NAK came back", "rnr_nak": "an RNR NAK came back"}
    after = f"{found[packet.found_by]} at {_at(packet.found_ps)}"
    took = _time(packet.found_ps - packet.first_sent_ps)
    if packet.lost_ps is not None:
        yield f"{packet.where} lost the packet {name}, at {_at(packet.lost_ps)}: {packet.reason}."
        yield f"It was missed when {after}, and sent again {took} after it was first sent."
    else:
        yield f"The packet {name} was sent again, {took} after it was first sent: {after}. It had not been lost."


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return "; ".join(names[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _time(time_ps: int) -> str:
    return format_time(time_ps, 3)


def _at(time_ps: int) -> str:
    """A point of time: to the microsecond at least, so that one can be told from the next."""
    return format_time(time_ps, 6 if time_ps >= SECOND else 3)
