"""Names of files in a scenario: they are relative to the directory that the scenario is in."""

from pathlib import PurePath
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PlainSerializer, ValidationInfo


class FoundName(str):
    """The path of a file from the current directory on; `written` is how the scenario has it."""

    written: str


def as_written(name: str) -> str:
    """Return a file's name as the scenario has it: that is the same wherever the scenario is run from."""
    return name.written if isinstance(name, FoundName) else name


def _beside_the_scenario(name: str, info: ValidationInfo) -> str:
    """Return the path of a file whose name in a scenario is relative to the scenario's directory."""
    context: Any = info.context
    found = FoundName(PurePath((context or {}).get("directory", "")) / name)
    found.written = name
    return found


FileName = Annotated[
    str,
    Field(min_length=1, examples=["traces/fsdp"]),
    AfterValidator(_beside_the_scenario),
    PlainSerializer(as_written, return_type=str),
]
"""The name of a file or directory, from the scenario's directory on; once checked, from the current one on."""
