"""The points of one lab: questions whose answers are computed, and demands on what a student has made.

A lab's ``check.py`` has one function:

    def check(sheet: Sheet) -> None:
        run = sheet.run("fabric.yaml")
        sheet.asks("time", "How long does the All-Reduce take?", run["collectives.0.time_ps"], kind="time", within=0.01,
                   mistakes={run["collectives.0.ideal_ps"]: "that is the ideal time, without contention"})
        mine = sheet.run_own("tuned.yaml")
        sheet.demands("pauses", "No pauses", mine["totals.pauses"] == 0, f"it has {mine['totals.pauses']}")

Whatever goes wrong in a run of the student's costs the points that need it, with what the run said, and no others.
"""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import ScenarioError
from testbed.labs.answers import KINDS, read_answers
from testbed.labs.catalogue import Lab
from testbed.labs.trials import Trial, TrialFailed, Trials


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that is checked: its name, what it is, whether it is right, and what was found, or a hint."""

    name: str
    what: str
    ok: bool
    detail: str = ""


class Sheet:
    """What one student has done of one lab, point by point: `points` in the end. `own` is the student's folder."""

    def __init__(self, lab: Lab, own: Path, trials: Trials) -> None:
        self.points: list[Point] = []
        self.own = own
        self._lab = lab
        self._trials = trials
        self._answers = read_answers(own)
        self._asked: set[str] = set()

    # --- runs ---------------------------------------------------------------------------------------------------------

    def run(self, file: str, *options: str) -> Trial:
        """Run a scenario of the lab as it is handed out."""
        return self._trials.run(self._lab.folder / file, options)

    def run_own(self, file: str, *options: str) -> Trial:
        """Run a scenario of the student's. Raises TrialFailed, which `part` turns into lost points."""
        path = self.own / file
        if not path.is_file():
            raise TrialFailed(f"{file} is not there; ./rocelab lab start {self._lab.number} hands it out")
        return Trials().run(path, options)

    def run_with_own(self, file: str, *options: str) -> Trial:
        """Run a scenario of the lab with something of the student's in it (``--policy FILE``)."""
        return Trials().run(self._lab.folder / file, options)

    @contextmanager
    def part(self, name: str, what: str) -> Iterator[None]:
        """Turn a run that came to nothing, inside, into the lost point `name`."""
        try:
            yield
        except TrialFailed as failed:
            self.points.append(Point(name, what, ok=False, detail=str(failed)))
        except (LookupError, StopIteration, TypeError, AttributeError) as error:
            # the check did not find in the student's run what the lab's own has
            detail = f"the run is not like the lab's own: {type(error).__name__}: {error}"
            self.points.append(Point(name, what, ok=False, detail=detail))

    # --- points -------------------------------------------------------------------------------------------------------

    def asks(
        self,
        name: str,
        question: str,
        right: Any,
        *,
        kind: str = "number",
        within: float = 0.0,
        mistakes: Mapping[Any, str] | None = None,
        hint: str = "",
    ) -> None:
        """Check the answer `name` against what is `right`, to within a share of it; `mistakes` are wrong answers that
        are often given, with what to say about each."""
        self._asked.add(name)
        given = self._answers.get(name)
        if given is None:
            self.points.append(Point(name, question, ok=False, detail="no answer yet"))
            return
        try:
            answer = KINDS[kind].read(given)
            ok = _same(answer, right, within)
            said = self._said(answer, kind, ok, within, mistakes or {}, hint)
        except (ValueError, OverflowError) as error:
            self.points.append(Point(name, question, ok=False, detail=str(error)))
        else:
            self.points.append(Point(name, question, ok, said))

    def _said(self, answer: Any, kind: str, ok: bool, within: float, mistakes: Mapping[Any, str], hint: str) -> str:
        shown = KINDS[kind].show(answer)
        if ok:
            return shown
        known = next((text for wrong, text in mistakes.items() if _same(answer, wrong, within)), hint)
        return f"{shown} is not right" + (f": {known}" if known else "")

    def demands(self, name: str, what: str, ok: bool, detail: str = "") -> None:
        """Note whether something that the student has made is as it should be."""
        self.points.append(Point(name, what, ok, detail))

    def unasked(self) -> Iterator[str]:
        """Yield the names of answers that nobody has asked for: misspelt, most likely."""
        yield from (name for name in self._answers if name not in self._asked)


def _same(answer: Any, right: Any, within: float) -> bool:
    if isinstance(answer, str) or isinstance(right, str):
        return str(answer).casefold() == str(right).casefold()
    return bool(abs(answer - right) <= within * abs(right))


def checked(lab: Lab, own: Path, trials: Trials | None = None) -> Sheet:
    """Return the sheet of a student whose files are in `own`. Raises ScenarioError when there is nothing to check."""
    if not own.is_dir():
        raise ScenarioError(f"{own}: no such folder; ./rocelab lab start {lab.number} --in {own} makes it")
    sheet = Sheet(lab, own, trials or Trials())
    _check_of(lab)(sheet)
    for name in sheet.unasked():
        sheet.demands(name, "An answer to a question that is not asked", ok=False, detail="check its name")
    return sheet


def _check_of(lab: Lab) -> Callable[[Sheet], None]:
    spec = importlib.util.spec_from_file_location(f"rocelab_lab_{lab.number}", lab.folder / "check.py")
    assert spec is not None, "a file that is there has a specification"
    assert spec.loader is not None, "a Python file has a loader"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check: Callable[[Sheet], None] = module.check
    return check
