"""Read and check a scenario: all its mistakes in one go, each with its place, what was expected and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from testbed.errors import ScenarioError
from testbed.scenario.model import Scenario
from testbed.scenario.overrides import apply_override
from testbed.scenario.reading import read_document
from testbed.scenario.semantics import check_semantics
from testbed.scenario.structure import StructureCheck


def load_scenario(path: Path, overrides: Sequence[str] = ()) -> Scenario:
    """Return the scenario of the file at `path`, with `overrides` (``fabric.link.rate=400Gbps``) applied in order.

    Raises ScenarioError whose text has a line for each mistake, sorted by place: those of the file as
    ``file:line:col: path: ...``, those of an override as ``--set ...: path: ...``.
    """
    document, mistakes = read_document(path)
    for number, override in enumerate(overrides, start=1):
        mistakes += apply_override(document, override, number)
    structure = StructureCheck(document, path.parent)
    scenario = structure.run()
    mistakes += structure.mistakes + check_semantics(document, scenario, structure.broken)
    if mistakes:
        lines = (str(mistake) for mistake in sorted(mistakes, key=lambda mistake: mistake.place))
        raise ScenarioError("\n".join(dict.fromkeys(lines)))
    return scenario
