"""``rocelab doctor``: does this machine have what a run needs, and which command mends what it lacks?"""

import json
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from testbed.errors import MachineError
from testbed.outside.check import Check
from testbed.outside.machine import checks

_COLOURS = {"ok": "green", "MISSING": "bold red", "optional": "yellow"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as a JSON array.")
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Check what a run needs and print the command that mends each thing missing.

    Exit status 0 when a run would work here, 3 when not.
    """
    found = checks()
    if as_json:
        click.echo(json.dumps([asdict(check) for check in found], indent=2))
    else:
        console = Console(highlight=False)
        if console.is_terminal:
            console.print(table(found))
            for remedy in remedies(found):
                console.print(remedy, soft_wrap=True)
        else:
            click.echo(plain(found))
        click.echo(verdict(found))
    if failing(found):
        context.exit(MachineError.exit_status)


def failing(found: Sequence[Check]) -> list[Check]:
    """Return the checks because of which a run would not work."""
    return [check for check in found if check.required and not check.ok]


def status(check: Check) -> str:
    """Return the one word for a check: ``ok``, ``MISSING`` (a run needs it) or ``optional`` (better, not needed)."""
    if check.ok:
        return "ok"
    return "MISSING" if check.required else "optional"


def verdict(found: Sequence[Check]) -> str:
    """Return the last line: whether a run would work."""
    number = len(failing(found))
    if number == 0:
        return "A run would work here."
    return f"A run would not work here: mend the {number} marked MISSING."


def plain(found: Sequence[Check]) -> str:
    """Return the checks as aligned lines, a remedy indented below its check."""
    width = max(len(check.name) for check in found)
    lines = []
    for check in found:
        lines.append(f"{status(check):8}  {check.name:{width}}  {check.found}")
        if check.remedy:
            lines.append(f"{'':8}  {'':{width}}  mend: {check.remedy}")
    return "\n".join(lines)


def table(found: Sequence[Check]) -> Table:
    """Return the checks for a terminal. What was found is text, never markup."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "needed", "found"):
        grid.add_column(heading, overflow="fold")
    for check in found:
        word = status(check)
        grid.add_row(Text(word, style=_COLOURS[word]), Text(check.name), Text(check.found))
    return grid


def remedies(found: Sequence[Check]) -> list[Text]:
    """Return the commands that mend, one a line: below the table, where a narrow terminal does not cut them up."""
    lines = [Text.assemble((f"\n{check.name}: ", "bold"), check.remedy) for check in found if check.remedy]
    return [*lines, Text()] if lines else []
