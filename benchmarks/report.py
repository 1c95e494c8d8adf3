"""The page of a run: how long `report.html` takes to make from a run's files, and how large it is; 16 and 128 hosts.

Two times. The processor's is that of making the page alone (what a run adds at its end); the other is wall time of
``rocelab report``, its start and imports included, as a user waits for it.
"""

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import growth, reference
from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.product import run_python, set_options

TARGET_SECONDS = 5
TARGET_MB = 5
LARGE_HOSTS = 128

Measured = dict[str, float]


def benchmark(options: Options) -> Result:
    """Run each scenario once, and make its page `repeat` times over."""
    small = "16 hosts, the reference", reference.SCENARIO, reference.settings(options)
    hosts = 16 if options.quick else LARGE_HOSTS
    large = f"{hosts} hosts, a ring All-Reduce", growth.SCENARIO, growth.size_of(hosts, 0).settings
    found = {}
    for name, scenario, settings in (small, large):
        options.say(f"report, {name}")
        found[name] = _measured(scenario, settings, options)
    return Result("report", (_table(found),), (), {"pages": found})


def _measured(scenario: str, settings: tuple[str, ...], options: Options) -> list[Measured]:
    with TemporaryDirectory(prefix="rocelab-benchmark-") as directory:
        run = Path(directory) / "run"
        run_python(["-m", "testbed", "run", scenario, *set_options(settings), "--quiet", "--out", str(run)])
        return [_page(run) for _ in range(options.repeat)]


def _page(run: Path) -> Measured:
    """Make the page by the command, and its data once more in a process of its own for the time of that alone."""
    started = time.monotonic()
    page = Path(run_python(["-m", "testbed", "report", str(run)]).strip())
    seconds = time.monotonic() - started
    alone: Measured = json.loads(run_python(["-m", "benchmarks.report", str(run)]))
    return {"seconds": seconds, "page_bytes": page.stat().st_size, **alone}


def _table(found: dict[str, list[Measured]]) -> Table:
    rows = []
    for name, pages in found.items():
        first = not rows
        rows.append(
            (
                name,
                Spread.of(page["seconds"] for page in pages).text(".2f"),
                Spread.of(page["cpu_seconds"] for page in pages).text(".2f"),
                Spread.of(page["page_bytes"] / 1e6 for page in pages).text(".1f"),
                f"under {TARGET_SECONDS} s, {TARGET_MB} MB" if first else "",
            )
        )
    columns = ("run", "rocelab report, s", "the page alone, CPU s", "report.html, MB", "target")
    return Table("The page of a run", columns, tuple(rows))


def _alone(run: Path) -> Measured:
    """Make the page in this process, once to import everything and once for its time."""
    from testbed.report.html.page import write_report

    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    write_report(run, summary)
    started = time.process_time()
    write_report(run, summary)
    return {"cpu_seconds": time.process_time() - started}


if __name__ == "__main__":
    import sys

    print(json.dumps(_alone(Path(sys.argv[1]))))
