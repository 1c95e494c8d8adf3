"""How the time of a packet-hop, the start and the memory grow from 8 to 128 hosts, with the same work for each."""

from dataclasses import dataclass

from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.product import Summary, run_product, same_results

SCENARIO = "benchmarks/growth.yaml"
HOSTS = (8, 16, 32, 64, 128)
QUICK_HOSTS = (8, 16)
_HOSTS_PER_LEAF = 4
_PART_KIB = 32
_PACKETS_A_PART = 8
_MEAN_HOPS = 2.5
_ENOUGH_HOPS = 100_000
"""Packet-hops that make a run long enough to measure."""


@dataclass(frozen=True)
class Size:
    """A fabric's hosts, and how often its All-Reduce runs."""

    hosts: int
    iterations: int

    @property
    def settings(self) -> tuple[str, ...]:
        """Return what to ``--set`` in the scenario."""
        return (
            f"fabric.topology.leaves={self.hosts // _HOSTS_PER_LEAF}",
            f"workload.0.size={_PART_KIB * self.hosts}KiB",
            f"workload.0.iterations={self.iterations}",
        )


def size_of(hosts: int, enough_hops: int) -> Size:
    """Return a size with so many iterations that there are about `enough_hops` packet-hops, or more.

    A ring All-Reduce of n hosts has 2 (n - 1) steps in which each host sends one part.
    """
    hops = hosts * 2 * (hosts - 1) * _PACKETS_A_PART * _MEAN_HOPS
    return Size(hosts, max(1, round(enough_hops / hops)))


def benchmark(options: Options) -> Result:
    """Run every size, one after another, `repeat` times over."""
    wanted = QUICK_HOSTS if options.quick else HOSTS
    sizes = [size_of(hosts, 0 if options.quick else _ENOUGH_HOPS) for hosts in wanted]
    runs: dict[int, list[Summary]] = {size.hosts: [] for size in sizes}
    for number in range(options.repeat):
        for size in sizes:
            options.say(f"growth, {size.hosts} hosts, run {number + 1}")
            runs[size.hosts].append(run_product(SCENARIO, size.settings))
    columns = ("hosts", "switches", "switch ports", "packet-hops", "us a packet-hop", "start, s", "memory, MB")
    rows = tuple(_row(hosts, summaries) for hosts, summaries in runs.items())
    data = {str(hosts): [run["wall"] for run in summaries] for hosts, summaries in runs.items()}
    return Result("growth", (Table("Growth with the fabric", columns, rows),), (), {"wall": data})


def _row(hosts: int, summaries: list[Summary]) -> tuple[str, ...]:
    fabric = same_results(summaries)["fabric"]
    walls = [summary["wall"] for summary in summaries]
    return (
        str(hosts),
        str(fabric["switches"]),
        str(2 * fabric["links"] - hosts),
        f"{walls[0]['packet_hops']:,}",
        Spread.of(1e6 / wall["packet_hops_per_second"] for wall in walls).text(".1f"),
        Spread.of(wall["startup_seconds"] for wall in walls).text(".1f"),
        Spread.of(wall["peak_memory_bytes"] / 1e6 for wall in walls).text(),
    )
