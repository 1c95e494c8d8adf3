"""The inside of ``rocelab run``, in the sandbox: run, write the results, print them."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from testbed.errors import TestbedError
from testbed.measurement.causes.model import Unexplained
from testbed.measurement.progress import progress_on
from testbed.measurement.records import Invariant, Measurements
from testbed.outside.kernel_datapath import USER
from testbed.outside.shared_screen import SharedScreen
from testbed.report.story import Story, story, write_story
from testbed.report.style import console_for
from testbed.report.summary import Summary, summary, write_summary
from testbed.report.text import print_json, print_quiet, print_report
from testbed.run import RunOptions, run
from testbed.running import Running
from testbed.scenario.model import Scenario


@dataclass(frozen=True)
class Output:
    """Where results go: files into `directory`, which the user knows as `shown`, and a report on the terminal.

    `screen`: the run is shown live, on standard error, whose screen that is; None: it is not.
    """

    directory: Path
    shown: Path
    as_json: bool
    quiet: bool
    screen: SharedScreen | None = None


def carry_out(
    scenario: Scenario,
    overrides: Sequence[str],
    output: Output,
    started: float,
    rate_factor: int | None = None,
    datapath: str = USER,
) -> int:
    """Run `scenario`, leave its results in the directory, print them, and return the exit status.

    `overrides` are the ``--set`` texts that the scenario was loaded with; `started` is when the command began
    (time.monotonic). `rate_factor`: of the live clock; 0: one that the machine can hold; None: the virtual clock.
    `datapath` is Open vSwitch's.
    """
    measurements = _run(scenario, output, started, rate_factor, datapath)
    try:
        result = _write(measurements, overrides, output)
    except OSError as error:
        raise TestbedError(f"the run is done, but its results cannot be written: {error}") from error
    try:
        _print(result, output)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(
            error.errno, f"{error.strerror}; the run is done, and its results are in {output.shown}"
        ) from error
    return 0 if result["ok"] else 1


def _run(scenario: Scenario, output: Output, started: float, rate_factor: int | None, datapath: str) -> Measurements:
    console = console_for(sys.stderr)
    if output.screen is not None:
        from testbed.measurement.watch.screen import watch_on

        with watch_on(console, output.screen) as watch:
            return run(scenario, RunOptions(output.directory, started, watch.update, rate_factor, datapath))
    with progress_on(console, quiet=output.quiet or output.as_json) as progress:

        def report(running: Running) -> None:
            progress.update(running.loop.now, running.fabric.data_hops, running.share_done())

        return run(scenario, RunOptions(output.directory, started, report, rate_factor, datapath))


def _write(measurements: Measurements, overrides: Sequence[str], output: Output) -> Summary:
    from testbed.report.tables import write_tables
    from testbed.report.timeline import TIMELINE_FILE, write_timeline

    measurements, told = _told(measurements)
    write_tables(output.directory, measurements)
    if measurements.series is not None:
        _picture(output, TIMELINE_FILE, lambda: write_timeline(output.directory, measurements))
    if told is not None:
        write_story(output.directory, told)
    result = summary(measurements, overrides)
    _write_page(result, output)
    write_summary(output.directory, result)
    return result


def _told(measurements: Measurements) -> tuple[Measurements, Story | None]:
    """Return `measurements` with their explanation's story; without either where it cannot be told."""
    if measurements.explanation is None:
        return measurements, None
    try:
        return measurements, story(measurements.explanation)
    except Exception as error:
        failed = Invariant("causes", ok=False, detail=Unexplained.by(error).reason)
        kept = tuple(failed if each.name == failed.name else each for each in measurements.invariants)
        return replace(measurements, explanation=None, invariants=kept), None


def _write_page(result: Summary, output: Output) -> None:
    """Write report.html: the last thing that a run may fail for, whatever the reason, is a picture of it."""
    from testbed.report.html.page import REPORT_FILE, write_report

    _picture(output, REPORT_FILE, lambda: write_report(output.directory, json.loads(json.dumps(result))))


def _picture(output: Output, name: str, make: Callable[[], object]) -> None:
    """Make the file `name`, or say why it could not be made; the results are worth more."""
    try:
        make()
    except Exception as error:
        (output.directory / name).unlink(missing_ok=True)
        print(f"rocelab: {name} could not be made: {error!r}", file=sys.stderr)


def _print(result: Summary, output: Output) -> None:
    if output.as_json:
        print_json(sys.stdout, result)
    elif output.quiet:
        print_quiet(console_for(sys.stderr), result)
    else:
        here, shown = Path.cwd(), output.shown
        files = sorted(path.name for path in output.directory.iterdir())
        print_report(
            console_for(sys.stdout), result, shown.relative_to(here) if shown.is_relative_to(here) else shown, files
        )
