"""``rocelab show``: what a scenario builds, as a picture; with ``--flows`` also what its controller installs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from testbed.fabric.plan import FabricPlan
    from testbed.scenario.model import Scenario


@click.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value of the scenario.")
@click.option("--flows", is_flag=True, help="Build the fabric and print each switch's flows and groups as installed.")
@click.pass_context
def show(context: click.Context, file: Path, overrides: tuple[str, ...], flows: bool) -> None:
    """Draw a scenario's fabric as text.

    Shows the switches, links and hosts of FILE, and their addresses.
    """
    from testbed.fabric.build import build_plan
    from testbed.fabric.canvas import UNICODE_CHARACTERS, to_ascii
    from testbed.fabric.picture import draw
    from testbed.scenario.load import load_scenario

    scenario = load_scenario(file, overrides)
    plan = build_plan(scenario.fabric)
    picture = f"{scenario.title}\n{draw(plan)}"
    click.echo(picture if _can_write(UNICODE_CHARACTERS) else to_ascii(picture))
    if flows:
        context.exit(_show_flows(scenario, plan))


def _can_write(characters: str) -> bool:
    """Whether standard output's encoding has all of `characters`."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _show_flows(scenario: "Scenario", plan: "FabricPlan") -> int:
    from testbed.cli.inside import in_sandbox

    def inside() -> int:
        from testbed.lab import fabric_up, installed_rules

        with fabric_up(plan, scenario.controller):
            for switch, rules in installed_rules(plan).items():
                click.echo(f"\n{switch}")
                for line in rules:
                    click.echo(f"  {line}")
            click.echo("\nThe flow for dl_type=0x88b5 is the testbed's own, all else the controller's.")
        return 0

    return in_sandbox(inside)
