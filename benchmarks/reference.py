"""The reference: what the project promises about its speed and size, measured on the first scenario of the manual."""

from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.product import Summary, run_product, same_results

SCENARIO = "scenarios/01-ring-all-reduce.yaml"
"""16 hosts, 4 leaves x 2 spines, 100 Gb/s, 4 MiB ring All-Reduce, MTU 4096, every element verified."""

TARGET_HOPS_PER_SECOND = 50_000
TARGET_STARTUP_SECONDS = 4
TARGET_MEMORY_MB = 500

QUICK = ("workload.0.size=64KiB", "expect={}")


def settings(options: Options) -> tuple[str, ...]:
    """Return what to ``--set``: nothing, or a size that takes no time."""
    return QUICK if options.quick else ()


def benchmark(options: Options) -> Result:
    """Run the reference and set what it took beside what was promised."""
    summaries = []
    for number in range(options.repeat):
        options.say(f"reference, run {number + 1}")
        summaries.append(run_product(SCENARIO, settings(options)))
    return Result("reference", (_table(summaries),), _notes(summaries), {"wall": [run["wall"] for run in summaries]})


def _table(summaries: list[Summary]) -> Table:
    walls = [summary["wall"] for summary in summaries]
    hops = Spread.of(wall["packet_hops_per_second"] for wall in walls)
    startup = Spread.of(wall["startup_seconds"] for wall in walls)
    memory = Spread.of(wall["peak_memory_bytes"] / 1e6 for wall in walls)
    rows = (
        ("packet-hops a second", hops.text(), f"at least {TARGET_HOPS_PER_SECOND:,}"),
        ("start to first packet, s", startup.text(".2f"), f"under {TARGET_STARTUP_SECONDS}"),
        ("peak memory, MB", memory.text(), f"under {TARGET_MEMORY_MB}"),
        ("first to last packet, s", Spread.of(wall["seconds"] for wall in walls).text(".2f"), ""),
    )
    return Table("The reference", ("", "median (min-max)", "target"), rows)


def _notes(summaries: list[Summary]) -> tuple[str, ...]:
    same = same_results(summaries)
    collective, ovs, wall = same["collectives"][0], same["ovs"], summaries[0]["wall"]
    return (
        f"Model: {collective['time_ps'] / 1e6:.1f} us, busbw {collective['busbw_gbps']} Gb/s, verified "
        f"{str(collective['verified']).lower()}, equal in all runs. {wall['packet_hops']:,} packet-hops; "
        f"{ovs['frames_in']:,} frames, ACKs too, through Open vSwitch.",
    )
