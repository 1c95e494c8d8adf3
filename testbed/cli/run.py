"""``rocelab run``: carry out a scenario and print what was measured."""

import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import click

from testbed.errors import ScenarioError
from testbed.scenario.load import load_scenario

RUNS = Path("runs")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value, e.g. fabric.link.rate=400Gbps."
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="The run directory (default: a new one below runs/)."
)
@click.option("--json", "as_json", is_flag=True, help="Print summary.json, and nothing else, on standard output.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.pass_context
def run(
    context: click.Context, file: Path, overrides: tuple[str, ...], out: Path | None, as_json: bool, quiet: bool
) -> None:
    """Run the scenario FILE and print its results.

    Exit status: 0 when all went as expected; 1 when an expectation or an invariant fails, or the testbed does; 2 when
    the scenario is wrong; 3 when the machine lacks something.
    """
    started = time.monotonic()
    scenario = load_scenario(file, overrides)

    from testbed.cli.inside import in_sandbox
    from testbed.outside.machine import require_machine

    require_machine()
    directory = make_run_directory(out, file.stem)

    def inside() -> int:
        from testbed.cli.running import carry_out

        return carry_out(scenario, directory, started=started, as_json=as_json, quiet=quiet)

    try:
        context.exit(in_sandbox(inside))
    finally:
        _remove_if_empty(directory)


def make_run_directory(out: Path | None, name: str) -> Path:
    """Make the run directory and return it: `out`, or the next free ``runs/NAME-n``.

    Raises ScenarioError when `out` holds something already, since a run never overwrites another's results, or cannot
    be made.
    """
    try:
        return _given_directory(out) if out is not None else _next_directory(name)
    except OSError as error:
        raise ScenarioError(
            f"cannot make the run directory {error.filename}: {error.strerror}\n"
            "  name one that you may write to: --out DIR"
        ) from error


def _given_directory(out: Path) -> Path:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ScenarioError(f"--out {out}: expected a new or empty directory, found something in it")
    out.mkdir(parents=True, exist_ok=True)
    return out.resolve()


def _next_directory(name: str) -> Path:
    RUNS.mkdir(exist_ok=True)
    for number in count(1):
        with suppress(FileExistsError):
            directory = RUNS / f"{name}-{number}"
            directory.mkdir()
            return directory.resolve()
    raise AssertionError("numbers do not end")


def _remove_if_empty(directory: Path) -> None:
    """Take back the directory of a run that left nothing in it."""
    with suppress(OSError):
        directory.rmdir()
