"""The columns of a table: their names with units, their types, and what they are."""

from typing import Any, NamedTuple

TEXT, INTEGER, NUMBER, TRUTH = "text", "integer", "number", "truth"


class Column(NamedTuple):
    """A column: its name with unit, its type, whether it may have no value, and what it is."""

    name: str
    kind: str
    description: str
    optional: bool = False


Row = tuple[Any, ...]
