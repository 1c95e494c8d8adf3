"""``rocelab lab``: labs for a class: list them, start one, check it, grade a class."""

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from testbed.report.style import QUIET, Signs, console_for, plain_table

if TYPE_CHECKING:
    from testbed.labs.catalogue import Lab
    from testbed.labs.grade import Grade
    from testbed.labs.sheet import Point

_FOLDER = click.option(
    "--in", "folder", type=click.Path(path_type=Path), metavar="DIR", help="The working folder (default: lab-N)."
)


@click.group()
def lab() -> None:
    """Labs for a class: list them, start one, check it, grade a class.

    docs/teaching.md is the teacher's page.
    """


@lab.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_labs(as_json: bool) -> None:
    """List the labs: number, minutes, what one learns."""
    from rich.table import Column
    from rich.text import Text

    from testbed.labs.catalogue import labs

    found = labs()
    if as_json:
        keys = ("number", "name", "title", "minutes", "learns")
        click.echo(json.dumps([{key: getattr(each, key) for key in keys} for each in found], indent=2))
        return
    table = plain_table(Column("lab", justify="right"), Column("minutes", justify="right"), Column("title"))
    table.add_column("what one learns", overflow="fold")
    for each in found:
        table.add_row(str(each.number), str(each.minutes), each.title, Text(each.learns, QUIET))
    console_for(sys.stdout).print(table)


@lab.command()
@click.argument("number", metavar="N")
@_FOLDER
@click.option("--force", is_flag=True, help="Begin anew: overwrite what is there, answers too.")
def start(number: str, folder: Path | None, force: bool) -> None:
    """Hand out lab N: its text, scenarios and answer sheet, into a working folder."""
    from testbed.labs.catalogue import hand_out, lab_called

    chosen = lab_called(number)
    target = folder or Path(f"lab-{chosen.number}")
    files = hand_out(chosen, target, again=force)
    click.echo(f"Lab {chosen.number}: {chosen.title} ({chosen.minutes} minutes)\n")
    click.echo("\n".join(f"  {file}" for file in files))
    click.echo(f"\nRead {target / 'README.md'}; then: rocelab lab check {chosen.number}" + _where(folder))


def _where(folder: Path | None) -> str:
    return "" if folder is None else f" --in {folder}"


@lab.command()
@click.argument("number", metavar="N")
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object for each point.")
@click.pass_context
def check(context: click.Context, number: str, folder: Path | None, as_json: bool) -> None:
    """Check what has been done of lab N, point by point.

    Exit status: 0 when all points are right; 1 when some are not; 2 when there is nothing to check.
    """
    from testbed.labs.catalogue import lab_called
    from testbed.labs.sheet import checked
    from testbed.outside.machine import require_machine

    chosen = lab_called(number)
    require_machine()
    points = checked(chosen, folder or Path(f"lab-{chosen.number}")).points
    if as_json:
        click.echo(json.dumps([_as_json(point) for point in points], indent=2))
    else:
        _print_points(points)
    context.exit(0 if all(point.ok for point in points) else 1)


def _as_json(point: "Point") -> dict[str, Any]:
    return {"name": point.name, "what": point.what, "ok": point.ok, "detail": point.detail}


def _print_points(points: "list[Point]") -> None:
    from rich.text import Text

    console = console_for(sys.stdout)
    signs = Signs(console)
    table = plain_table()
    for _ in range(3):
        table.add_column("", overflow="fold")
    table.show_header = False
    for point in points:
        table.add_row(signs.check(point.ok), Text(point.what), Text(point.detail, QUIET if point.ok else ""))
    console.print(table)
    right = sum(point.ok for point in points)
    console.print(Text(f"\n  {right} of {len(points)} points"))


@lab.command()
@click.argument("number", metavar="N")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR...")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values: a line a student.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array: an object a student.")
def grade(number: str, folders: tuple[Path, ...], as_csv: bool, as_json: bool) -> None:
    """Grade lab N for a class: each DIR is one student's folder.

    A student whose files cannot be read, or whose runs fail or take too long, loses points; nobody else does.
    """
    from testbed.labs.catalogue import lab_called
    from testbed.labs.grade import graded
    from testbed.outside.machine import require_machine

    chosen = lab_called(number)
    require_machine()
    grades = graded(chosen, folders, lambda folder: click.echo(f"checking {folder}", err=True))
    if as_json:
        click.echo(json.dumps([_grade_as_json(each) for each in grades], indent=2))
    elif as_csv:
        _write_csv(grades)
    else:
        _print_grades(chosen, grades)


def _grade_as_json(grade: "Grade") -> dict[str, Any]:
    return {
        "student": grade.student,
        "right": grade.right,
        "points": [_as_json(point) for point in grade.points],
        "trouble": grade.trouble,
    }


def _names(grades: "list[Grade]") -> list[str]:
    return list(dict.fromkeys(point.name for grade in grades for point in grade.points))


def _write_csv(grades: "list[Grade]") -> None:
    names = _names(grades)
    writer = csv.writer(sys.stdout)
    writer.writerow(["student", "right", *names, "trouble"])
    for grade in grades:
        right = {point.name: int(point.ok) for point in grade.points}
        writer.writerow([grade.student, grade.right, *(right.get(name, 0) for name in names), grade.trouble or ""])


def _print_grades(lab: "Lab", grades: "list[Grade]") -> None:
    from rich.table import Column
    from rich.text import Text

    console = console_for(sys.stdout)
    signs = Signs(console)
    names = _names(grades)
    table = plain_table(Column("student"), Column("points", justify="right"), *(Column(name) for name in names))
    for grade in grades:
        right = {point.name: point.ok for point in grade.points}
        marks = [signs.check(right[name]) if name in right else Text("") for name in names]
        table.add_row(Text(grade.student), Text(f"{grade.right} of {len(names)}"), *marks)
    console.print(Text(f"Lab {lab.number}: {lab.title}"))
    console.print(table)
    for grade in grades:
        if grade.trouble:
            console.print(Text(f"  {grade.student}: {grade.trouble}"))
