"""The inside of ``rocelab run``, in the sandbox: run, write the results, print them."""

import sys
from pathlib import Path

from testbed.measurement.progress import progress_on
from testbed.report.style import console_for
from testbed.report.summary import Summary, summary, write_summary
from testbed.report.text import print_json, print_quiet, print_report
from testbed.run import Running, RunOptions, run
from testbed.scenario.model import Scenario


def carry_out(scenario: Scenario, directory: Path, *, started: float, as_json: bool, quiet: bool) -> int:
    """Run `scenario`, leave its results in `directory`, print them, and return the exit status."""
    result = _results(scenario, directory, started, quiet or as_json)
    _print(result, directory, as_json, quiet)
    return 0 if result["ok"] else 1


def _results(scenario: Scenario, directory: Path, started: float, silent: bool) -> Summary:
    with progress_on(console_for(sys.stderr), quiet=silent) as progress:

        def report(running: Running) -> None:
            progress.update(running.loop.now, running.fabric.data_hops, running.share_done())

        measurements = run(scenario, RunOptions(directory, started, report))
    from testbed.report.tables import write_tables

    write_tables(directory, measurements)
    result = summary(measurements)
    write_summary(directory, result)
    return result


def _print(result: Summary, directory: Path, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(sys.stdout, result)
    elif quiet:
        print_quiet(console_for(sys.stderr), result)
    else:
        shown = Path(directory).relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
        print_report(console_for(sys.stdout), result, shown, sorted(path.name for path in directory.iterdir()))
