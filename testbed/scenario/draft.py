"""A scenario under check: with stand-ins where it is broken, and what is found wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from testbed.fabric.plan import FabricPlan
from testbed.scenario.document import KeyPath
from testbed.scenario.model import Scenario


@dataclass(frozen=True)
class Problem:
    """One mistake, before it has a place: that of the value at `path`, or of its key."""

    path: KeyPath
    text: str
    at_key: bool = False


Problems = Iterator[Problem]


@dataclass(frozen=True)
class Draft:
    """A scenario with stand-ins at the paths `broken`, and the plan of its fabric."""

    scenario: Scenario
    plan: FabricPlan
    broken: frozenset[KeyPath]

    def sound(self, *path: str | int) -> bool:
        """Whether the value at `path` is the user's: it is not, holds no, and is in no stand-in."""
        return not any(broken[: len(path)] == path[: len(broken)] for broken in self.broken)

    @property
    def names_known(self) -> bool:
        """Whether the plan's names are those that the user asked for."""
        return self.sound("fabric", "topology") and self.sound("fabric", "nics_per_host")
