"""What traffic classes, PFC, marking and DCQCN cost: the reference with one after the other switched on.

The reference is a ring: nothing in it is congested, so no pause, mark or notification is ever sent, and completion is
the same in every row. What differs is what each packet has to pass: ingress accounting, thresholds, a scheduler, the
ramp, a rate limiter. What congestion itself costs is in `benchmarks.congested`.
"""

from benchmarks import reference
from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.product import BenchmarkError, Summary, run_product, same_results

TARGET_HOPS_PER_SECOND = 40_000

_CLASSES = "fabric.qos={}"
_PFC = "fabric.qos={pfc: {}}"
_ECN = "fabric.qos={pfc: {}, ecn: {3: {kmin: 100KB, kmax: 400KB, pmax: 0.2}}}"
STEPS: dict[str, tuple[str, ...]] = {
    "one queue a port": (),
    "traffic classes": (_CLASSES,),
    "and PFC": (_PFC,),
    "and ECN": (_ECN,),
    "and DCQCN": (_ECN, "transport.congestion={kind: dcqcn}"),
}
"""What is set, each with what stands before it."""


def benchmark(options: Options) -> Result:
    """Run the reference with each step, in turn, so that all see the same machine."""
    runs: dict[str, list[Summary]] = {name: [] for name in STEPS}
    for number in range(options.repeat):
        for name, settings in STEPS.items():
            options.say(f"lossless, {name}, run {number + 1}")
            runs[name].append(run_product(reference.SCENARIO, (*settings, *reference.settings(options))))
    times = {name: same_results(summaries)["collectives"][0]["time_ps"] for name, summaries in runs.items()}
    if len(set(times.values())) != 1:
        raise BenchmarkError(f"expected one completion time whatever is switched on, found {times}")
    data = {name: [run["wall"] for run in summaries] for name, summaries in runs.items()}
    return Result("lossless", (_table(runs),), (), {"wall": data})


def _table(runs: dict[str, list[Summary]]) -> Table:
    rows, plain = [], 0.0
    for name, summaries in runs.items():
        speed = Spread.of(summary["wall"]["packet_hops_per_second"] for summary in summaries)
        plain = plain or speed.median
        target = f"at least {TARGET_HOPS_PER_SECOND:,}" if name == list(runs)[-1] else ""
        rows.append((name, speed.text(), f"{1e6 / speed.median:.1f}", f"{plain / speed.median - 1:+.0%}", target))
    columns = ("switched on", "packet-hops a second", "us a packet-hop", "dearer by", "target")
    return Table("The reference, feature by feature", columns, tuple(rows))
