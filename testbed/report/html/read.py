"""The files of a finished run, read back."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.report.story import EXPLANATION_FILE
from testbed.report.tables import read_table

Rows = dict[str, list[Any]]
"""A table: its columns by name."""


@dataclass(frozen=True)
class RunFiles:
    """A finished run's directory and its summary; tables are read when they are asked for."""

    directory: Path
    summary: dict[str, Any]

    def table(self, name: str) -> Rows | None:
        """Return the columns of ``<name>.parquet``; None when the run did not write it."""
        return read_table(self.directory / f"{name}.parquet")

    def story(self) -> dict[str, Any] | None:
        """Return explanation.json; None when there is none, or none that can be read."""
        try:
            told = json.loads((self.directory / EXPLANATION_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return told if isinstance(told, dict) and "chapters" in told else None
