"""A document against the schema: every mistake of form, each once.

The validator (pydantic) is asked again and again. After each answer its errors are worded, and the document is mended
so that they do not recur: a misspelt key or kind gets the name that was meant, anything else wrong gives way to a
right value and is noted as broken. So the last answer is a whole scenario, on which the later checks can work: they
leave out what is broken, and nothing is reported that only follows from an earlier mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from testbed.scenario import wording
from testbed.scenario.document import UNREADABLE, Document, KeyPath, Mistake
from testbed.scenario.model import Scenario
from testbed.scenario.schema import KEY, Slot, locate


class StructureCheck:
    """Checks and mends one document; the files that it names are relative to `directory`.

    Attributes:
        mistakes: what was found wrong.
        broken: the paths whose value is a stand-in.
    """

    def __init__(self, document: Document, directory: Path) -> None:
        self.mistakes: list[Mistake] = []
        self.broken: set[KeyPath] = set()
        self._document = document
        self._directory = directory

    def run(self) -> Scenario:
        """Return the scenario of the mended document."""
        while True:
            try:
                context = {"directory": self._directory}
                return Scenario.model_validate(_frozen(self._document.root), strict=True, context=context)
            except ValidationError as error:
                state = self._state()
                # Wrong keys come first: mending one may put the key in place that another error misses.
                for details in sorted(error.errors(include_url=False), key=_is_of_a_value):
                    self._take(details)
                if self._state() == state:
                    raise AssertionError(f"nothing mends {error}") from error

    def _state(self) -> tuple[int, int]:
        return len(self.mistakes), len(self.broken)

    def _take(self, details: ErrorDetails) -> None:
        path, slot = locate(details["loc"])
        if self._is_broken(path):
            return
        if details["loc"][-1] == KEY:
            self._wrong_key(path, slot)
            return
        special: dict[str, Callable[[KeyPath, Slot], None]] = {
            "extra_forbidden": self._unknown_key,
            "missing": self._missing_key,
            "union_tag_not_found": self._missing_kind,
            "union_tag_invalid": self._unknown_kind,
            "too_short": self._too_short,
        }
        special.get(details["type"], self._wrong_value)(path, slot)

    def _unknown_key(self, path: KeyPath, slot: Slot) -> None:
        # The slot of an unknown key is that of the mapping it stands in.
        near = wording.near_names(str(path[-1]), slot.fields)
        mapping = self._document.get(path[:-1])
        kind = mapping.get("kind") if "kind" in slot.fields else None
        self._report(path, wording.unknown_key(path, slot.fields, near, kind), at_key=True)
        if near and near[0] not in mapping:
            self._document.rename(path, near[0])
        else:
            self._document.remove(path)

    def _wrong_key(self, path: KeyPath, slot: Slot) -> None:
        """A mapping with keys of the user's own has one that is not right there."""
        self._report(path, wording.wrong_key(slot, path[-1]), at_key=True)
        self._document.remove(path)
        self.broken.add(path)

    def _missing_key(self, path: KeyPath, slot: Slot) -> None:
        if path[-1] in self._document.get(path[:-1]):
            return
        self._report(path, wording.missing_key(path, slot), place_of=path[:-1], at_key=True)
        self._stand_in(path, slot)

    def _missing_kind(self, path: KeyPath, slot: Slot) -> None:
        near = wording.near_names("kind", (str(key) for key in self._document.get(path)))
        if near:
            self._report((*path, near[0]), wording.unknown_key((*path, near[0]), (), ["kind"]), at_key=True)
            self._document.rename((*path, near[0]), "kind")
            return
        self._report(path, wording.missing_kind(path, slot), at_key=True)
        self._stand_in(path, slot)

    def _unknown_kind(self, path: KeyPath, slot: Slot) -> None:
        kind = self._document.get((*path, "kind"))
        near = wording.near_names(kind, slot.forms) if isinstance(kind, str) else []
        if kind is not UNREADABLE:
            self._report((*path, "kind"), wording.unknown_kind(slot, kind, near))
        if near:
            self._document.put((*path, "kind"), near[0])
        else:
            self._stand_in(path, slot)

    def _too_short(self, path: KeyPath, slot: Slot) -> None:
        # The validator counts only items that are right; it is a mistake of the list if there are none at all.
        if not self._document.get(path):
            self._wrong_value(path, slot)

    def _wrong_value(self, path: KeyPath, slot: Slot) -> None:
        value = self._document.get(path)
        if value is not UNREADABLE:
            self._report(path, wording.wrong_value(slot, value))
        self._stand_in(path, slot)

    def _stand_in(self, path: KeyPath, slot: Slot) -> None:
        """Put a right value at `path`: the default, by leaving the key out, or an example."""
        self.broken.add(path)
        if slot.required or isinstance(path[-1], int):
            self._document.put(path, slot.stand_in())
        else:
            self._document.remove(path)

    def _is_broken(self, path: KeyPath) -> bool:
        return any(path[: len(broken)] == broken for broken in self.broken)

    def _report(self, path: KeyPath, text: str, *, place_of: KeyPath | None = None, at_key: bool = False) -> None:
        where = path if place_of is None else place_of
        place = self._document.key_place(where) if at_key else self._document.value_place(where)
        self.mistakes.append(Mistake(place, path, text))


def _is_of_a_value(details: ErrorDetails) -> bool:
    return details["type"] != "extra_forbidden" and details["loc"][-1:] != (KEY,)


def _frozen(value: Any) -> Any:
    """Lists as tuples, as the strict validator wants them."""
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
