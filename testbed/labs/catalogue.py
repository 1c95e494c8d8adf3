"""The labs that there are, and handing one out."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from testbed.errors import MachineError, ScenarioError

FOLDER = Path(__file__).parents[2] / "labs"
_KEPT_BACK = {"check.py", "lab.yaml", "solution", "__pycache__"}


@dataclass(frozen=True, slots=True)
class Lab:
    """One lab: its number and name (those of its folder), and what ``lab.yaml`` says."""

    number: int
    name: str
    title: str
    minutes: int
    learns: str
    folder: Path

    @property
    def handed_out(self) -> list[Path]:
        """What a student gets."""
        return sorted(path for path in self.folder.iterdir() if path.name not in _KEPT_BACK)


def labs(folder: Path = FOLDER) -> list[Lab]:
    """Return all labs, by number. Raises MachineError where there is no folder of them."""
    found = [_lab(file) for file in sorted(folder.glob("[0-9]*/lab.yaml"))]
    if not found:
        raise MachineError(
            f"expected labs in {folder}, found none; run rocelab from its source tree: ./rocelab lab list"
        )
    return sorted(found, key=lambda lab: lab.number)


def _lab(file: Path) -> Lab:
    from testbed.scenario.reading import read_document

    about: dict[str, Any] = read_document(file)[0].root
    number, _, name = file.parent.name.partition("-")
    return Lab(int(number), name, about["title"], about["minutes"], about["learns"], file.parent)


def lab_called(wanted: str, folder: Path = FOLDER) -> Lab:
    """Return the lab with a number or name. Raises ScenarioError with near names."""
    known = labs(folder)
    for lab in known:
        if wanted in (str(lab.number), lab.name, lab.folder.name):
            return lab
    names = [str(lab.number) for lab in known] + [lab.name for lab in known]
    near = get_close_matches(wanted, names, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are 1 to {known[-1].number}: ./rocelab lab list"
    raise ScenarioError(f"expected a lab's number or name, found {wanted!r}; {hint}")


def hand_out(lab: Lab, target: Path, *, again: bool) -> list[Path]:
    """Copy what a student gets into `target`; return the files. What is there stays, unless `again`.

    Raises ScenarioError, before anything is written, when a file is there already.
    """
    taken = [target / path.name for path in lab.handed_out if (target / path.name).exists()]
    if taken and not again:
        raise ScenarioError(
            f"{taken[0]} is there already, and may hold answers; start elsewhere (--in DIR), or anew with --force"
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        return list(_copied(lab, target))
    except OSError as error:
        raise ScenarioError(f"cannot write {error.filename}: {error.strerror}") from error


def _copied(lab: Lab, target: Path) -> Iterator[Path]:
    for path in lab.handed_out:
        if path.is_dir():
            shutil.copytree(path, target / path.name, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, target / path.name)
        yield target / path.name
