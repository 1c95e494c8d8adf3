"""Hand-made measurements of five runs: what the report's tests print and write."""

from dataclasses import asdict, replace
from typing import Any

from testbed.fabric.build import build_plan
from testbed.measurement.causes.model import (
    LOST_PACKET,
    QUEUE,
    Cause,
    Delayed,
    Explanation,
    Packet,
    Stall,
    StallPart,
)
from testbed.measurement.live import LiveRecord
from testbed.measurement.records import DropRecord, Invariant, Measurements, OvsRecord, PortRecord, WallRecord
from testbed.scenario.model import Scenario
from testbed.units import MICROSECOND
from traffic.nic.counters import NicCounters
from traffic.nvlink import NvlinkStatistics
from traffic.results import AdmissionCounts, CollectiveResult, FlowResult, ReplayFlow, ReplayResult, StepRecord, Wait

RING_16 = {
    "title": "A ring All-Reduce crosses a leaf-spine fabric",
    "message": "Sixteen ranks sum 4 MiB. Nothing is lost, and the time is within 1 % of the closed form of the ring.",
    "seed": 1,
    "fabric": {"topology": {"kind": "leaf-spine", "leaves": 4, "spines": 2, "hosts_per_leaf": 4}},
    "workload": [{"kind": "all-reduce", "size": "4MiB"}],
    "expect": {
        "drops.total": 0,
        "collectives.0.time_ps": {"of": "745us", "within": "1%"},
        "collectives.0.busbw_gbps": {"at_least": 80},
    },
}
VERSIONS = {"rocelab": "0.1.0", "python": "3.11.7", "open_vswitch": "3.1.0", "controller": "os-ken 4.2.2"}
HELD = (
    Invariant("conservation", True, "61440 frames sent on wires, each delivered or lost with a reason"),
    Invariant("packets", True, "30720 data packets sent, 30720 received, 0 dropped"),
    Invariant("open_vswitch", True, "Open vSwitch's port counters equal the engine's"),
)


def scenario(**changes: Any) -> Scenario:
    return Scenario.model_validate({**RING_16, **changes})


def steps_of(ranks: tuple[str, ...]) -> tuple[StepRecord, ...]:
    half = len(ranks) - 1
    return tuple(
        StepRecord(
            rank=rank,
            iteration=0,
            step=step,
            phase="reduce-scatter" if step < half else "all-gather",
            send_ps=step * 24 * MICROSECOND,
            receive_ps=(step + 1) * 24 * MICROSECOND if step else None,
            wait_ps=step * 1000,
        )
        for rank in ranks
        for step in range(2 * half)
    )


def collective(ranks: tuple[str, ...], stalls_ps: list[int], time_ps: int = 745_123_456) -> CollectiveResult:
    size, n = 4 * 2**20, len(ranks)
    algbw = size * 8 / time_ps * 1000
    return CollectiveResult(
        kind="all-reduce",
        algorithm="ring",
        ranks=ranks,
        size_bytes=size,
        iterations=1,
        start_ps=0,
        end_ps=time_ps,
        time_ps=time_ps,
        ideal_ps=744_001_000,
        algbw_gbps=algbw,
        busbw_gbps=algbw * 2 * (n - 1) / n,
        verified=True,
        wrong_elements=0,
        stall_ps_by_rank=dict(zip(ranks, stalls_ps, strict=True)),
        steps=steps_of(ranks),
        waits=tuple(
            Wait(rank, "the piece from the left", 3, 0, 10_000, 10_000 + s)
            for rank, s in zip(ranks, stalls_ps, strict=True)
        ),
        failure=None,
    )


def flow(
    source: str, destination: str, time_ps: int | None = 350 * MICROSECOND, failure: str | None = None
) -> FlowResult:
    return FlowResult(
        source=source,
        destination=destination,
        size_bytes=4 * 2**20,
        start_ps=0,
        end_ps=time_ps or 9 * 10**12,
        time_ps=time_ps,
        ideal_ps=343 * MICROSECOND,
        goodput_gbps=4 * 2**20 * 8 / time_ps * 1000 if time_ps else None,
        verified=True if time_ps else None,
        wrong_bytes=0,
        failure=failure,
    )


def replay(failure: str | None = None) -> ReplayResult:
    """A capture of 24 packets, one of which was lost."""
    return ReplayResult(
        name="replay (workload.0)",
        file="captures/two-writes.pcapng",
        hosts={"10.0.0.1": "h0", "10.0.0.3": "h6"},
        start_ps=0,
        end_ps=20 * MICROSECOND,
        packets=24,
        sent=24,
        delivered=23,
        marked=2,
        out_of_order=1,
        dropped={"fault": 1},
        wrong_icrc=0,
        others={"ARP": 3},
        file_span_ps=10 * MICROSECOND,
        delivery_span_ps=5 * MICROSECOND,
        latencies_ps=tuple(n * 100_000 for n in range(10, 33)),
        latest_wait_ps=700_000,
        flows=(
            ReplayFlow("h0", "h6", 17, 20, 19, 2, 0, 1, {"fault": 1}),
            ReplayFlow("h6", "h0", 18, 4, 4, 0, 0, 0, {}),
        ),
        failure=failure,
    )


def drop(time_ps: int, where: str, reason: str, psn: int | None = 7) -> DropRecord:
    if psn is None:
        return DropRecord(time_ps, where, reason, "other", None, None, None, None)
    return DropRecord(time_ps, where, reason, "data", "h3", "h4", 17, psn)


def measurements(of: Scenario, collectives: tuple[CollectiveResult, ...] = (), **changes: Any) -> Measurements:
    plan = build_plan(of.fabric)
    ports = tuple(
        PortRecord(port.name, port.node, plan.far_end(port.name).node, plan.link_at[port.name].rate_bps,
                   3840, 16_058_880, 1920, 642_355_200, 12_474, {})
        for port in plan.ports()
    )  # fmt: skip
    plain = Measurements(
        scenario=of,
        plan=plan,
        versions=VERSIONS,
        duration_ps=745_123_456,
        collectives=collectives,
        flows=(),
        failure=None,
        drops=(),
        ports=ports,
        nics={nic.name: asdict(NicCounters(sent_data_packets=1920)) for nic in plan.nics},
        retransmitted_packets=0,
        ovs=OvsRecord(92_168, 92_168, 8, 0, 112, 8, 0, 0),
        invariants=HELD,
        wall=WallRecord(1.23456, 2.1, 92_160, 74_650.123, 213 * 2**20),
    )
    return replace(plain, **changes)


def sent_again(run: Measurements, nic: str, packets: int) -> Measurements:
    counters = {**run.nics[nic], "retransmitted_packets": packets}
    return replace(run, nics={**run.nics, nic: counters}, retransmitted_packets=packets)


def hosts(count: int) -> tuple[str, ...]:
    return tuple(f"h{number}" for number in range(count))


def clean() -> Measurements:
    """All as it should be."""
    return measurements(scenario(), (collective(hosts(16), [0] * 16),))


def live() -> Measurements:
    """On the live clock, which did not quite keep up, with programs in the hosts."""
    record = LiveRecord(
        rate_factor=2000,
        verdict="degraded",
        safe_rate_factor=7600,
        wall_ns=1_466_095_680,
        events=202_814,
        late_median_ns=106_495,
        late_99_ns=2_621_439,
        late_worst_ns=24_797_676,
        packet_ns=671_680,
        busy=0.4794,
        kernel_sent_frames=8_482,
        kernel_received_frames=8_475,
        kernel_dropped={"not_routed": 4},
    )
    return replace(clean(), live=record)


def lossy() -> Measurements:
    """Some packets lost on the way and sent again: ranks stall, one expectation fails."""
    of = scenario(expect={**RING_16["expect"], "drops.by_reason.fault": 1})  # type: ignore[dict-item]  # a mapping there
    stalls = [12_300_000 - (rank * 5 % 16) * 700_123 for rank in range(16)]
    run = measurements(of, (collective(hosts(16), stalls, 790_456_789),))
    drops = (
        drop(312_345_678, "h3-eth0", "fault"),
        drop(400_000_000, "h4-eth0", "icrc", 9),
        drop(400_000_001, "leaf1-eth1", "icrc", 10),
    )
    return sent_again(replace(run, drops=drops, explanation=_explained(stalls)), "h3-eth0", 21)


def _explained(stalls_ps: list[int]) -> Explanation:
    """Each rank's stall: all but 1 us of it due to a lost packet."""
    packet = Packet(
        "h3", "h4", 17, 7, first_sent_ps=312_000_000, found_ps=324_000_000, found_by="nak",
        lost_ps=312_345_678, where="h3-eth0", reason="fault",
    )  # fmt: skip
    lost = Cause(LOST_PACKET, "h3-eth0", "h3 to h4, QP 17, PSN 7: fault, found by a NAK", packet=packet)
    queue = Cause(QUEUE, "leaf1-eth1", "behind h0 to h4")
    stalls = tuple(
        Stall(
            0,
            None,
            rank,
            stall_ps,
            (
                StallPart(0, stall_ps - MICROSECOND, packet.first_sent_ps, packet.found_ps, (("h4", 324_000_000),)),
                StallPart(1, MICROSECOND, 400_000_000, 402_000_000),
            ),
        )
        for rank, stall_ps in zip(hosts(16), stalls_ps, strict=True)
    )
    return Explanation((lost, queue), stalls, {0: Delayed("ring all-reduce (workload.0)", "h3", "h4", 2, 0)})


def large() -> Measurements:
    """128 ranks, each with a stall of its own; drops at many ports."""
    topology = {"kind": "leaf-spine", "leaves": 16, "spines": 8, "hosts_per_leaf": 8}
    of = scenario(fabric={"topology": topology}, message="", seed=7, expect={})
    stalls = [(rank * 37 % 128) * 191_000 for rank in range(128)]
    full = (drop(1_000_000 + n, f"leaf{n % 12}-eth{1 + n % 3}", "shared_full") for n in range(1000))
    drops = (*full, drop(5_000_000, "leaf0", "openflow", None))
    return measurements(of, (collective(hosts(128), stalls),), drops=drops)


def flows() -> Measurements:
    """A ring of flows, and two collectives that were not verified."""
    work = [
        {"kind": "flows", "pattern": "ring", "size": "4MiB"},
        {"kind": "all-reduce", "size": "4MiB", "verify": False},
    ]
    of = scenario(title="Flows round the ring", message="", workload=work, expect={})
    quiet = replace(collective(hosts(16), [12_000_000] * 16), verified=None)
    around = tuple(flow(f"h{n}", f"h{(n + 1) % 16}", (350 + n) * MICROSECOND) for n in range(16))
    return measurements(of, (quiet, replace(quiet, size_bytes=2**30, time_ps=345_678_901_234)), flows=around)


def side_by_side() -> Measurements:
    """Collectives of several kinds: one with a name, one in buckets, one and a flow with admission, one over NVLink."""
    work = [
        {"kind": "all-reduce", "size": "4MiB", "name": "gradients", "compute": "1ms", "buckets": 8},
        {"kind": "all-to-all", "size": "4MiB", "admission": {}},
        {"kind": "flows", "flows": [{"source": "h0", "destination": "h1", "size": "4MiB"}], "admission": {}},
    ]
    of = scenario(title="Collectives side by side", message="", workload=work, expect={})
    gradients = replace(
        collective(hosts(16), [0] * 16),
        name="gradients", compute_ps=1000 * MICROSECOND, buckets=8, algbw_gbps=None, busbw_gbps=None,
    )  # fmt: skip
    counts = AdmissionCounts(240, 240, 2, 240 * 33 * MICROSECOND)
    exchange = replace(
        collective(("h0.0", "h0.1", "h1.0", "h1.1"), [0] * 4),
        name="pairwise all-to-all (workload.1)", kind="all-to-all", algorithm="pairwise", operation="none",
        admission=counts,
    )  # fmt: skip
    domains = tuple(NvlinkStatistics(f"h{n}", 8, 2**20, 8, 2**20, 3 * MICROSECOND) for n in range(2))
    admitted = replace(flow("h0", "h1"), admission=AdmissionCounts(64, 64, 2, 64 * 5 * MICROSECOND))
    return measurements(of, (gradients, exchange), flows=(admitted,), nvlink=domains)


def failed() -> Measurements:
    """A QP ran out of retries; a link's count does not add up either."""
    reason = "QP 17 of h3 is in error: 8 timeouts without an acknowledgement from h4"
    dead = replace(
        collective(hosts(16), [9 * 10**12] * 8 + [0] * 8),
        time_ps=None, algbw_gbps=None, busbw_gbps=None, verified=None, failure=reason,
    )  # fmt: skip
    broken = (
        *HELD[:2],
        Invariant("open_vswitch", False, "leaf0-eth1: engine (5, 6), Open vSwitch (5, 5) frames (in, out)"),
    )
    many = tuple(flow("h0", f"h{n}", (400 - n) * MICROSECOND) for n in range(1, 15)) * 2
    ends = (*many, flow("h3", "h4", None, reason))
    lost = tuple(drop(10**9 + n, "h3-eth0", "link_down", n) for n in range(9))
    run = measurements(scenario(), (dead,), flows=ends, failure=reason, drops=lost, invariants=broken)
    return sent_again(run, "h3-eth0", 8)


ALL = {
    "clean": clean,
    "live": live,
    "lossy": lossy,
    "large": large,
    "flows": flows,
    "side-by-side": side_by_side,
    "failed": failed,
}
