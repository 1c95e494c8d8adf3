"""A scenario's values as they are read, and the place of every key and value: what a mistake points at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str | int, ...]
"""Where a value is in the scenario: ``("workload", 0, "size")``."""


def path_text(path: KeyPath) -> str:
    """``("workload", 0, "size")`` -> ``workload.0.size``."""
    return ".".join(str(part) for part in path)


@dataclass(frozen=True, order=True)
class Place:
    """Where a text is: `text` is what is printed (``ring.yaml:7:5``), the rest sorts. `source` is 0 for the file and
    n for the n-th ``--set``."""

    source: int
    line: int
    column: int
    text: str


@dataclass(frozen=True)
class Mistake:
    """One mistake: its place, the path of what is wrong (empty: the whole file), and what to say about it."""

    place: Place
    path: KeyPath
    text: str

    def __str__(self) -> str:
        return (
            f"{self.place.text}: {path_text(self.path)}: {self.text}"
            if self.path
            else f"{self.place.text}: {self.text}"
        )


UNREADABLE = object()
"""Stands in a document where a value could not be made; why has been reported already."""


class Document:
    """The values of a scenario, as mappings, lists and scalars, with a place for each key and each value.

    The checker mends the document while it checks (a misspelt key gets its right name), so that one mistake does not
    hide the next one.
    """

    def __init__(self, start: Place) -> None:
        self.root: dict[str, Any] = {}
        self._keys: dict[KeyPath, Place] = {(): start}
        self._values: dict[KeyPath, Place] = {(): start}

    def note_key(self, path: KeyPath, place: Place) -> None:
        self._keys[path] = place

    def note_value(self, path: KeyPath, place: Place) -> None:
        self._values[path] = place

    def key_place(self, path: KeyPath) -> Place:
        """The place of the key at `path`; for an item of a list, or a value without a key, of the value."""
        return self._keys.get(path) or self.value_place(path)

    def value_place(self, path: KeyPath) -> Place:
        """The place of the value at `path`, or of the innermost thing around it that has one."""
        while path not in self._values:
            path = path[:-1]
        return self._values[path]

    def get(self, path: KeyPath) -> Any:
        """Return the value at `path`. Raises KeyError, IndexError or TypeError when there is none."""
        value: Any = self.root
        for part in path:
            value = value[part]
        return value

    def put(self, path: KeyPath, value: Any) -> None:
        """Set the value at `path`, in a mapping or list that exists."""
        self.get(path[:-1])[path[-1]] = value

    def remove(self, path: KeyPath) -> None:
        del self.get(path[:-1])[path[-1]]

    def forget_places(self, path: KeyPath) -> None:
        """Forget the places of `path` and of everything below, as something else now stands there."""
        for places in (self._keys, self._values):
            for old in [known for known in places if known[: len(path)] == path]:
                del places[old]

    def rename(self, path: KeyPath, key: str) -> None:
        """Give the key at `path` the name `key`; all places move with it."""
        parent = self.get(path[:-1])
        parent[key] = parent.pop(path[-1])
        for places in (self._keys, self._values):
            for old in [known for known in places if known[: len(path)] == path]:
                places[(*path[:-1], key, *old[len(path) :])] = places.pop(old)
