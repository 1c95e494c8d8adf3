"""``rocelab explain``: why the ranks of a finished run stalled."""

import json
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from testbed.cli.counters import read_summary
from testbed.errors import ScenarioError, TestbedError

_PARTS = {"chapters", "causes", "stalls"}
_OF = {"collective", "flow", "trace", "rank"}
"""What an explanation has, and each of its stalls: a file without it is of another version."""


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--rank", metavar="NAME", help="Only this rank, or the flows to this host.")
@click.option("--json", "as_json", is_flag=True, help="Print explanation.json, and nothing else, on standard output.")
def explain(run: Path, rank: str | None, as_json: bool) -> None:
    """Tell why the ranks of the finished run in the directory RUN waited longer than they would have alone.

    What cost most comes first; the parts of each rank's stall add up to it, to the picosecond.
    """
    from testbed.report.story_text import print_rank, print_story
    from testbed.report.style import console_for

    summary = read_summary(run)
    told = read_explanation(run if run.is_dir() else run.parent, summary)
    ranks = list(dict.fromkeys(stall["rank"] for stall in told["stalls"]))
    if rank is not None and rank not in ranks:
        raise ScenarioError(_unknown(rank, ranks))
    if as_json:
        stalls = [stall for stall in told["stalls"] if rank in (None, stall["rank"])]
        click.echo(json.dumps({**told, "stalls": stalls}, indent=1, ensure_ascii=False))
    elif rank is None:
        print_story(console_for(sys.stdout), summary["title"], told)
    else:
        print_rank(console_for(sys.stdout), summary["title"], told, rank)


def read_explanation(run: Path, summary: Any) -> Any:
    """Return the explanation of the finished run in `run`. Raises ScenarioError when there is none, TestbedError when
    the explainer itself failed on it."""
    path = run / "explanation.json"
    if not path.exists():
        failed = next((each for each in summary["invariants"] if each["name"] == "causes" and not each["ok"]), None)
        if failed is not None:
            raise TestbedError(
                f"{run}: {failed['detail']}; the run's results are whole, but nothing explains them. "
                "This is a mistake in rocelab, not in the scenario"
            )
        raise ScenarioError(f"{run}: expected a run with its causes, found no explanation.json in it: {_why(summary)}")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        told = None
    if (
        not isinstance(told, dict)
        or not told.keys() >= _PARTS
        or not all(each.keys() >= _OF for each in told["stalls"])
    ):
        raise ScenarioError(
            f"{path}: expected what a run of this version writes there, found another file; run it again"
        )
    return told


def _why(summary: Any) -> str:
    if not summary["scenario"].get("measure", {}).get("causes", True):
        return "its scenario has 'measure: {causes: false}'; run it again with --set measure.causes=true"
    if summary.get("clock") == "live":
        return "causes are found on the virtual clock only; run it again without --clock live"
    return "another version of rocelab ran it; run it again"


def _unknown(rank: str, known: list[str]) -> str:
    near = get_close_matches(rank, known, n=2)
    remedy = f"did you mean {' or '.join(near)}?" if near else f"such as {known[0]}" if known else "there is none"
    return f"--rank {rank}: expected a rank of the run, or a host that flows go to, found none of that name; {remedy}"
