"""What may stand where in a scenario, read off the model once: a tree of slots beside the tree of values.

Messages need it (what was expected, which keys there are, an example), and so does the way from an error of the
validator to a path in the file: where a value has several forms, the validator's path names the form too.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Tag
from pydantic.fields import FieldInfo

from testbed.scenario.document import KeyPath
from testbed.scenario.model import Scenario
from testbed.scenario.quantities import Quantity
from testbed.scenario.section import Section


@dataclass(frozen=True)
class Slot:
    """A place for a value.

    A slot is one of: a section (`fields`), a choice of forms (`forms`, by their tag; `by_kind` if the key ``kind``
    tells them apart), a list (`element`), a mapping with keys of the user's (`key`, and `element` for its values), or a
    value of type `kind` within `limits`.
    """

    name: str
    kind: Any
    limits: tuple[Any, ...] = ()
    examples: tuple[Any, ...] = ()
    required: bool = True
    default: Any = None
    fields: Mapping[str, Slot] = field(default_factory=dict)
    forms: Mapping[str, Slot] = field(default_factory=dict)
    element: Slot | None = None
    key: Slot | None = None

    @property
    def by_kind(self) -> bool:
        """Whether this is a choice of sections that their key ``kind`` tells apart."""
        return bool(self.forms) and all(form.fields for form in self.forms.values())

    @property
    def quantity(self) -> Quantity | None:
        """The quantity that is to stand here, if it is one."""
        return next((limit for limit in self.limits if isinstance(limit, Quantity)), None)

    def limit(self, name: str) -> Any:
        """The limit called `name` (``gt``, ``ge``, ``lt``, ``le``, ``multiple_of``, ``min_length``) or None."""
        return next((getattr(limit, name) for limit in self.limits if getattr(limit, name, None) is not None), None)

    def stand_in(self) -> Any:
        """Return a value that is right here, as it would stand in a file."""
        if self.fields:
            return {name: slot.stand_in() for name, slot in self.fields.items() if slot.required}
        if self.forms:
            return next(iter(self.forms.values())).stand_in()
        if self.element is not None and self.key is not None:
            return {self.key.stand_in(): self.element.stand_in()}
        if self.element is not None:
            return [self.element.stand_in()]
        if self.examples:
            return self.examples[0]
        return self._plain_stand_in()

    def _plain_stand_in(self) -> Any:
        if self.quantity is not None:
            return self.quantity.example
        if get_origin(self.kind) is Literal:
            return get_args(self.kind)[0]
        if self.kind is int:
            return self.limit("ge") or 0
        raise LookupError(f"the model gives no example of a right value for {self.name}")


KEY = "[key]"
"""How the validator's path ends where the key of a mapping is wrong, not its value."""


def scenario_slot() -> Slot:
    """Return the slot of a whole scenario."""
    return _section("scenario", Scenario)


def locate(location: KeyPath) -> tuple[KeyPath, Slot]:
    """Turn a path of the validator into a path in the file and the slot there (of the innermost known thing; for a
    wrong key, of the mapping)."""
    path: list[str | int] = []
    slot = choice = scenario_slot()
    owner = slot
    for part in location:
        if part == KEY:
            return tuple(path), owner
        if part in slot.forms:
            choice, slot = slot, slot.forms[str(part)]
            continue
        path.append(part)
        owner = slot
        slot = choice = slot.fields.get(str(part)) or slot.element or slot
    return tuple(path), slot if choice.by_kind else choice


@cache
def _section(name: str, section: type[Section]) -> Slot:
    fields = {key: _field(key, info) for key, info in section.model_fields.items()}
    return Slot(name, section, fields=fields)


def _field(name: str, info: FieldInfo) -> Slot:
    return _slot(
        name,
        info.annotation,
        limits=tuple(info.metadata),
        examples=tuple(info.examples or ()),
        required=info.is_required(),
        default=None if info.is_required() else info.get_default(call_default_factory=True),
    )


def _slot(name: str, annotation: Any, **known: Any) -> Slot:
    """Take the layers (Annotated, ``| None``) off a type and return its slot."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _slot(name, arguments[0], **_noted(arguments[1:], known))
    if origin in (Union, types.UnionType):
        forms = [form for form in arguments if form is not type(None)]
        if len(forms) == 1:
            return _slot(name, forms[0], **known)
        return Slot(name, None, forms={_tag(form): _slot(name, form) for form in forms}, **known)
    if origin is tuple:
        return Slot(name, tuple, element=_slot(name, arguments[0]), **known)
    if origin is dict and arguments[1] is not Any:
        return Slot(name, dict, key=_slot(f"key of {name}", arguments[0]), element=_slot(name, arguments[1]), **known)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Slot(name, annotation, fields=_section(name, annotation).fields, **known)
    return Slot(name, annotation, **known)


def _noted(notes: tuple[Any, ...], known: dict[str, Any]) -> dict[str, Any]:
    limits, examples = list(known.get("limits", ())), list(known.get("examples", ()))
    for note in notes:
        if isinstance(note, FieldInfo):
            limits += note.metadata
            examples += note.examples or ()
        else:
            limits.append(note)
    return {**known, "limits": tuple(limits), "examples": tuple(examples)}


def _tag(form: Any) -> str:
    """The tag by which the validator calls one form of a choice: that of its annotation, or its ``kind``."""
    if get_origin(form) is Annotated:
        return next(note.tag for note in get_args(form)[1:] if isinstance(note, Tag))
    return str(get_args(form.model_fields["kind"].annotation)[0])
