"""The inside of ``rocelab bench``, in the sandbox: measure each size, and print its row at once."""

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from testbed.bench.series import Series
from testbed.fabric.build import build_plan
from testbed.measurement.progress import progress_on
from testbed.measurement.records import Measurements
from testbed.report.bench import WIDE, BenchRow, as_json, bench_row, foot, head, line, problems
from testbed.report.style import console_for
from testbed.run import RunOptions, one_fabric
from testbed.running import Running
from testbed.scenario.model import Scenario
from testbed.scenario.placement import ranks_of

Run = Callable[[Scenario, RunOptions], Measurements]


class Printer(Protocol):
    """Prints a benchmark while it goes on."""

    def begin(self, series: Series) -> None:
        """The fabric is up."""

    def row(self, row: BenchRow) -> None:
        """A size has been measured."""

    def end(self, rows: Sequence[BenchRow]) -> None:
        """All sizes have."""


def measure_all(series: Series, started: float, *, as_json: bool) -> int:
    """Carry out the benchmark, print it, and return the exit status. `started`: when the command began."""
    printer: Printer = JsonPrinter() if as_json else TablePrinter(console_for(sys.stdout).width >= WIDE)
    rows: list[BenchRow] = []
    with tempfile.TemporaryDirectory() as directory, one_fabric(series.scenarios) as run:
        printer.begin(series)
        for scenario in series.scenarios:
            measured = _measure(run, scenario, Path(directory), started, quiet=as_json)
            rows.append(bench_row(measured, series.position))
            printer.row(rows[-1])
    printer.end(rows)
    for problem in problems(rows):
        print(f"rocelab: {problem}", file=sys.stderr)
    return 0 if all(row.ok for row in rows) else 1


def _measure(run: Run, scenario: Scenario, directory: Path, started: float, *, quiet: bool) -> Measurements:
    with progress_on(console_for(sys.stderr), quiet=quiet) as progress:

        def report(running: Running) -> None:
            progress.update(running.loop.now, running.fabric.data_hops, running.share_done())

        return run(scenario, RunOptions(directory, started, report))


class TablePrinter:
    """Prints the table of nccl-tests, a row as soon as it is there."""

    def __init__(self, wide: bool) -> None:
        self._wide = wide

    def begin(self, series: Series) -> None:
        """Print what is measured and the heads of the columns."""
        work, scenario = series.work, series.scenarios[0]
        ranks = ranks_of(work.ranks, build_plan(scenario.fabric), scenario.seed)
        _print(head(scenario, ranks, work, series.sizes, wide=self._wide, context=series.context))

    def row(self, row: BenchRow) -> None:
        """Print a row."""
        _print([line(row, wide=self._wide)])

    def end(self, rows: Sequence[BenchRow]) -> None:
        """Print what comes below the table."""
        _print(foot(rows))


class JsonPrinter:
    """Prints an array when all is done: half an array is no JSON."""

    def begin(self, series: Series) -> None:
        """Print nothing yet."""

    def row(self, row: BenchRow) -> None:
        """Print nothing yet."""

    def end(self, rows: Sequence[BenchRow]) -> None:
        """Print the array."""
        print(json.dumps([as_json(row) for row in rows], indent=2))


def _print(lines: Sequence[str]) -> None:
    for text in lines:
        print(text)
    sys.stdout.flush()
