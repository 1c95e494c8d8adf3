"""What must hold in every run, whatever the scenario: asserted at its end, and part of its summary.

conservation      what is sent on a wire is delivered, lost with a reason or still on it; queues and switches alike
accounting        a switch's memory counts what its frames hold, zero at the end
pauses            pause frames sent = received + lost on the link
headroom          no frame of a lossless class found its headroom full where the headroom is computed and always there
drops             every counted drop has been recorded with its place and reason
marks             packets that NICs received marked (CE) <= packets that switches marked, and copies of them
cnps              congestion notifications sent = acted on + ignored + dropped on the way
sequence          NAKs for a lost packet that senders saw <= packets that receivers found out of sequence
packets           request packets sent (and copied by switches) = received by a queue pair + dropped on the way
open_vswitch      Open vSwitch counts the frames of every port as the engine does, and took all of them
unsolicited       Open vSwitch put out no frame that the engine had not sent in
causes            the parts of every rank's stall, and of every flow's delay, add up to it, to the picosecond, and those
                  that pauses have at a port lie within its pauses
series            time series add up to the counters, and their peaks are the queues' peaks
replays           each packet of a capture was sent, and arrived or was lost for a reason
nvlink            what went into a host's NVLink domain came out of it
delivery          every finished transfer delivered each of its bytes once, and sums are the true ones
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from testbed.engine.fabric import ModelFabric
from testbed.engine.qos_switch import QosPort
from testbed.engine.reasons import HEADROOM_FULL
from testbed.engine.switch import SwitchPort
from testbed.measurement.causes.model import Explanation, Unexplained
from testbed.measurement.feedback import feedback_invariants
from testbed.measurement.records import DropRecord, Invariant
from testbed.measurement.series import SeriesRecord
from testbed.measurement.series_check import series_invariants
from traffic.nvlink import NvlinkStatistics
from traffic.results import CollectiveResult, FlowResult, ReplayResult, TraceResult
from traffic.work import Job


def invariants(
    fabric: ModelFabric,
    nics: Mapping[str, Mapping[str, int]],
    drops: Sequence[DropRecord],
    jobs: Sequence[Job],
    results: Sequence[CollectiveResult | FlowResult | TraceResult],
    ovs_differences: Sequence[str],
    unsolicited: int,
    *,
    copied_data_packets: int = 0,
    openflow_marked_packets: int = 0,
    own_rules: bool = True,
    explanation: Explanation | Unexplained | None = None,
    series: SeriesRecord | None = None,
    nvlink: Sequence[NvlinkStatistics] = (),
    replays: Sequence[ReplayResult] = (),
) -> tuple[Invariant, ...]:
    """Return each invariant with what was found. Call when no event is left, or the fabric has halted.

    `explanation`: None where no causes were looked for; `series`: None where none were kept. `own_rules`: the switches
    follow the project's own application alone, so they neither copy frames nor reorder them.
    """
    return (
        _conservation(fabric),
        *_of_classes(fabric),
        *feedback_invariants(fabric, nics, drops, copied_data_packets + openflow_marked_packets, own_rules=own_rules),
        _drops(fabric, nics, drops),
        _packets(nics, drops, jobs, copied_data_packets, halted=fabric.halted is not None),
        _none("open_vswitch", ovs_differences, "Open vSwitch's port counters equal the engine's"),
        _invariant("unsolicited", unsolicited == 0, f"{unsolicited} frames that nobody sent in"),
        _ideal(results),
        *_causes(explanation),
        *series_invariants(series, fabric, drops),
        *_nvlink(nvlink, jobs),
        *_replays(replays, copies=copied_data_packets),
        _delivery(results),
    )


def _invariant(name: str, ok: bool, detail: str) -> Invariant:
    return Invariant(name, ok, detail)


def _none(name: str, problems: Sequence[str], fine: str) -> Invariant:
    return Invariant(name, not problems, "; ".join(problems) if problems else fine)


def _conservation(fabric: ModelFabric) -> Invariant:
    problems = [f"{imbalance.where}: {imbalance.detail}" for imbalance in fabric.conservation()]
    sent = sum(wire.sent_frames for wire in fabric.transmitters.values())
    return _none("conservation", problems, f"{sent} frames sent on wires, each delivered or lost with a reason")


def _of_classes(fabric: ModelFabric) -> tuple[Invariant, ...]:
    """What must hold where there are traffic classes; none without."""
    if fabric.qos is None:
        return ()
    problems = [f"{imbalance.where}: {imbalance.detail}" for imbalance in fabric.accounting()]
    accounting = _none("accounting", problems, "every switch's memory counts what its frames hold")
    if fabric.qos.pfc is None or fabric.qos.pfc.headroom != "auto":
        return (accounting,)
    full = [name for name, port in fabric.ports.items() if _overflowed(port) and _obeyed(fabric, name)]
    return accounting, _none("headroom", full, "no lossless frame found its headroom full")


def _overflowed(port: SwitchPort) -> bool:
    """Whether a headroom of the port was too small although no policy ever switched its protection off."""
    return isinstance(port, QosPort) and any(
        HEADROOM_FULL in group.dropped and not group.was_lossy for group in port.groups
    )


def _obeyed(fabric: ModelFabric, port: str) -> bool:
    """Whether the sender at the other end of a port's link got all of the port's pause frames, and none but those.

    Faults lose pause frames, a watchdog ignores them, and a controller's own change when they come.
    """
    wire, far_end = fabric.transmitters[port], fabric.ports.get(fabric.plan.far_end(port).name)
    ignored = isinstance(far_end, QosPort) and far_end.watchdog is not None and far_end.watchdog.detected > 0
    return not wire.lost and not ignored and not fabric.ports[port].emitted_control_frames


def _drops(fabric: ModelFabric, nics: Mapping[str, Mapping[str, int]], drops: Sequence[DropRecord]) -> Invariant:
    at_nics = sum(counters[name] for counters in nics.values() for name in _NIC_DROP_COUNTERS)
    counted = sum(fabric.drops_by_reason().values()) + at_nics
    return _invariant("drops", counted == len(drops), f"{counted} drops counted, {len(drops)} recorded with a reason")


_NIC_DROP_COUNTERS = ("rx_icrc_encapsulated", "rx_malformed", "rx_wrong_address", "rx_unknown_qp", "rx_qp_not_ready")


def _packets(
    nics: Mapping[str, Mapping[str, int]],
    drops: Sequence[DropRecord],
    jobs: Sequence[Job],
    copied: int,
    *,
    halted: bool,
) -> Invariant:
    sent, again, received = (
        sum(counters[name] for counters in nics.values())
        for name in ("sent_data_packets", "retransmitted_packets", "received_data_packets")
    )
    dropped = Counter(record.kind for record in drops)["data"]
    needed = sum(job.data_packets for job in jobs)
    complete = sent - again == needed or any(job.failure for job in jobs)
    detail = f"{sent} data packets sent, {again} of them again, {received} received, {dropped} dropped; {needed} needed"
    if copied:
        detail += f"; {copied} copies made by switches"
    if halted:  # what is left in the fabric is neither received nor dropped
        return _invariant("packets", sent + copied >= received + dropped, f"{detail}; the fabric has halted")
    return _invariant("packets", sent + copied == received + dropped and complete, detail)


def _ideal(results: Sequence[CollectiveResult | FlowResult | TraceResult]) -> Invariant:
    """Nothing is faster than it can be without contention (`traffic.collectives.ideal_path`), exactly."""
    faster = [
        f"{_name(result)}: {result.time_ps} ps, ideal {result.ideal_ps} ps"
        for result in results
        if result.time_ps is not None and result.time_ps < result.ideal_ps
    ]
    return _none("ideal", faster, f"{len(results)} results not below their contention-free time")


def _causes(explanation: Explanation | Unexplained | None) -> tuple[Invariant, ...]:
    if explanation is None:
        return ()
    if isinstance(explanation, Unexplained):
        return (_invariant("causes", ok=False, detail=explanation.reason),)
    total = sum(stall.stall_ps for stall in explanation.stalls)
    fine = f"{total} ps of stall in {len(explanation.stalls)} ranks and flows are the sum of their parts"
    return (_none("causes", explanation.problems(), fine),)


def _nvlink(domains: Sequence[NvlinkStatistics], jobs: Sequence[Job]) -> tuple[Invariant, ...]:
    """What went into a host's NVLink domain came out: nothing is lost there, unless its job was given up."""
    if not domains:
        return ()
    kept = [
        f"{each.host}: {each.sent_bytes} bytes in, {each.delivered_bytes} out"
        for each in domains
        if each.sent_bytes != each.delivered_bytes and not any(job.failure for job in jobs)
    ]
    sent = sum(each.sent_bytes for each in domains)
    return (_none("nvlink", kept, f"{sent} bytes through NVLink, all of them delivered"),)


def _replays(replays: Sequence[ReplayResult], *, copies: int) -> tuple[Invariant, ...]:
    """Every packet of a capture was sent, and arrived or was lost; of copies that switches make, more than one may."""
    if not replays:
        return ()
    lost = [
        f"{each.name}: {each.packets} in the file, {each.sent} sent, {each.delivered} delivered, "
        f"{sum(each.dropped.values())} dropped"
        for each in replays
        if not (each.failure or copies or each.packets == each.sent == each.delivered + sum(each.dropped.values()))
    ]
    return (_none("replays", lost, f"{sum(each.sent for each in replays)} packets replayed, each arrived or lost"),)


def _delivery(results: Sequence[CollectiveResult | FlowResult | TraceResult]) -> Invariant:
    wrong = [_describe(result) for result in results if result.verified is False and not result.failure]
    checked = sum(result.verified is True for result in results)
    return _none("delivery", wrong, f"{checked} of {len(results)} results compared with the true ones")


def _describe(result: CollectiveResult | FlowResult | TraceResult) -> str:
    if isinstance(result, CollectiveResult):
        return f"{_name(result)}: {result.wrong_elements} wrong elements"
    if isinstance(result, TraceResult):
        return f"{_name(result)}: {result.wrong_elements} wrong elements and bytes"
    return f"{_name(result)}: {result.wrong_bytes} wrong bytes"


def _name(result: CollectiveResult | FlowResult | TraceResult) -> str:
    if isinstance(result, CollectiveResult):
        return f"{result.kind} among {len(result.ranks)} ranks"
    if isinstance(result, TraceResult):
        return f"{result.format} trace of {len(result.ranks)} ranks"
    return f"flow {result.source} to {result.destination}"
