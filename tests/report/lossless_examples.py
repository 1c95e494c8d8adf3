"""Hand-made measurements of runs with traffic classes: marks, pauses, storms, deadlocks, and what they look like."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from testbed.engine.pause.deadlock import Step
from testbed.engine.statistics import (
    CreditStatistics,
    GroupStatistics,
    PauseStatistics,
    PortStatistics,
    QueueStatistics,
    SwitchStatistics,
)
from testbed.fabric.plan import FabricPlan
from testbed.measurement.pauses import (
    DeadlockRecord,
    Kind,
    PauseBranch,
    PauseRecord,
    PauseReport,
    PauseRoot,
    StormRecord,
    walk,
)
from testbed.measurement.records import DropRecord, Measurements
from testbed.units import MICROSECOND, MILLISECOND
from tests.report.examples import flow, measurements, scenario
from traffic.nic.congestion import CongestionSample, CongestionStatistics
from traffic.nic.counters import NicCounters

LEAF_SPINE = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}
KIB = 1024
PRIORITIES = range(8)
QUIET_PAUSE = PauseStatistics(0, 0, 0, 0, 0, 0, 0)
QUIET_QUEUE = QueueStatistics(0, 0, 0, 0, 0, 0, 0, {})
QUIET_GROUP = GroupStatistics(0, 0, 0, 0, 0, 0, 30 * KIB, lossless=False, xoff=False, dropped={})
HEADROOM = 31_236


def port(
    name: str,
    queues: Mapping[int, QueueStatistics] | None = None,
    groups: Mapping[int, GroupStatistics] | None = None,
    pauses: tuple[PauseStatistics, ...] = (),
    storms: int = 0,
) -> PortStatistics:
    """A port at which only what is given has happened; priority 3 is lossless."""
    plain = {
        p: replace(QUIET_GROUP, priority=p, lossless=p == 3, headroom_limit_bytes=HEADROOM * (p == 3))
        for p in PRIORITIES
    }
    return PortStatistics(
        name, 10**11, 0, 0, 0, 0,
        queues=tuple((queues or {}).get(p, replace(QUIET_QUEUE, priority=p)) for p in PRIORITIES),
        groups=tuple((groups or {}).get(p, plain[p]) for p in PRIORITIES),
        pauses=pauses,
        storms_detected=storms,
    )  # fmt: skip


def switches(plan: FabricPlan, known: Mapping[str, PortStatistics]) -> dict[str, SwitchStatistics]:
    """All switches of a plan; their ports are those of `known`, the others idle."""
    return {
        each.name: SwitchStatistics(
            each.name, each.buffer_bytes, 0, 700 * KIB, each.buffer_bytes - 300 * KIB, 0,
            {p.name: known.get(p.name, port(p.name, pauses=counts())) for p in each.ports},
        )
        for each in plan.switches
    }  # fmt: skip


def counts(**of_priority_3: int) -> tuple[PauseStatistics, ...]:
    """Pause counters of a port: those of priority 3 as given, and none of the others and of PAUSE."""
    plain = [replace(QUIET_PAUSE, priority=None if p == 8 else p) for p in range(9)]
    plain[3] = replace(plain[3], **of_priority_3)
    return tuple(plain)


def branch(sender: str, paused: str, pauses: int, duration_us: int, *branches: PauseBranch) -> PauseBranch:
    return PauseBranch(sender, paused, 3, pauses, 0, duration_us * MICROSECOND, 5 * MICROSECOND, branches)


def root(port_name: str, kind: Kind, *branches: PauseBranch) -> PauseRoot:
    return PauseRoot(port_name, kind, branches)


def report(plan: FabricPlan, roots: tuple[PauseRoot, ...], **changes: Any) -> PauseReport:
    """A report whose list of pauses, and whose ports' counters, are what the tree says."""
    pauses = tuple(
        PauseRecord(b.first_ps + n, b.first_ps + n + 1000, b.sender, b.paused, b.priority, 0, each.port, 0)
        for each in roots
        for b in walk(each.branches)
        for n in range(b.pauses)
    )
    ports = {each.name: pauses_of(each.name, roots) for each in plan.ports()}
    return replace(PauseReport(roots, pauses, (), (), ports), **changes)


def pauses_of(port_name: str, roots: tuple[PauseRoot, ...]) -> tuple[PauseStatistics, ...]:
    """The pause counters of a port as a tree of pauses says: an XOFF and an XON for each."""
    every = [b for each in roots for b in walk(each.branches)]
    sent = sum(b.pauses for b in every if b.sender == port_name)
    got = sum(b.pauses for b in every if b.paused == port_name)
    time_ps = sum(b.duration_ps for b in every if b.paused == port_name)
    frames = {"in_pfc": got, "in_pfc_xon": got, "out_pfc": sent, "out_pfc_xon": sent}
    stopped = {"rx_pfc_duration_ps": time_ps, "rx_pfc_transitions": got}
    if all(b.priority == 3 for b in every):
        return counts(**frames, **stopped)
    for_all = [replace(each, **(frames if each.priority is None else stopped)) for each in counts()]
    return tuple(for_all)


def of_classes(qos: Mapping[str, Any], **changes: Any) -> Measurements:
    """An incast to h0 with traffic classes."""
    fabric = {"topology": LEAF_SPINE, "switch": {"buffer": "2MiB"}, "qos": qos}
    work = [{"kind": "flows", "flows": [{"source": "h4", "destination": "h0", "size": "4MiB"}]}]
    of = scenario(title="Incast across a spine", message="", fabric=fabric, workload=work, expect={}, **changes)
    return measurements(of, flows=(flow("h4", "h0"),))


def marked() -> Measurements:
    """PFC, ECN and DCQCN: marks, notifications, pauses from one congested port, two of them behind another pause."""
    ecn = {"3": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}
    run = of_classes({"pfc": {}, "ecn": ecn}, transport={"congestion": {"kind": "dcqcn"}})
    busy = replace(
        QUIET_QUEUE, priority=3, peak_bytes=421 * KIB, out_packets=2048, out_bytes=8_507_552, ecn_marked_packets=1940
    )
    stopped = replace(busy, peak_bytes=98_765, ecn_marked_packets=0)
    used = replace(QUIET_GROUP, priority=3, lossless=True, headroom_limit_bytes=HEADROOM, headroom_peak_bytes=24_930)
    tree = root(
        "leaf0-eth1", "congestion",
        branch("leaf0-eth5", "spine0-eth1", 25, 525, branch("spine0-eth2", "leaf1-eth5", 3, 41)),
        replace(branch("leaf0-eth2", "h1-eth0", 12, 0), duration_ps=87_001_234),
    )  # fmt: skip
    ports = {
        "leaf0-eth1": port("leaf0-eth1", {3: busy}, pauses=counts()),
        "leaf0-eth5": port("leaf0-eth5", groups={3: used}, pauses=pauses_of("leaf0-eth5", (tree,))),
        "spine0-eth1": port("spine0-eth1", {3: stopped}, pauses=pauses_of("spine0-eth1", (tree,))),
    }
    nics = {nic: dict(each) for nic, each in run.nics.items()}
    nics["h0-eth0"] |= {"np_ecn_marked_roce_packets": 1940, "np_cnp_sent": 12}
    nics["h4-eth0"] |= {"rp_cnp_handled": 12}
    values = {"rate_bps": 8 * 10**10, "target_bps": 9 * 10**10, "alpha": 1 / 3}
    return replace(
        run,
        nics=nics,
        switches=switches(run.plan, ports),
        pauses=report(run.plan, (tree,)),
        congestion=(CongestionStatistics("h4-eth0", 17, "dcqcn", values, 5 * 10**9, 12),),
        congestion_samples=(CongestionSample(7, "h4-eth0", 17, {"rate_bps": 5 * 10**9, "alpha": 0.5}),),
    )


def storm() -> Measurements:
    """A NIC pauses for ever; the watchdog finds its queue, and one more that is restored."""
    run = of_classes({"pfc": {"watchdog": {}}})
    tree = root(
        "h0-eth0", "storm",
        branch("h0-eth0", "leaf0-eth1", 1, 4699, branch("leaf0-eth5", "spine0-eth1", 1, 1472)),
    )  # fmt: skip
    stuck = replace(
        QUIET_QUEUE, priority=3, peak_bytes=390_000, out_packets=49, dropped={"pfc_watchdog": 3}, in_storm=True
    )
    port_of_storm = port("leaf0-eth1", {3: stuck}, pauses=pauses_of("leaf0-eth1", (tree,)), storms=1)
    storms = (
        StormRecord(1500 * MICROSECOND, "leaf0-eth1", 3, "drop", None),
        StormRecord(1600 * MICROSECOND, "spine0-eth1", 3, "drop", 2600 * MICROSECOND),
    )
    lost = tuple(
        DropRecord(1500 * MICROSECOND, "leaf0-eth1", "pfc_watchdog", "data", "h4", "h0", 17, n) for n in range(3)
    )
    return replace(
        run,
        drops=lost,
        switches=switches(run.plan, {"leaf0-eth1": port_of_storm}),
        pauses=report(run.plan, (tree,), storms=storms),
    )  # fmt: skip


def deadlock() -> Measurements:
    """Two buffers wait for each other; one frame found its headroom full, as the pause frame before it was lost."""
    run = of_classes({"pfc": {}})
    steps = (
        Step("leaf0-eth5", 3, 300 * KIB, "spine0-eth1", 40 * MICROSECOND),
        Step("spine0-eth1", 3, 412 * KIB, "leaf0-eth5", 44 * MICROSECOND),
    )
    found = DeadlockRecord(44 * MICROSECOND, MILLISECOND, steps, "deadlock since 44us: leaf0-eth5 ...")
    full = replace(
        QUIET_GROUP,
        priority=3,
        lossless=True,
        headroom_limit_bytes=HEADROOM,
        headroom_peak_bytes=HEADROOM,
        dropped={"headroom_full": 1},
    )
    waiting = replace(QUIET_QUEUE, priority=3, peak_bytes=300 * KIB, queue_bytes=300 * KIB, out_packets=7)
    roots = (root("leaf0-eth5", "congestion", branch("leaf0-eth1", "h0-eth0", 1, 30)),)
    ports = {"leaf0-eth5": port("leaf0-eth5", {3: waiting}, {3: full}, counts())}
    reason = "deadlock since 44us: leaf0-eth5 priority 3 (300KiB) is paused by spine0-eth1"
    return replace(
        run,
        flows=(flow("h4", "h0", None, reason),),
        failure=reason,
        drops=(DropRecord(41 * MICROSECOND, "leaf0-eth5", "headroom_full", "data", "h4", "h0", 17, 3),),
        switches=switches(run.plan, ports),
        pauses=report(run.plan, roots, deadlocks=(found,)),
    )


def tight() -> Measurements:
    """Too little headroom: a lossless class drops frames at two ports; PAUSE instead of PFC; a policy ran."""
    run = of_classes({"pfc": {"kind": "pause", "headroom": "8KiB"}})
    full = replace(
        QUIET_GROUP,
        priority=3,
        lossless=True,
        headroom_limit_bytes=8 * KIB,
        headroom_peak_bytes=8 * KIB,
        dropped={"headroom_full": 30},
    )
    less = replace(full, dropped={"headroom_full": 12})
    tree = root("leaf0-eth1", "congestion", PauseBranch("leaf0-eth2", "h1-eth0", None, 5, 0, 10**9, 7, ()))
    ports = {
        name: port(name, groups={3: group}, pauses=counts())
        for name, group in (("leaf0-eth2", full), ("leaf0-eth3", less))
    }
    lost = tuple(
        DropRecord(9, where, "headroom_full", "data", "h1", "h0", 17, n)
        for where, many in (("leaf0-eth2", 30), ("leaf0-eth3", 12))
        for n in range(many)
    )
    return replace(
        run,
        drops=lost,
        switches=switches(run.plan, ports),
        pauses=report(run.plan, (tree,)),
        control={"exchanges": 9, "punted_frames": 0, "looks": 9, "actions": 2, "openflow_marked_packets": 5},
    )


def spread() -> Measurements:
    """A tree of pauses that is too large to be shown whole: of many roots, with many branches, some deep."""
    run = of_classes({"pfc": {}})

    def below(depth: int, width: int) -> tuple[PauseBranch, ...]:
        return tuple(
            branch(
                f"s{depth}-eth{n}",
                f"s{depth + 1}-eth{n}",
                10 - n,
                100 * (depth + 1) - n,
                *(below(depth + 1, 2) if depth < 3 else ()),
            )
            for n in range(width)
        )

    roots = tuple(root(f"leaf{number}-eth1", "congestion", *below(0, 5)) for number in range(6))
    return replace(run, switches=switches(run.plan, {}), pauses=report(run.plan, roots))


def chain() -> Measurements:
    """A pause that went through very many switches, one after the other."""
    run = of_classes({"pfc": {}})
    found = branch("s40-eth1", "s41-eth1", 1, 40)
    for hop in reversed(range(40)):
        found = branch(f"s{hop}-eth1", f"s{hop + 1}-eth1", 1, hop, found)
    return replace(
        run, switches=switches(run.plan, {}), pauses=report(run.plan, (root("leaf0-eth1", "congestion", found),))
    )


def credited() -> Measurements:
    """Credits: nothing is dropped or paused, ports wait, and in the end for ever."""
    run = of_classes({"credits": {}})
    lane = CreditStatistics(3, 80 * MICROSECOND, 17, False, 0, 400, 0, 399)
    steps = (
        Step("leaf0-eth5", 3, 25_600, "spine0-eth1", 40 * MICROSECOND),
        Step("spine0-eth1", 3, 25_536, "leaf0-eth5", 44 * MICROSECOND),
    )
    found = DeadlockRecord(44 * MICROSECOND, MILLISECOND, steps, "deadlock since 44us", "has no credit from")
    waits = {"h4-eth0": 120 * MICROSECOND, "leaf0-eth5": 80 * MICROSECOND}
    return replace(
        run,
        ports=tuple(replace(each, credit_wait_ps=waits.get(each.name, 0)) for each in run.ports),
        switches=switches(run.plan, {"leaf0-eth5": replace(port("leaf0-eth5"), credits=(lane,))}),
        pauses=PauseReport((), (), (), (found,), {}),
    )


def quiet() -> Measurements:
    """Everything is on, and nothing happened."""
    run = of_classes({"pfc": {"watchdog": {}}, "ecn": {"3": {}}})
    nics = {nic: asdict(NicCounters()) for nic in run.nics}
    return replace(run, nics=nics, switches=switches(run.plan, {}), pauses=report(run.plan, ()))


ALL = {
    "marked": marked,
    "storm": storm,
    "deadlock": deadlock,
    "tight": tight,
    "spread": spread,
    "chain": chain,
    "credited": credited,
    "quiet": quiet,
}
