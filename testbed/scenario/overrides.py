"""``--set fabric.link.rate=400Gbps``: put a value into a document before it is checked.

The path names keys, and items of lists by their number (``workload.0.size``); the value is YAML. Mappings on the way
that the file leaves to their defaults are made. What is set gets the override as its place, so that every later
mistake about it is reported as the override's. Whether the schema knows the path is not decided here: the check of
the whole document does that, with near names.
"""

from __future__ import annotations

from typing import Any

from testbed.scenario import wording
from testbed.scenario.document import Document, KeyPath, Mistake, Place
from testbed.scenario.expectations import BOUND_KEYS
from testbed.scenario.reading import BadYaml, read_value


class _CannotSet(Exception):  # noqa: N818 - becomes a Mistake
    def __init__(self, path: KeyPath, text: str) -> None:
        super().__init__(text)
        self.path = path
        self.text = text


def apply_override(document: Document, text: str, number: int) -> list[Mistake]:
    """Apply the `number`-th override (1 is the first) to `document`; return its mistakes."""
    place = Place(number, 0, 0, f"--set {text}")
    name, equals, value_text = text.partition("=")
    if not equals or not name.strip(". "):
        return [Mistake(place, (), wording.bad_override())]
    try:
        path = _make_way(document, _split(name.strip()), place)
        document.forget_places(path)
        value, mistakes = read_value(
            value_text, lambda line, column: Place(number, line, column, place.text), document, path
        )
    except _CannotSet as error:
        return [Mistake(place, error.path, error.text)]
    except BadYaml as bad:
        return [bad.mistake]
    document.note_key(path, place)
    document.note_value(path, place)
    document.put(path, value)
    return mistakes


def _split(name: str) -> list[str]:
    """Split a path at its dots. Under ``expect`` the keys are themselves paths with dots, maybe with a bound's key."""
    first, _, rest = name.partition(".")
    if first != "expect" or not rest:
        return name.split(".")
    path, _, last = rest.rpartition(".")
    return [first, path, last] if path and last in BOUND_KEYS else [first, rest]


def _make_way(document: Document, parts: list[str], place: Place) -> KeyPath:
    """Return the path of `parts`, list items as numbers; make the mappings on the way that are absent, at `place`.

    Below a mapping that is made nothing stands in the way, so that a way is made whole or not at all.
    """
    path: KeyPath = ()
    value: Any = document.root
    for index, part in enumerate(parts):
        if isinstance(value, list):
            if not part.isdecimal() or int(part) >= len(value):
                raise _CannotSet((*path, part), wording.no_such_item(path, len(value), part))
            path, value = (*path, int(part)), value[int(part)]
        elif isinstance(value, dict):
            path = (*path, part)
            if index < len(parts) - 1 and part not in value:
                document.note_key(path, place)
                document.note_value(path, place)
                value[part] = {}
            value = value.get(part)
        else:
            raise _CannotSet(path, wording.nothing_inside(path, value))
    return path
