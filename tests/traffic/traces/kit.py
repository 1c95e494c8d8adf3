"""Traces for tests, small enough to be read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.traces.make_traces import ChakraRank
from traffic.traces.load import load_trace
from traffic.traces.model import Trace
from traffic.traces.places import TraceError


def write_chakra(directory: Path, *ranks: ChakraRank, name: str = "t") -> Path:
    """Write a file for each rank; return the directory."""
    for number, rank in enumerate(ranks):
        (directory / f"{name}.{number}.et").write_bytes(rank.data)
    return directory


def write_goal(directory: Path, *lines: str) -> Path:
    """Write a GOAL schedule; return its path."""
    file = directory / "t.goal"
    file.write_text("\n".join(lines) + "\n")
    return file


def goal(directory: Path, *lines: str) -> Trace:
    return load_trace([write_goal(directory, *lines)])


def write_param(directory: Path, *ranks: Any) -> Path:
    """Write a JSON file for each rank; return the directory."""
    for number, rank in enumerate(ranks):
        (directory / f"et_{number}.json").write_text(rank if isinstance(rank, str) else json.dumps(rank))
    return directory


def refusal(*paths: Path) -> str:
    """Return the text of the error that loading ends in, without the directory of the files."""
    with pytest.raises(TraceError) as caught:
        load_trace(paths)
    return without(str(caught.value), paths)


def without(text: str, paths: Sequence[Path]) -> str:
    for path in paths:
        directory = path if path.is_dir() else path.parent
        text = text.replace(f"{directory}/", "").replace(str(directory), ".")
    return text
