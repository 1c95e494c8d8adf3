"""A student's ``answers.yaml``: a mapping from a question's name to an answer, ``null`` where there is none yet.

An answer is compared as what the question asks for: a whole number, a share, a time, a size, a rate, or a text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import ScenarioError
from testbed.units import format_rate, format_size, format_time, parse_rate, parse_size, parse_time

FILE = "answers.yaml"


@dataclass(frozen=True, slots=True)
class Kind:
    """What an answer is: how it is read (ValueError when it cannot be), and shown."""

    read: Callable[[Any], Any]
    show: Callable[[Any], str]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, found {value!r}")
    return value


def _text(value: Any) -> str:
    return str(value).strip()


def _quantity(parse: Callable[[str], int]) -> Callable[[Any], int]:
    return lambda value: parse(str(value))


KINDS: Mapping[str, Kind] = {
    "number": Kind(_number, lambda value: f"{value:g}"),
    "text": Kind(_text, str),
    "time": Kind(_quantity(parse_time), format_time),
    "size": Kind(_quantity(parse_size), format_size),
    "rate": Kind(_quantity(parse_rate), format_rate),
}


def read_answers(folder: Path) -> dict[str, Any]:
    """Return the answers in `folder`. Raises ScenarioError that says where the file is wrong."""
    from testbed.scenario.reading import read_document

    file = folder / FILE
    if not file.is_file():
        raise ScenarioError(f"{file}: not there; ./rocelab lab start N hands it out")
    document, mistakes = read_document(file)
    if mistakes:
        raise ScenarioError("\n".join(str(mistake) for mistake in mistakes))
    if not isinstance(document.root, dict):
        raise ScenarioError(f"{file}: expected a line 'name: answer' for each question, found {document.root!r}")
    return {str(name): value for name, value in document.root.items()}
