"""``rocelab counters``: what NICs and switches of a finished run have counted."""

import json
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from testbed.errors import ScenarioError
from testbed.report.shape import missing

_NAMED = 3
"""So many of the missing parts of a summary are named."""


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--node", metavar="NAME", help="Only this host, NIC, switch or port.")
@click.option("--all", "everything", is_flag=True, help="Rows of zeros, too.")
@click.option("--json", "as_json", is_flag=True, help="Print all counters as JSON.")
def counters(run: Path, node: str | None, everything: bool, as_json: bool) -> None:
    """Print the counters of the finished run in the directory RUN.

    NICs' are under their mlx5 and ethtool names; switches' are by queue, ingress group and priority. Rows that are all
    zeros are left out.
    """
    from testbed.report.counters import counters as all_counters
    from testbed.report.counters import nodes, print_counters
    from testbed.report.style import console_for

    summary = read_summary(run)
    if node is not None and node not in nodes(summary):
        raise ScenarioError(_unknown(node, nodes(summary)))
    if as_json:
        click.echo(json.dumps(all_counters(summary, node), indent=2))
    else:
        print_counters(console_for(sys.stdout), summary, node, everything=everything)


def read_summary(run: Path) -> Any:
    """Return the summary of the finished run in the directory `run` (or of which `run` is the summary.json).

    Raises ScenarioError when there is none.
    """
    path = run / "summary.json" if run.is_dir() else run
    expected = f"{run}: expected the directory of a finished run, such as runs/01-ring-all-reduce-1"
    if not path.exists():
        found = "no summary.json in it: the run was interrupted, or is under way" if run.is_dir() else "nothing there"
        raise ScenarioError(f"{expected}, found {found}")
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        summary = None
    if not isinstance(summary, dict):
        raise ScenarioError(f"{expected}, found a file that is not a summary of this version of rocelab")
    lacks = list(missing(summary))
    if lacks:
        raise ScenarioError(f"{expected}, found a summary of another version of rocelab: it has no {_some(lacks)}")
    return summary


def _some(names: list[str]) -> str:
    """Name the first few."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _unknown(node: str, known: list[str]) -> str:
    near = get_close_matches(node, known, n=2)
    remedy = f"did you mean {' or '.join(near)}?" if near else f"such as {known[0]} or {known[-1]}"
    return f"--node {node}: expected a host, NIC, switch or port of the run, found none of that name; {remedy}"
