"""``rocelab compare``: several runs side by side."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from testbed.cli.counters import read_summary
from testbed.errors import ScenarioError, TestbedError

_NAMES_ONE_KIND = (".yaml", ".yml", ".json")
"""Ends of names that say which of the two an argument is meant to be."""


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN-OR-SCENARIO...", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value of every scenario.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Write them as a web page, too.")
@click.pass_context
def compare(
    context: click.Context, runs: tuple[Path, ...], overrides: tuple[str, ...], as_json: bool, page: Path | None
) -> None:
    """Put runs side by side: completion time, busbw, stall, drops, marks, pauses, retransmissions.

    Each argument is the directory of a run, or a scenario, which is then run into a new directory below runs/.
    Differences from the first are marked.

    Exit status: 0; 1 when a run is not as its scenario expects, or ended without results; 2 when an argument is
    neither.
    """
    from testbed.report.compare import Compared, print_comparison
    from testbed.report.compare import as_json as table_json
    from testbed.report.style import console_for

    _check(runs, overrides)
    if page is not None and (page.is_dir() or not page.parent.is_dir()):
        raise ScenarioError(
            f"--html {page}: expected a file to write, in a directory that there is, such as compare.html"
        )
    ran = [_ran(run, overrides) for run in runs]
    found = [summary for _, summary in ran]
    names = _names(runs)
    compared = [Compared(name, each) for name, each in zip(names, found, strict=True) if each is not None]
    if as_json:
        click.echo(json.dumps(table_json(compared), indent=2))
    elif compared:
        print_comparison(console_for(sys.stdout), compared)
    if page is not None and compared:
        _write_page(page, [(name, *each) for name, each in zip(names, ran, strict=True) if each[1] is not None])
    missing = [name for name, each in zip(names, found, strict=True) if each is None]
    if missing:
        click.echo(f"rocelab: no results of {', '.join(missing)}", err=True)
    context.exit(0 if all(each is not None and each["ok"] for each in found) else 1)


def _write_page(page: Path, runs: list[tuple[str, Path, Any]]) -> None:
    from testbed.report.html.page import write_comparison

    try:
        write_comparison(runs, page)
    except OSError as error:
        raise TestbedError(f"the page cannot be written: {error}") from error
    except (KeyError, ValueError) as error:
        raise ScenarioError(f"expected runs of this version for a page; something is missing: {error}") from error
    click.echo(f"rocelab: {page} written", err=True)


def _check(runs: Sequence[Path], overrides: Sequence[str]) -> None:
    """Look at every argument before the first scenario runs; report all mistakes."""
    from testbed.scenario.load import load_scenario

    mistakes = []
    for run in runs:
        try:
            if not run.exists() and run.suffix not in _NAMES_ONE_KIND:
                raise ScenarioError(f"{run}: expected a run's directory or a scenario, found nothing there")
            if _is_scenario(run):
                load_scenario(run, overrides)
            else:
                read_summary(run)
        except ScenarioError as error:
            mistakes.append(str(error))
    if mistakes:
        raise ScenarioError("\n".join(mistakes))


def _is_scenario(run: Path) -> bool:
    return not run.is_dir() and run.suffix != ".json"


def _ran(run: Path, overrides: Sequence[str]) -> tuple[Path, Any]:
    """Return the directory and summary of a run, or of a scenario that is run now; None if that has no results."""
    if not _is_scenario(run):
        return run if run.is_dir() else run.parent, read_summary(run)

    from testbed.outside.child import run_rocelab
    from testbed.outside.run_directory import next_run_directory

    directory = next_run_directory(run.stem)
    click.echo(f"{directory}: running {run}", err=True)
    options = [word for override in overrides for word in ("--set", override)]
    run_rocelab(["run", str(run), "--quiet", "--out", str(directory), *options])
    return directory, read_summary(directory) if (directory / "summary.json").is_file() else None


def _names(runs: Sequence[Path]) -> list[str]:
    """Name each run by the last part of its path, or by the whole where those are alike."""
    short = [run.stem if _is_scenario(run) else run.name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]
