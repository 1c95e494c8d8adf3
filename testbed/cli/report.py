"""``rocelab report``: the page of a finished run, made again from its directory."""

from pathlib import Path

import click

from testbed.cli.counters import read_summary
from testbed.errors import ScenarioError, TestbedError


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Where to write (default: in the run).")
def report(run: Path, out: Path | None) -> None:
    """Make report.html of the finished run in the directory RUN.

    Every run makes it, too. It is one file that needs no network: open it in a browser.
    """
    from testbed.report.html.page import write_report

    summary = read_summary(run)
    directory = run if run.is_dir() else run.parent
    if out is not None and out.is_dir():
        raise ScenarioError(f"--out {out}: expected a file to write, such as report.html, found a directory")
    try:
        click.echo(str(write_report(directory, summary, out)))
    except OSError as error:
        raise TestbedError(f"the report cannot be written: {error}") from error
    except (KeyError, ValueError) as error:  # JSON's and Parquet's mistakes are of the latter kind
        raise ScenarioError(f"{run}: expected what a run of this version writes; it lacks {error}") from error
