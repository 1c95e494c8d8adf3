"""Lateness, and what it is made of: a chain of parts that always add up to it.

An event of the run (a message posted, a message arrived) has its counterpart in the contention-free run. Its *lateness*
is by how much it came later, never less than 0. What is late makes late what comes after it, so each event's lateness
is that of the event before, more or less something, and so are its parts:

    later than the event before     the new parts are put behind the old ones
    less late                       time was made up for: what was lost last is taken off

A chain is never changed: a longer or shorter one shares its beginning with the one it was made from. So handing the
lateness on costs nothing, however many messages one delay runs through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Part(NamedTuple):
    """`duration_ps` of lateness with the cause number `cause`, lost between `first_ps` and `last_ps`.

    `event_ps` is when that began which many messages may have lost time to at once (a pause); None: when this one did.
    """

    cause: int
    duration_ps: int
    first_ps: int
    last_ps: int
    event_ps: int | None = None

    @property
    def event(self) -> tuple[int, int]:
        """What it was lost to: parts with equal ones are the same time, which nobody can lose twice."""
        return self.cause, self.first_ps if self.event_ps is None else self.event_ps


@dataclass(frozen=True, slots=True)
class Chain:
    """A part behind those of `before`; `total_ps` is the sum of all. A part of 0 ps says that the lateness reached
    `rank` with a message at `Part.last_ps`."""

    before: Chain | None
    part: Part
    total_ps: int
    rank: int = -1


Lateness = Chain | None
"""None: nothing is late."""

PASSED_ON = -1
"""The cause of a part of 0 ps, which says where the lateness went."""


def total_ps(lateness: Lateness) -> int:
    """Return the sum of the parts."""
    return 0 if lateness is None else lateness.total_ps


def with_part(lateness: Lateness, part: Part) -> Lateness:
    """Return `lateness` with one more part; parts that are not above 0 are left out."""
    return Chain(lateness, part, total_ps(lateness) + part.duration_ps) if part.duration_ps > 0 else lateness


def passed_on(lateness: Lateness, rank: int, time_ps: int) -> Lateness:
    """Return `lateness` with a note that it reached `rank` at `time_ps`."""
    if lateness is None:
        return None
    return Chain(lateness, Part(PASSED_ON, 0, time_ps, time_ps), lateness.total_ps, rank)


def without(lateness: Lateness, duration_ps: int) -> Lateness:
    """Return `lateness` less `duration_ps` (of all of it at most): what was lost last is made up for first."""
    notes: list[Chain] = []
    while lateness is not None and duration_ps > 0:
        part = lateness.part
        if part.cause == PASSED_ON:
            notes.append(lateness)
        elif part.duration_ps > duration_ps:
            left = part._replace(duration_ps=part.duration_ps - duration_ps)
            lateness = Chain(lateness.before, left, lateness.total_ps - duration_ps)
            break
        duration_ps -= part.duration_ps
        lateness = lateness.before
    for note in reversed(notes):
        lateness = passed_on(lateness, note.rank, note.part.last_ps)
    return lateness


def lost_before(lateness: Lateness, time_ps: int, since_ps: int) -> Lateness:
    """Return `lateness` without what was lost after `time_ps`. Its parts are in the order of time up to `since_ps`."""
    later: list[Part] = []
    while lateness is not None and lateness.part.last_ps > since_ps:
        later.append(lateness.part)
        lateness = lateness.before
    for part in reversed(later):
        duration_ps = min(part.duration_ps, time_ps - part.first_ps)
        lateness = with_part(lateness, part._replace(duration_ps=duration_ps, last_ps=min(part.last_ps, time_ps)))
    return lateness


def fitted(lateness: Lateness, parts: Sequence[Part], wanted_ps: int, rest: Part) -> Lateness:
    """Return the lateness of an event that is `wanted_ps` late (0 or more): `lateness` and what was lost since, `parts`
    in the order of time.

    Where they are more than that, the contention-free run lost time there too, and what was late already is less late
    for it: it is taken off `lateness` first, and off the earliest of `parts` only when nothing of that is left. Where
    they are less, the cause of `rest` (of any duration) has the remainder.
    """
    too_much = total_ps(lateness) + sum(part.duration_ps for part in parts) - wanted_ps
    off_parts = max(0, too_much - total_ps(lateness))
    lateness = without(lateness, too_much)
    for part in parts:
        off = min(off_parts, part.duration_ps)
        off_parts -= off
        lateness = with_part(lateness, part._replace(duration_ps=part.duration_ps - off))
    return with_part(lateness, rest._replace(duration_ps=max(0, -too_much)))


def walk(lateness: Lateness) -> Iterator[Chain]:
    """Yield the links of a chain, the latest first."""
    while lateness is not None:
        yield lateness
        lateness = lateness.before
