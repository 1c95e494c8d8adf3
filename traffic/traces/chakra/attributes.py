"""The attributes of a Chakra node by name. Each has a value of one of many types; writers differ in which they use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traffic.traces.chakra.et_def_pb2 import AttributeProto


class Attributes:
    """The attributes of one node. A ValueError of these methods says what was expected and found."""

    __slots__ = ("_values",)

    def __init__(self, attributes: Iterable[AttributeProto]) -> None:
        self._values = {attribute.name: attribute for attribute in attributes}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str) -> Any:
        """Return a value as Python has it, a list as a tuple; None where there is none."""
        attribute = self._values.get(name)
        which = None if attribute is None else attribute.WhichOneof("value")
        if attribute is None or which is None:
            return None
        value = getattr(attribute, which)
        return tuple(value.values) if which.endswith("_list") else value

    def whole(self, name: str, default: int, most: int) -> int:
        """Return a whole number from 0 to `most`, of whatever type."""
        value = self.value(name)
        if value is None:
            return default
        fraction = isinstance(value, float) and not value.is_integer()  # so are infinity and what is no number
        if fraction or isinstance(value, (bool, bytes, str, tuple)) or not 0 <= value <= most:
            raise ValueError(f"expected a whole number from 0 to {most} as {name!r}, found {value!r}")
        return int(value)

    def text(self, name: str) -> str:
        """Return a text; a number as its digits, and nothing as the empty one."""
        value = self.value(name)
        return "" if value is None else str(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return a truth value; numbers will do."""
        value = self.value(name)
        return default if value is None else bool(value)
