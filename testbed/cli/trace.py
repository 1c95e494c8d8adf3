"""``rocelab trace``: what is inside a trace of a training job, before anything runs."""

import json
import sys
from pathlib import Path

import click


@click.group()
def trace() -> None:
    """Look at traces of training jobs: Chakra, PyTorch/PARAM and GOAL.

    A scenario replays one with a work of 'kind: trace'.
    """


@trace.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...|DIRECTORY")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_context
def info(context: click.Context, paths: tuple[Path, ...], as_json: bool) -> None:
    """Say what is inside a trace.

    Give its files, or the directory in which they are. What the format is, is seen from the files themselves. Prints
    ranks, nodes by type, collectives by kind, group and size, messages, how long ranks compute, and what is not
    understood.

    Exit status: 0; 1 when the trace can be read and not replayed; 2 when it cannot be read.
    """
    from testbed.report.style import console_for
    from testbed.report.trace import print_survey
    from traffic.traces.load import load_trace
    from traffic.traces.survey import survey

    found = survey(load_trace(paths))
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        print_survey(console_for(sys.stdout), found)
    context.exit(1 if found.mistakes else 0)
