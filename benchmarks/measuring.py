"""What measuring costs: the reference and a congested scenario, with and without time series, events and causes.

Counters and invariants are always there. What can be switched off is what is kept of a run as it goes on: the time
series and events (`measure.series`), and the log of hops from which stalls are explained (`measure.causes`). A user
waits for the whole run, from the command to its end; the time from first to last packet is that of the engine alone.
"""

import time

from benchmarks import reference
from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.product import BenchmarkError, Summary, run_product

TARGET_SHARE = 0.15
CONGESTED = "scenarios/40-policy-static.yaml"
STEPS: dict[str, tuple[str, ...]] = {
    "nothing": ("measure.series=false", "measure.causes=false"),
    "time series and events": ("measure.series=true", "measure.causes=false"),
    "causes": ("measure.series=false", "measure.causes=true"),
    "both": ("measure.series=true", "measure.causes=true"),
}


def benchmark(options: Options) -> Result:
    """Run both scenarios with each step, in turn, so that all see the same machine."""
    scenarios = (
        {"reference": reference.SCENARIO}
        if options.quick
        else {
            "reference": reference.SCENARIO,
            "nine to one, DCQCN": CONGESTED,
        }
    )
    runs = {name: _runs(name, scenario, options) for name, scenario in scenarios.items()}
    data = {
        name: {step: [run["wall"] for run in summaries] for step, summaries in found.items()}
        for name, found in runs.items()
    }
    return Result("measuring", (_table(runs),), (), {"wall": data})


def _runs(name: str, scenario: str, options: Options) -> dict[str, list[Summary]]:
    runs: dict[str, list[Summary]] = {step: [] for step in STEPS}
    for number in range(options.repeat):
        for step, settings in STEPS.items():
            options.say(f"measuring, {name}, {step}, run {number + 1}")
            began = time.monotonic()
            summary = run_product(scenario, (*settings, *reference.settings(options)))
            summary["wall"]["whole_seconds"] = time.monotonic() - began
            runs[step].append(summary)
    times = {run["duration_ps"] for summaries in runs.values() for run in summaries}
    if len(times) != 1:
        raise BenchmarkError(f"expected one completion time whatever is measured, found {sorted(times)}")
    return runs


def _table(runs: dict[str, dict[str, list[Summary]]]) -> Table:
    rows = []
    for name, found in runs.items():
        for step, summaries in found.items():
            target = f"under {TARGET_SHARE:.0%}" if step == "both" else ""
            whole = _compared("whole_seconds", summaries, found["nothing"])
            rows.append((name, step, *whole, target, *_compared("seconds", summaries, found["nothing"])))
    dearer = "dearer by (best runs)"
    columns = ("run", "measured", "whole run, s", dearer, "target", "first to last packet, s", dearer)
    return Table("What measuring costs", columns, tuple(rows))


def _compared(key: str, summaries: list[Summary], plain: list[Summary]) -> tuple[str, str]:
    """Return a time of these runs, and by how much their best is above that of the runs that measure nothing."""
    seconds = [run["wall"][key] for run in summaries]
    least = min(run["wall"][key] for run in plain)
    return Spread.of(seconds).text(".2f"), f"{min(seconds) / least - 1:+.1%}"
