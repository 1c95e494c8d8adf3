"""``rocelab scenarios``: what comes with rocelab, one line a scenario."""

import json
from pathlib import Path

import click

from testbed.errors import MachineError, ScenarioError

FOLDER = Path(__file__).parents[2] / "scenarios"
"""The built-in scenarios: numbered files, in tens by theme."""


@click.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON array of objects with number, name, title and file."
)
def scenarios(as_json: bool) -> None:
    """List the scenarios that come with rocelab."""
    found = builtin_scenarios()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    width = max(len(item["name"]) for item in found)
    for item in found:
        click.echo(f"{item['number']}  {item['name']:<{width}}  {item['title']}")


def builtin_scenarios() -> list[dict[str, str]]:
    """Return number, name, title and file of each built-in scenario, by number.

    A file that cannot be read shows that in the place of its title: its mistakes are for ``rocelab check``. Raises
    MachineError when the folder is not there or empty.
    """
    files = sorted(FOLDER.glob("[0-9]*.yaml"))
    if not files:
        raise MachineError(
            f"expected scenarios in {FOLDER}, found none; run rocelab from its source tree: ./rocelab scenarios"
        )
    return [_described(file) for file in files]


def _described(file: Path) -> dict[str, str]:
    from testbed.scenario.reading import read_document

    try:
        title = str(read_document(file)[0].root.get("title", "(no title)"))
    except ScenarioError:
        title = f"(not readable: rocelab check {file})"
    number, _, name = file.stem.partition("-")
    return {"number": number, "name": name, "title": title, "file": str(file)}
