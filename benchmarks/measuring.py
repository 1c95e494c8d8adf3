"""What measuring costs: the reference and a congested scenario, with and without time series, events and causes.

Counters and invariants are always there. What can be switched off is what is kept of a run as it goes on: the time
series and events (`measure.series`), and the log of hops from which stalls are explained (`measure.causes`).
"""

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
            runs[step].append(run_product(scenario, (*settings, *reference.settings(options))))
    times = {run["duration_ps"] for summaries in runs.values() for run in summaries}
    if len(times) != 1:
        raise BenchmarkError(f"expected one completion time whatever is measured, found {sorted(times)}")
    return runs


def _table(runs: dict[str, dict[str, list[Summary]]]) -> Table:
    rows = []
    for name, found in runs.items():
        plain = min(run["wall"]["seconds"] for run in found["nothing"])
        for step, summaries in found.items():
            seconds = Spread.of(run["wall"]["seconds"] for run in summaries)
            least = min(run["wall"]["seconds"] for run in summaries)
            target = f"under {TARGET_SHARE:.0%}" if step == "both" else ""
            rows.append((name, step, seconds.text(".2f"), f"{least / plain - 1:+.1%}", target))
    columns = ("run", "measured", "first to last packet, s", "dearer by (best runs)", "target")
    return Table("What measuring costs", columns, tuple(rows))
