"""W2 and W3: workloads in which flows share links, with the peers' thresholds and buffers and with ours.

What comes out depends on what the switches do about it, so every row names its buffer, its marking and its congestion
control, and a peer's row stands below ours with the peer's settings. The peers are those of `benchmarks.peers`, their
links and frames too. Each of their figures is of one run, with one seed.

    htsim      no congestion control, PFC by ingress at fixed limits (12 and 15 packets, or 192 and 256)
    ns-3 (ali) DCQCN of HPCC's lineage, R_AI 5 and R_HAI 50 Mb/s, marks from 400 KB to 1600 KB with up to 0.2
    conweave   the same with 40 and 100 Mb/s, and 100 KB to 400 KB

Both ns-3 return a notification for every marked packet and cut at most once in 4 us, and their PFC has the dynamic
threshold that ours has by default (alpha 1/8, 4 KiB reserved, XON 3 KiB lower).
"""

from dataclasses import dataclass

from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.peers import completion_us
from benchmarks.product import BenchmarkError, Summary, run_product, same_results

_ALI = (
    "fabric.qos={pfc: {}, ecn: {3: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}}}",
    "transport.congestion={kind: dcqcn, preset: hpcc, additive: 5Mbps, hyper: 50Mbps, cnp_interval: 0ps}",
)
_CONWEAVE_CONTROL = (
    "transport.congestion={kind: dcqcn, preset: hpcc, additive: 40Mbps, hyper: 100Mbps, cnp_interval: 0ps}"
)
_CONWEAVE = ("fabric.qos={pfc: {}, ecn: {3: {kmin: 100KB, kmax: 400KB, pmax: 0.2}}}", _CONWEAVE_CONTROL)
_CONWEAVE_LOSSY = (
    "fabric.qos={ecn: {3: {kmin: 100KB, kmax: 400KB, pmax: 0.2}}}", _CONWEAVE_CONTROL, "transport.timeout=7",
)  # fmt: skip
_OURS = (
    "fabric.qos={pfc: {}, ecn: {3: {kmin: 100KB, kmax: 400KB, pmax: 0.2}}}",
    "transport.congestion={kind: dcqcn, preset: hpcc}",
)


def _buffer(size: str) -> str:
    return f"fabric.switch.buffer={size}"


@dataclass(frozen=True)
class Peer:
    """What a peer found: completion of the first and the last flow in us (None: not printed), and its counts as it
    prints them."""

    name: str
    first_us: float | None
    last_us: float
    pauses: str
    cnps: str
    drops: str = "0"


@dataclass(frozen=True)
class Variant:
    """One way to run the workload, and the peers that did the same."""

    name: str
    settings: tuple[str, ...]
    peers: tuple[Peer, ...] = ()


@dataclass(frozen=True)
class Workload:
    """One scenario of this folder. `packets` and `hops` are of data, where nothing is lost; `ideal_us` is the time of
    the payload alone over what bounds it."""

    name: str
    packets: int
    hops: int
    ideal_us: float
    variants: tuple[Variant, ...]
    quick: tuple[str, ...]

    @property
    def scenario(self) -> str:
        return f"benchmarks/{self.name}.yaml"


W2 = Workload(
    "w2-incast", packets=8_192, hops=16_384, ideal_us=2684.4,
    quick=("workload.0.flows=[{source: h1, destination: h0, size: 64KiB}]",),
    variants=(
        Variant("PFC alone, 32 MiB", (), (
            Peer("csg-htsim, PFC 192/256", None, 2731, "80", "no ECN"),
            Peer("uet-htsim, PFC 192/256", 2650, 2733, "77", "no ECN"),
        )),
        Variant("PFC alone, 2 MB", (_buffer("2MB"),), (
            Peer("csg-htsim, PFC 12/15", 2720, 2731, "856", "no ECN"),
            Peer("uet-htsim, PFC 12/15", 2704, 2733, "382", "no ECN"),
        )),
        Variant("as ns-3 (ali), 32 MB", (*_ALI, _buffer("32MB")), (
            Peer("ns-3 (ali), 32 MB", 2728, 3784, "0", "at least 3607"),
        )),
        Variant("as ns-3 (ali), 2 MB", (*_ALI, _buffer("2MB")), (
            Peer("ns-3 (ali), 2 MB", 1686, 2890, "726", "at least 414"),
        )),
        Variant("as conweave, 9 MB", (*_CONWEAVE, _buffer("9MB")), (
            Peer("conweave, 9 MB", 4078, 4445, "161", "2956"),
        )),
        Variant("as conweave, 2 MB", (*_CONWEAVE, _buffer("2MB")), (
            Peer("conweave, 2 MB", 1729, 3535, "422", "1119"),
        )),
        Variant("as conweave without PFC, 2 MB", (*_CONWEAVE_LOSSY, _buffer("2MB")), (
            Peer("conweave without PFC, 2 MB", 4359, 4585, "off", "2073", "949"),
        )),
        Variant("ours: 100 to 400 KB, DCQCN hpcc, 32 MiB", _OURS),
    ),
)  # fmt: skip
W3 = Workload(
    "w3-all-to-all", packets=61_440, hops=221_184, ideal_us=2013.3, quick=("workload.0.size=8KiB",),
    variants=(
        Variant("PFC alone, 32 MiB", (), (
            Peer("csg-htsim, PFC 192/256", None, 2678, "212", "no ECN"),
            Peer("uet-htsim, PFC 192/256", None, 2516, "220", "no ECN"),
        )),
        Variant("as ns-3 (ali), 32 MB", (*_ALI, _buffer("32MB")), (
            Peer("ns-3 (ali), 32 MB", 766, 2968, "42", "at least 31,408"),
        )),
        Variant("as ns-3 (ali), 2 MB", (*_ALI, _buffer("2MB")), (
            Peer("ns-3 (ali), 2 MB", 1770, 2595, "4344", "at least 703"),
        )),
        Variant("as conweave, 9 MB", (*_CONWEAVE, _buffer("9MB")), (
            Peer("conweave, 9 MB", 339, 3854, "19,027", "37,587"),
        )),
        Variant("ours: 100 to 400 KB, DCQCN hpcc, 32 MiB", _OURS),
    ),
)  # fmt: skip


def benchmark(workload: Workload, options: Options) -> Result:
    """Run `workload` in each of its variants, one after another, and set what came out beside the peers' figures."""
    quick = workload.quick if options.quick else ()
    runs: dict[str, list[Summary]] = {variant.name: [] for variant in workload.variants}
    for number in range(options.repeat):
        for variant in workload.variants:
            options.say(f"{workload.name}, {variant.name}, run {number + 1}")
            runs[variant.name].append(run_product(workload.scenario, (*variant.settings, *quick)))
    found = {name: same_results(summaries) for name, summaries in runs.items()}
    if not options.quick:
        _check_size(workload, runs)
    data = {name: [run["wall"] for run in summaries] for name, summaries in runs.items()}
    model = {name: {"completion_us": completion_us(each), "totals": each["totals"]} for name, each in found.items()}
    tables = (_model_table(workload, found), _speed_table(workload, runs))
    return Result(workload.name, tables, (), {"model": model, "wall": data})


def _check_size(workload: Workload, runs: dict[str, list[Summary]]) -> None:
    """Where nothing was sent twice, the work is the peers' work: so many packets and packet-hops."""
    for name, (summary, *_) in runs.items():
        packets = sum(counters["sent_data_packets"] for counters in summary["nic"].values())
        found = (packets - summary["retransmitted_packets"], summary["wall"]["packet_hops"])
        hops = found[1] if summary["retransmitted_packets"] else workload.hops
        if found != (workload.packets, hops):
            expected = (workload.packets, hops)
            raise BenchmarkError(f"{workload.name}, {name}: expected {expected} packets and hops, found {found}")


def _model_table(workload: Workload, found: dict[str, Summary]) -> Table:
    rows: list[tuple[str, ...]] = []
    for variant in workload.variants:
        rows.append(_our_row(variant.name, found[variant.name]))
        rows += [_peer_row(peer) for peer in variant.peers]
    columns = ("settings", "first flow, us", "last flow, us", "XOFF", "CNPs", "drops")
    return Table(f"{workload.name}: what came out; payload alone {workload.ideal_us} us", columns, tuple(rows))


def _our_row(name: str, summary: Summary) -> tuple[str, ...]:
    first, last = completion_us(summary)
    totals, drops = summary["totals"], summary["drops"]["total"]
    counts = (f"{number:,}" for number in (totals["pauses"], totals["cnps_sent"], drops))
    return (f"rocelab, {name}", f"{first:.0f}", f"{last:.0f}", *counts)


def _peer_row(peer: Peer) -> tuple[str, ...]:
    first = "" if peer.first_us is None else f"{peer.first_us:.0f}"
    return (peer.name, first, f"{peer.last_us:.0f}", peer.pauses, peer.cnps, peer.drops)


def _speed_table(workload: Workload, runs: dict[str, list[Summary]]) -> Table:
    rows = []
    for name, summaries in runs.items():
        walls = [summary["wall"] for summary in summaries]
        seconds = Spread.of(wall["seconds"] for wall in walls).text(".2f")
        rows.append((name, seconds, Spread.of(wall["packet_hops_per_second"] / 1e3 for wall in walls).text(".0f")))
    columns = ("settings", "wall, s", "thousand packet-hops/s")
    return Table(f"{workload.name}: what it took", columns, tuple(rows))
