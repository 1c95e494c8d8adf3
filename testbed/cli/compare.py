"""``rocelab compare``: several runs side by side."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from testbed.errors import ScenarioError, TestbedError


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN-OR-SCENARIO...", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value of every scenario.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@click.pass_context
def compare(context: click.Context, runs: tuple[Path, ...], overrides: tuple[str, ...], as_json: bool) -> None:
    """Put runs side by side: completion time, busbw, stall, drops, marks, pauses, retransmissions.

    Each argument is the directory of a run, or a scenario, which is then run. Differences from the first are marked.
    Exit status: 0; 1 when a scenario's run failed; 2 when an argument is neither.
    """
    from testbed.report.compare import as_json as table_json
    from testbed.report.compare import print_comparison
    from testbed.report.style import console_for

    _check(runs, overrides)
    summaries = [_summary_of(run, overrides) for run in runs]
    names = _names(runs)
    if as_json:
        click.echo(json.dumps(table_json(names, summaries), indent=2))
    else:
        print_comparison(console_for(sys.stdout), names, summaries)
    context.exit(0 if all(summary["ok"] for summary in summaries) else 1)


def _check(runs: Sequence[Path], overrides: Sequence[str]) -> None:
    """Look at every argument before the first scenario runs; report all mistakes."""
    from testbed.scenario.load import load_scenario

    mistakes = []
    for run in runs:
        if run.is_dir():
            if not (run / "summary.json").is_file():
                mistakes.append(f"{run}: expected the directory of a finished run, found no summary.json in it")
            continue
        try:
            load_scenario(run, overrides)
        except ScenarioError as error:
            mistakes.append(str(error))
    if mistakes:
        raise ScenarioError("\n".join(mistakes))


def _summary_of(run: Path, overrides: Sequence[str]) -> Any:
    """Return the summary of a run, or of a scenario that is run now, in a process of its own."""
    if run.is_dir():
        return json.loads((run / "summary.json").read_text())
    with tempfile.TemporaryDirectory(prefix="rocelab-compare-") as folder:
        out = Path(folder) / "run"
        options = [word for override in overrides for word in ("--set", override)]
        command = [sys.executable, "-m", "testbed", "run", str(run), "--quiet", "--out", str(out), *options]
        click.echo(f"running {run}", err=True)
        status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
        if not (out / "summary.json").is_file():
            raise TestbedError(f"{run}: the run ended with exit status {status} and left no summary")
        return json.loads((out / "summary.json").read_text())


def _names(runs: Sequence[Path]) -> list[str]:
    """Name each run by the last part of its path, or by the whole where those are alike."""
    short = [run.stem if run.suffix == ".yaml" else run.name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]
