"""``rocelab test``: run the project's tests. Whatever follows is pytest's own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import click

from testbed.errors import MachineError

ROOT = Path(__file__).parents[2]


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def test(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Run all tests, or those that pytest's ARGUMENTS choose.

    Paths are relative to the project's directory. The exit status is pytest's own.
    """
    context.exit(run_pytest(arguments))


def run_pytest(arguments: tuple[str, ...]) -> int:
    """Run pytest in the project's directory and return its exit status (0: all passed, 1: some failed)."""
    if importlib.util.find_spec("pytest") is None:
        raise MachineError("pytest is not installed in this environment\n  ./rocelab test installs what the tests need")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, env=environment).returncode
