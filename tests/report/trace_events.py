"""A strict reader of the Trace Event Format: what the Perfetto UI and chrome://tracing ask of a file."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

Event = dict[str, Any]


def problems(text: str) -> list[str]:
    """Return what is wrong with a JSON trace; nothing when it is right."""
    content = json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
    events: list[Event] = content["traceEvents"]
    wrong = [f"displayTimeUnit {content['displayTimeUnit']}"] if content["displayTimeUnit"] not in ("ms", "ns") else []
    wrong += [problem for event in events for problem in _of_event(event)]
    slices = [problem for read in (_picoseconds, _nanoseconds) for problem in _slices(events, read)]
    return [*wrong, *_names(events), *slices, *_arrows(events)]


def _of_event(event: Event) -> list[str]:
    wrong = []
    if event["ph"] not in "XiCMsf" or len(event["ph"]) != 1:
        wrong.append(f"phase {event['ph']!r}")
    if not all(isinstance(event[key], int) for key in ("pid", "tid")) or event["pid"] <= 0:
        wrong.append(f"process {event['pid']!r}, thread {event['tid']!r}")
    if not isinstance(event["ts"], (int, float)) or event["ts"] < 0:
        wrong.append(f"time {event['ts']!r}")
    if not isinstance(event["name"], str) or not event["name"]:
        wrong.append(f"name {event['name']!r}")
    if event["ph"] == "X" and not (isinstance(event["dur"], (int, float)) and event["dur"] >= 0):
        wrong.append(f"duration {event.get('dur')!r}")
    if event["ph"] == "i" and event["s"] not in ("t", "p", "g"):
        wrong.append(f"scope {event['s']!r}")
    if event["ph"] == "C" and not all(isinstance(value, (int, float)) for value in event["args"].values()):
        wrong.append(f"counter {event['args']!r}")
    return [f"{problem} in {event}" for problem in wrong]


def _names(events: list[Event]) -> list[str]:
    """Every process and thread that is used has one name."""
    told = [(e["name"], e["pid"], e["tid"]) for e in events if e["ph"] == "M"]
    wrong = [f"named twice: {each}" for each in set(told) if told.count(each) > 1] if len(told) < 5000 else []
    processes = {pid for name, pid, _ in told if name == "process_name"}
    threads = {(pid, tid) for name, pid, tid in told if name == "thread_name"}
    used = [e for e in events if e["ph"] != "M"]
    wrong += [f"process without a name: {pid}" for pid in {e["pid"] for e in used} - processes]
    on_threads = {(e["pid"], e["tid"]) for e in used if e["ph"] != "C"}
    return wrong + [f"thread without a name: {place}" for place in on_threads - threads]


def _picoseconds(time_us: float) -> int:
    return round(time_us * 1e6)


def _nanoseconds(time_us: float) -> int:
    """As Perfetto's importer has them: whole, and cut, starts and durations each for itself."""
    return int(time_us * 1e3)


def _slices(events: list[Event], read: Callable[[float], int]) -> list[str]:
    """Slices of one thread nest: one that begins inside another ends inside it, in times as `read` has them."""
    wrong, tracks = [], defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((read(e["ts"]), read(e["ts"]) + read(e["dur"])))
    for place, slices in tracks.items():
        open_until: list[int] = []
        for start, end in sorted(slices, key=lambda each: (each[0], -each[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and end > open_until[-1]:
                wrong.append(f"thread {place}: a slice from {start} to {end} overlaps one up to {open_until[-1]}")
            open_until.append(end)
    return wrong


def _arrows(events: list[Event]) -> list[str]:
    """Every arrow begins and ends once, not before it begins, and at a slice that contains that time."""
    ends: dict[tuple[str, int], dict[str, Event]] = defaultdict(dict)
    wrong, slices = [], defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
        elif e["ph"] in "sf":
            if e["ph"] in ends[e["cat"], e["id"]]:
                wrong.append(f"arrow {e['id']} has two ends of one kind")
            ends[e["cat"], e["id"]][e["ph"]] = e
    for key, both in ends.items():
        if both.keys() != {"s", "f"}:
            wrong.append(f"arrow {key} has {', '.join(both)} alone")
        elif both["s"]["ts"] > both["f"]["ts"] or both["f"]["bp"] != "e" or both["s"]["name"] != both["f"]["name"]:
            wrong.append(f"arrow {key} goes back in time, or is no arrow to a slice")
        for e in both.values():
            if not any(start <= e["ts"] <= end for start, end in slices[e["pid"], e["tid"]]):
                wrong.append(f"arrow {key}: no slice at its {e['ph']}")
    return wrong
