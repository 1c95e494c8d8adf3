"""``rocelab check``: is a scenario right?"""

from pathlib import Path

import click

from testbed.errors import ScenarioError


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value in each of the files.")
def check(files: tuple[Path, ...], overrides: tuple[str, ...]) -> None:
    """Report every mistake of scenarios.

    Each with file, line and column, what was expected and what was found. Exit status 0 when all files are right, 2
    when one is wrong.
    """
    from testbed.scenario.load import load_scenario

    mistakes = []
    for file in files:
        try:
            scenario = load_scenario(file, overrides)
        except ScenarioError as error:
            mistakes.append(str(error))
        else:
            click.echo(f"{file}: right: {scenario.title}")
    if mistakes:
        raise ScenarioError("\n".join(mistakes))
