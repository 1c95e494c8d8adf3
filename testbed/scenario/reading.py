"""From YAML text to a `Document`: plain values, and line and column of each key and value.

The YAML is composed to nodes, which know their places, and the values are made from the nodes here. Plain scalars
follow YAML 1.2: ``true`` is a truth value, ``yes`` and ``12:30`` are text. Merge keys (``<<``) and aliases work.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from testbed.errors import ScenarioError
from testbed.scenario import wording
from testbed.scenario.document import UNREADABLE, Document, KeyPath, Mistake, Place

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {_TAG + name for name in ("int", "float", "bool", "null")}
_TEXT_TAGS = {_TAG + name for name in ("str", "timestamp", "value")}

PlaceAt = Callable[[int, int], Place]
"""From a line and a column, counted from 1, to the place that is printed."""


class BadYaml(Exception):  # noqa: N818 - not an error of rocelab but of the text; callers turn it into one
    """The text is not YAML; `mistake` says where and why."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def read_document(path: Path) -> tuple[Document, list[Mistake]]:
    """Read a scenario file. Returns its document and the mistakes that do not keep it from being read (doubled keys).

    Raises ScenarioError when there is nothing to check: no such file, not YAML, empty, not a mapping.
    """

    def place_at(line: int, column: int) -> Place:
        return Place(0, line, column, f"{path}:{line}:{column}")

    document = Document(place_at(1, 1))
    try:
        root, mistakes = read_value(_text_of(path), place_at, document, ())
    except BadYaml as bad:
        raise ScenarioError(str(bad.mistake)) from None
    if not isinstance(root, dict):
        raise ScenarioError(f"{document.value_place(()).text}: {wording.not_a_scenario(root)}")
    document.root = root
    return document, mistakes


def read_value(text: str, place_at: PlaceAt, document: Document, path: KeyPath) -> tuple[Any, list[Mistake]]:
    """Return the value that the YAML `text` says, and its mistakes; note the places in `document` below `path`.

    Raises BadYaml.
    """
    builder = _ValueBuilder(place_at, document)
    node = _compose(text, place_at, path)
    return (None if node is None else builder.value(node, path)), builder.mistakes


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(wording.cannot_read(path, error)) from None
    except UnicodeDecodeError as error:
        raise ScenarioError(wording.not_utf8(path, error)) from None


def _compose(text: str, place_at: PlaceAt, path: KeyPath) -> Node | None:
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = place_at(mark.line + 1, mark.column + 1) if mark else place_at(1, 1)
        raise BadYaml(Mistake(place, path, wording.bad_yaml(error.context, error.problem))) from None
    except ReaderError as error:
        before = text[: error.position]
        place = place_at(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise BadYaml(Mistake(place, path, wording.bad_character(text[error.position]))) from None
    except YAMLError as error:
        raise BadYaml(Mistake(place_at(1, 1), path, wording.bad_yaml(None, str(error)))) from None
    return node


class _ValueBuilder:
    """Makes plain values from nodes; collects what is wrong with keys, tags and anchors."""

    def __init__(self, place_at: PlaceAt, document: Document) -> None:
        self.mistakes: list[Mistake] = []
        self._place_at = place_at
        self._document = document
        self._scalars = YAML(typ="safe", pure=True).constructor
        self._open: list[Node] = []

    def value(self, node: Node, path: KeyPath) -> Any:
        place = self._place(node)
        if node.value == "" and node.start_mark.index == node.end_mark.index:
            place = self._document.key_place(path)  # nothing after the colon: its mark is that of the next line
        self._document.note_value(path, place)
        if node in self._open:
            self._wrong(place, path, wording.SELF_REFERENCE)
            return UNREADABLE
        self._open.append(node)
        try:
            return self._value(node, path, place)
        finally:
            self._open.pop()

    def _value(self, node: Node, path: KeyPath, place: Place) -> Any:
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        if node.tag in _TEXT_TAGS:
            return node.value
        if node.tag in _PLAIN_TAGS:
            return self._scalar(node)
        self._wrong(place, path, wording.unknown_tag(str(node.tag).removeprefix(_TAG)))
        return UNREADABLE

    def _scalar(self, node: Node) -> Any:
        try:
            return self._scalars.construct_object(node)
        except (ValueError, OverflowError, YAMLError):
            return node.value  # `!!int x`: text, which the schema will find wrong

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        first: dict[str, Place] = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            place = self._place(key_node)
            if not isinstance(key_node, ScalarNode):
                self._wrong(place, path, wording.KEY_IS_NOT_A_NAME)
            elif key_node.tag == _TAG + "merge":
                merged += value_node.value if isinstance(value_node, SequenceNode) else [value_node]
            elif key_node.value in first:
                self._wrong(place, (*path, key_node.value), wording.doubled_key(key_node.value, first[key_node.value]))
            else:
                first[key_node.value] = place
                self._document.note_key((*path, key_node.value), place)
                mapping[key_node.value] = self.value(value_node, (*path, key_node.value))
        for source in merged:
            self._merge(source, mapping, path)
        return mapping

    def _merge(self, source: Node, mapping: dict[str, Any], path: KeyPath) -> None:
        """Add the keys of a ``<<`` that the mapping has not got itself."""
        if not isinstance(source, MappingNode):
            self._wrong(self._place(source), path, wording.MERGE_NEEDS_MAPPING)
            return
        own = [item for item in source.value if getattr(item[0], "value", None) not in mapping]
        mapping.update(self._mapping(MappingNode(source.tag, own), path))

    def _place(self, node: Node) -> Place:
        return self._place_at(node.start_mark.line + 1, node.start_mark.column + 1)

    def _wrong(self, place: Place, path: KeyPath, text: str) -> None:
        self.mistakes.append(Mistake(place, path, text))
