"""How an error reaches the user: on standard error, with the program's name unless it names a place in a file."""

import click

from testbed.errors import RocelabError, ScenarioError


def complain(error: RocelabError) -> int:
    """Print `error` and return its exit status."""
    prefix = "" if isinstance(error, ScenarioError) else "rocelab: "
    click.echo(f"{prefix}{error}", err=True)
    return error.exit_status
