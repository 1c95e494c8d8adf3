"""The scenarios of a benchmark: one for each size, alike in all but that.

What is measured is the first collective of the kind in the scenario's workload, with all that it says of itself; the
rest of the workload runs beside it. So a row is what ``rocelab run`` gives for the scenario with that size. Where the
scenario has no such collective, one stands in place of its whole workload, among the ranks of its first collective (of
whatever kind), or all hosts. Nothing is expected of a benchmark: `expect` is left out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import ScenarioError
from testbed.scenario.collectives import Collective, Counted
from testbed.scenario.load import load_scenario
from testbed.scenario.model import MeasureOptions, Scenario
from testbed.scenario.wording import did_you_mean, near_names
from traffic.collectives.algorithms import algorithms, algorithms_of


@dataclass(frozen=True)
class Choice:
    """What to measure: a collective, by sizes in bytes; the rest is None where it is as the scenario has it."""

    collective: str
    sizes: Sequence[int]
    algorithm: str | None = None
    iterations: int | None = None
    chunk: str | None = None


@dataclass(frozen=True)
class Series:
    """The checked scenarios. `position`: which of a run's collectives is the one that is measured.

    `replaced`: the scenario's own workload was given up; `beside`: other works that run at the same time.
    """

    scenarios: tuple[Scenario, ...]
    sizes: tuple[int, ...]
    position: int
    replaced: bool
    beside: int

    @property
    def context(self) -> str:
        """What became of the scenario's workload, in words; empty where there is nothing to say."""
        if self.replaced:
            return "in place of the scenario's workload"
        return f"beside {self.beside} other work{'s' * (self.beside > 1)} of the scenario" if self.beside else ""

    @property
    def work(self) -> Collective:
        """The collective that is measured, at the first size."""
        found = [work for work in self.scenarios[0].workload if isinstance(work, Collective)]
        return found[self.position]


def collectives() -> tuple[str, ...]:
    """Return all kinds of collectives that there is an algorithm for, sorted."""
    return tuple(sorted({name.partition("/")[0] for name in algorithms.names()}))


def make_series(file: Path, overrides: Sequence[str], choice: Choice) -> Series:
    """Return the scenarios of a benchmark on that of `file`. Raises ScenarioError, as `load_scenario` does."""
    _check_names(choice)
    base = load_scenario(file, overrides)
    index = next((i for i, work in enumerate(base.workload) if work.kind == choice.collective), None)
    if index is None:
        texts = [_whole_workload(base, choice, size) for size in choice.sizes]
    else:
        texts = [list(_changes(choice, index, size)) for size in choice.sizes]
    made = tuple(_bare(load_scenario(file, (*overrides, "expect={}", *text))) for text in texts)
    before = base.workload[: index or 0]
    return Series(
        scenarios=made,
        sizes=tuple(choice.sizes),
        position=sum(isinstance(work, Collective) for work in before),
        replaced=index is None,
        beside=len(made[0].workload) - 1,
    )


def _check_names(choice: Choice) -> None:
    kinds = collectives()
    if choice.collective not in kinds:
        remedy = did_you_mean(near_names(choice.collective, kinds)) or f"; there are {', '.join(kinds)}"
        raise ScenarioError(f"rocelab: {choice.collective!r} is not a collective{remedy}")
    names = algorithms_of(choice.collective)
    if choice.algorithm is not None and choice.algorithm not in names:
        remedy = did_you_mean(near_names(choice.algorithm, names)) or f"; there are {', '.join(names)}"
        raise ScenarioError(f"--algorithm: {choice.algorithm!r} is not an algorithm for {choice.collective}{remedy}")


def _options(choice: Choice, size: int) -> dict[str, Any]:
    """Return the keys of the work that the choice sets; a size is text with its unit, as in a scenario."""
    options = {
        "size": f"{size}B",
        "algorithm": choice.algorithm,
        "iterations": choice.iterations,
        "chunk": choice.chunk,
    }
    return {key: value for key, value in options.items() if value is not None}


def _changes(choice: Choice, index: int, size: int) -> Iterator[str]:
    """Yield the overrides that put the choice into the scenario's own work at `index`."""
    for key, value in _options(choice, size).items():
        yield f"workload.{index}.{key}={value}"


def _whole_workload(base: Scenario, choice: Choice, size: int) -> list[str]:
    """Return the override that makes the collective the whole workload."""
    first = next((work for work in base.workload if isinstance(work, Collective)), None)
    ranks: Any = first.ranks if first is not None else "all"
    if isinstance(ranks, Counted):
        ranks = ranks.model_dump(exclude_defaults=True)
    work = {"kind": choice.collective, "ranks": ranks, **_options(choice, size)}
    return [f"workload=[{json.dumps(work)}]"]


def _bare(scenario: Scenario) -> Scenario:
    """Return `scenario` without what costs time and is not shown: series, causes, captures."""
    return scenario.model_copy(update={"measure": MeasureOptions(causes=False, series=False)})
