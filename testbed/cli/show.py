"""``rocelab show``: what a scenario builds, as a picture."""

import sys
from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Override a value of the scenario.")
def show(file: Path, overrides: tuple[str, ...]) -> None:
    """Draw a scenario's fabric as text.

    Shows the switches, links and hosts of FILE, and their addresses.
    """
    from testbed.fabric.build import build_plan
    from testbed.fabric.canvas import UNICODE_CHARACTERS, to_ascii
    from testbed.fabric.picture import draw
    from testbed.scenario.load import load_scenario

    scenario = load_scenario(file, overrides)
    picture = f"{scenario.title}\n{draw(build_plan(scenario.fabric))}"
    click.echo(picture if _can_write(UNICODE_CHARACTERS) else to_ascii(picture))


def _can_write(characters: str) -> bool:
    """Whether standard output's encoding has all of `characters`."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
