"""W1 and W4: workloads that packet simulators were measured with, run here beside their figures.

The peers' figures were taken on 2 cores of an AMD EPYC, links of 100 Gb/s and 1 us, switches without latency, 4096-byte
packets, an ACK for each: htsim counts no headers and paces its sources at 4096/4160 of the link's rate, ns-3 adds 48 B
to 4096 B of payload. Their repositories and commits:

    csg-htsim   github.com/Broadcom/csg-htsim            841d9e7
    uet-htsim   github.com/ultraethernet/uet-htsim       40ccb05
    ns-3 (ali)  github.com/aliyun/ns-3-alibabacloud      eb45e7f
    conweave    github.com/conweave-project/conweave-ns3 236a801
"""

from dataclasses import dataclass

from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.framing import RATE_BPS, ROCELAB, way_us
from benchmarks.product import BenchmarkError, Summary, run_product, same_results

ACK_EVERY = (16, 1)
"""Packets that one ACK answers: as the product does by default, and as the peers do."""


@dataclass(frozen=True)
class Peer:
    """What a peer found and took: completion of the first and the last flow in us, seconds of wall time, MiB."""

    name: str
    completion_us: tuple[float, float]
    seconds: float
    memory_mib: float


@dataclass(frozen=True)
class Workload:
    """One scenario of this folder. `packets` and `hops` are of data, `packets_a_flow` of one of its flows; `steps` is
    how many flows of a rank wait for each other."""

    name: str
    packets: int
    hops: int
    packets_a_flow: int
    steps: int
    peers: tuple[Peer, ...]
    quick: tuple[str, ...]

    @property
    def scenario(self) -> str:
        return f"benchmarks/{self.name}.yaml"


W1_RING = Workload(
    "w1-ring", packets=122_880, hops=307_200, packets_a_flow=256, steps=30, quick=("workload.0.size=256KiB",),
    peers=(
        Peer("csg-htsim", (2770, 2770), 0.430, 5.3),
        Peer("uet-htsim", (2769, 2769), 0.738, 5.5),
    ),
)  # fmt: skip
W1_FLAT = Workload(
    "w1-flat", packets=122_880, hops=307_200, packets_a_flow=7680, steps=1, quick=("workload.0.size=256KiB",),
    peers=(
        Peer("csg-htsim", (2600, 2604), 0.327, 4.7),
        Peer("uet-htsim", (2600, 2604), 0.295, 4.6),
        Peer("ns-3 (ali)", (2577, 2582), 1.466, 214.7),
        Peer("conweave", (2577, 2582), 2.249, 55.1),
    ),
)  # fmt: skip
W4_FLAT = Workload(
    "w4-flat", packets=131_072, hops=294_912, packets_a_flow=1024, steps=1,
    quick=("workload.0.size=64KiB", "fabric.topology.leaves=4", "fabric.topology.hosts_per_leaf=2"),
    peers=(
        Peer("csg-htsim", (350.3, 355.0), 0.429, 7.4),
        Peer("uet-htsim", (350.3, 355.0), 0.460, 7.4),
        Peer("ns-3 (ali)", (347.3, 352.0), 2.810, 861.1),
        Peer("conweave", (347.3, 352.0), 4.509, 187.1),
    ),
)  # fmt: skip


def benchmark(workload: Workload, options: Options) -> Result:
    """Run `workload` with both ways of acknowledging; set completion, speed and memory beside the peers'."""
    quick = workload.quick if options.quick else ()
    runs: dict[int, list[Summary]] = {ack_every: [] for ack_every in ACK_EVERY}
    for number in range(options.repeat):
        for ack_every, summaries in runs.items():
            options.say(f"{workload.name}, an ACK for {ack_every}, run {number + 1}")
            summaries.append(run_product(workload.scenario, (f"transport.ack_every={ack_every}", *quick)))
    completions = {ack_every: completion_us(same_results(summaries)) for ack_every, summaries in runs.items()}
    tables = [_speed_table(workload, runs, completions)]
    if not options.quick:
        _check_size(workload, runs[ACK_EVERY[0]][0])
        tables.append(arithmetic(workload, completions))
    data = {f"ack_every_{key}": [run["wall"] for run in summaries] for key, summaries in runs.items()}
    return Result(workload.name, tuple(tables), (), {"completion_us": completions, "wall": data})


def completion_us(summary: Summary) -> tuple[float, float]:
    """Return when the first and the last flow were complete; of a collective, its time."""
    times = [entry["time_ps"] / 1e6 for entry in (*summary["collectives"], *summary["flows"])]
    return min(times), max(times)


def _check_size(workload: Workload, summary: Summary) -> None:
    """The work is the peers' work: so many packets and packet-hops."""
    packets = sum(counters["sent_data_packets"] for counters in summary["nic"].values())
    found = (packets, summary["wall"]["packet_hops"])
    if found != (workload.packets, workload.hops):
        raise BenchmarkError(
            f"{workload.name}: expected {workload.packets, workload.hops} packets and hops, found {found}"
        )


def _speed_table(
    workload: Workload, runs: dict[int, list[Summary]], completions: dict[int, tuple[float, float]]
) -> Table:
    rows = [_our_row(ack_every, runs[ack_every], completions[ack_every]) for ack_every in ACK_EVERY]
    for peer in workload.peers:
        speed = f"{workload.hops / peer.seconds / 1e3:.0f}"
        rows.append((peer.name, _range(peer.completion_us), f"{peer.seconds:.2f}", speed, f"{peer.memory_mib:.0f}"))
    columns = ("simulator", "complete, us", "wall, s", "thousand packet-hops/s", "memory, MiB")
    title = f"{workload.name}: {workload.packets:,} packets, {workload.hops:,} packet-hops"
    return Table(title, columns, tuple(rows))


def _our_row(ack_every: int, summaries: list[Summary], completion: tuple[float, float]) -> tuple[str, ...]:
    walls = [summary["wall"] for summary in summaries]
    return (
        f"rocelab, an ACK for {ack_every}",
        _range(completion),
        Spread.of(wall["seconds"] for wall in walls).text(".2f"),
        Spread.of(wall["packet_hops_per_second"] / 1e3 for wall in walls).text(".0f"),
        Spread.of(wall["peak_memory_bytes"] / 2**20 for wall in walls).text(),
    )


def arithmetic(workload: Workload, completions: dict[int, tuple[float, float]]) -> Table:
    """Return the completion times as they follow from the bytes on a wire (`benchmarks.framing`), and as found."""
    packets = workload.packets_a_flow
    rows = []
    for ack_every, found in completions.items():
        expected = expected_us(workload, ack_every)
        a_packet = f"{ROCELAB.bytes_a_packet(ack_every):.1f}"
        rows.append((f"rocelab, an ACK for {ack_every}", a_packet, _range(expected, 2), _range(found, 2)))
    for peer in workload.peers:
        wire_us = peer.completion_us[0] / workload.steps - _between(PEER_RETURN_US, workload)[0]
        a_packet = f"about {wire_us * 1e-6 * RATE_BPS / 8 / packets:.0f}"
        rows.append((peer.name, a_packet, "", _range(peer.completion_us, 2)))
    columns = ("simulator", "bytes a packet, ACK included", "expected, us", "found, us")
    return Table(f"{workload.name}: where the times come from", columns, tuple(rows))


def expected_us(workload: Workload, ack_every: int) -> tuple[float, float]:
    """Return when the first and the last flow should be complete; of a ring that waits, when its last step is."""
    wire_us = ROCELAB.wire_us(workload.packets_a_flow, ack_every)
    first, last = _between((way_us(2), way_us(4)), workload)
    return workload.steps * (wire_us + first), workload.steps * (wire_us + last)


PEER_RETURN_US = (2 * 2 + 0.33, 2 * 4 + 3 * 0.33)
"""The peers' flows end when their last ACK is back: 1 us a link there and back, and the data's store and forward; on
one leaf and across a spine."""

_SHARE_ACROSS = 1 / 4
"""Of the flows in W1's ring: 4 of 16 cross a spine. Over many steps every rank waits for the mean of the ways."""


def _between(ways_us: tuple[float, float], workload: Workload) -> tuple[float, float]:
    near, far = ways_us
    if workload.steps == 1:
        return near, far
    mean = near + _SHARE_ACROSS * (far - near)
    return mean, mean


def _range(values: tuple[float, float], decimals: int = 1) -> str:
    low, high = (f"{value:.{decimals}f}" for value in values)
    return low if low == high else f"{low}-{high}"
