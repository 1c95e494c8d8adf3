"""Trace events as the Perfetto UI and chrome://tracing read them: processes, tracks, slices, counters, arrows.

A process is a group on the screen (a host, a switch), a thread a track in it. Slices of one track must nest; those that
would overlap without nesting go to a track beside it, so every slice is one complete event (`X`). Times are in
microseconds with six decimals: exact to the picosecond.

References: the Trace Event Format (Google, "Trace Event Format" document), sections on X, i, C, s, f and M events.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from testbed.units import MICROSECOND

Event = dict[str, Any]
Arguments = Mapping[str, Any]


class Place(NamedTuple):
    """A track of a process."""

    process: int
    track: int


class _Process:
    """A group of tracks. `tracks` counts those it has."""

    __slots__ = ("lanes", "name", "number", "tracks")

    def __init__(self, number: int, name: str) -> None:
        self.number = number
        self.name = name
        self.tracks = 0
        self.lanes: dict[str, list[tuple[int, int]]] = {}
        """By a track's name: the number of each of its lanes, and when the last slice there ends."""


class Timeline:
    """Collects events. Processes are shown in the order in which they are first named."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._processes: dict[str, _Process] = {}
        self._arrows = 0

    def process(self, name: str) -> int:
        """Return the number of the process called `name`, a new one if there is none."""
        return self._process(name).number

    def _process(self, name: str) -> _Process:
        found = self._processes.get(name)
        if found is None:
            number = len(self._processes) + 1
            found = self._processes[name] = _Process(number, name)
            self._tell("process_name", number, 0, name=name)
            self._tell("process_sort_index", number, 0, sort_index=number)
        return found

    def _tell(self, what: str, process: int, track: int, **arguments: object) -> None:
        self.events.append({"ph": "M", "name": what, "pid": process, "tid": track, "ts": 0, "args": arguments})

    def track(self, process: str, name: str) -> Place:
        """Return the track `name` of `process`, a new one if there is none."""
        return self._lane(self._process(process), name, 0)

    def _lane(self, process: _Process, name: str, number: int) -> Place:
        lanes = process.lanes.setdefault(name, [])
        while len(lanes) <= number:
            process.tracks += 1
            lanes.append((process.tracks, 0))
            shown = name if len(lanes) == 1 else f"{name} ({len(lanes)})"
            self._tell("thread_name", process.number, process.tracks, name=shown)
            self._tell("thread_sort_index", process.number, process.tracks, sort_index=process.tracks)
        return Place(process.number, lanes[number][0])

    def slice(
        self, process: str, track: str, name: str, start_ps: int, end_ps: int, arguments: Arguments | None = None
    ) -> Place:
        """Add a slice, and return where it is. Slices of one track come in the order of their start."""
        group = self._process(process)
        lanes = group.lanes.setdefault(track, [])
        number = next((number for number, (_, free) in enumerate(lanes) if free <= start_ps), len(lanes))
        place = self._lane(group, track, number)
        lanes[number] = place.track, end_ps
        event = {"ph": "X", "name": name, "pid": place.process, "tid": place.track, "ts": _us(start_ps)}
        self.events.append({**event, "dur": _us(end_ps - start_ps), **_with(arguments)})
        return place

    def instant(self, process: str, track: str, name: str, time_ps: int, arguments: Arguments | None = None) -> None:
        """Add something that takes no time."""
        place = self.track(process, track)
        event = {"ph": "i", "s": "t", "name": name, "pid": place.process, "tid": place.track, "ts": _us(time_ps)}
        self.events.append({**event, **_with(arguments)})

    def counter(self, process: str, name: str, time_ps: int, unit: str, value: float) -> None:
        """From `time_ps` on, the counter `name` has `value`."""
        number = self.process(process)
        self.events.append(
            {"ph": "C", "name": name, "pid": number, "tid": 0, "ts": _us(time_ps), "args": {unit: value}}
        )

    def arrow(self, start: Place, start_ps: int, end: Place, end_ps: int) -> None:
        """Join the slices at the two places that contain the two times."""
        self._arrows += 1
        common = {"name": "message", "cat": "message", "id": self._arrows}
        self.events.append({"ph": "s", **common, "pid": start.process, "tid": start.track, "ts": _us(start_ps)})
        self.events.append({"ph": "f", "bp": "e", **common, "pid": end.process, "tid": end.track, "ts": _us(end_ps)})

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)


def _us(time_ps: int) -> float:
    return time_ps / MICROSECOND


def _with(arguments: Arguments | None) -> Event:
    return {"args": dict(arguments)} if arguments else {}
