"""A whole class in one go: each student's folder is checked, and what goes wrong with one costs that one alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import RocelabError
from testbed.labs.catalogue import Lab
from testbed.labs.sheet import Point, checked
from testbed.labs.trials import Trials


@dataclass(frozen=True, slots=True)
class Grade:
    """What one student has reached. `trouble`: why nothing could be checked, None when something was."""

    student: str
    points: tuple[Point, ...]
    trouble: str | None

    @property
    def right(self) -> int:
        """Points that are right."""
        return sum(point.ok for point in self.points)


def graded(lab: Lab, folders: Sequence[Path], progress: Callable[[Path], None]) -> list[Grade]:
    """Return the grade of each folder, in their order; `progress` is told of each before it is checked."""
    trials = Trials()  # the lab's own runs are everybody's
    grades = []
    for folder in folders:
        progress(folder)
        grades.append(_grade(lab, folder, trials))
    return grades


def _grade(lab: Lab, folder: Path, trials: Trials) -> Grade:
    try:
        return Grade(folder.name, tuple(checked(lab, folder, trials).points), None)
    except RocelabError as error:
        return Grade(folder.name, (), str(error))
