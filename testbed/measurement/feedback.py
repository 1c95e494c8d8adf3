"""Cross-checks of what switches and NICs tell each other: pauses, marks, congestion notifications, NAKs.

Each compares counters that are kept at different places; what is lost on the way is among the recorded drops. Where
a run was halted, frames are still under way, and what was sent may be more than what came.

Known limits: an application that is not the project's own may copy frames and send them by several ways, so that NAKs
and notifications may come, and be lost, more than once: these are then only bounded.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from testbed.engine.fabric import ModelFabric
from testbed.engine.pause.control import FlowControl
from testbed.measurement.records import DropRecord, Invariant
from testbed.scenario.qos import PRIORITIES

Nics = Mapping[str, Mapping[str, int]]


def feedback_invariants(
    fabric: ModelFabric, nics: Nics, drops: Sequence[DropRecord], other_marks: int, *, own_rules: bool
) -> Iterator[Invariant]:
    """Yield the cross-checks that the fabric's features call for; `other_marks` are marks that no queue counted."""
    if fabric.flow_control is not None:
        yield _pauses(fabric, fabric.flow_control, drops)
    if fabric.qos is not None or other_marks:
        yield _marks(fabric, nics, other_marks)
    if _total(nics, "np_cnp_sent"):
        yield _cnps(nics, drops, halted=fabric.halted is not None, exact=own_rules)
    yield _sequence(nics, drops, own_rules=own_rules)


def _total(nics: Nics, counter: str) -> int:
    return sum(counters[counter] for counters in nics.values())


# --- pauses ----------------------------------------------------------------------------------------------------------


def _pauses(fabric: ModelFabric, control: FlowControl, drops: Sequence[DropRecord]) -> Invariant:
    """A PFC frame counts once for each priority that it names, so a lost one is worth one count to all of them."""
    qos = fabric.qos
    assert qos is not None
    assert qos.pfc is not None
    worth = 1 if qos.pfc.kind == "pause" else len(set(qos.lossless))
    lost = Counter(record.where for record in drops if record.kind == "pause")
    problems, all_sent, all_received = [], 0, 0
    for name in fabric.transmitters:
        sent, received = _pause_counts(control, fabric, name)
        all_sent, all_received = all_sent + sent, all_received + received
        if not _all_arrived(sent - received, lost[name], worth, fabric, name):
            problems.append(f"{name}: {sent} sent, {received} received at the other end, {lost[name]} lost")
    fine = f"{all_sent} pause frames sent, {all_received} received, {sum(lost.values())} lost"
    return Invariant("pauses", not problems, "; ".join(problems) or fine)


def _pause_counts(control: FlowControl, fabric: ModelFabric, name: str) -> tuple[int, int]:
    """Return what the port `name` has sent, and what the other end of its link has received, over all priorities."""
    sender, receiver = control.senders.get(name), control.receivers[fabric.plan.far_end(name).name]
    sent = 0 if sender is None else sum(sender.xoff_frames) + sum(sender.xon_frames)
    return sent, sum(receiver.xoff_frames) + sum(receiver.xon_frames)


def _all_arrived(missing: int, lost: int, worth: int, fabric: ModelFabric, name: str) -> bool:
    port = fabric.ports.get(name)
    least = lost
    if port is not None and port.emitted_control_frames:
        least, worth = 0, PRIORITIES  # a controller's, counted as the port's, name as many priorities as they like
    return missing >= least and (missing <= lost * worth or fabric.halted is not None)


# --- marks and notifications -----------------------------------------------------------------------------------------


def _marks(fabric: ModelFabric, nics: Nics, other_marks: int) -> Invariant:
    made = other_marks + sum(
        queue.ecn_marked_packets
        for switch in fabric.switches.values()
        for port in switch.statistics().ports.values()
        for queue in port.queues
    )
    seen = _total(nics, "np_ecn_marked_roce_packets")
    return Invariant("marks", seen <= made, f"{made} packets marked by switches, {seen} received marked")


def _cnps(nics: Nics, drops: Sequence[DropRecord], *, halted: bool, exact: bool) -> Invariant:
    sent, handled, ignored = (_total(nics, name) for name in ("np_cnp_sent", "rp_cnp_handled", "rp_cnp_ignored"))
    dropped = sum(record.kind == "cnp" for record in drops)
    under_way = sent - handled - ignored - dropped
    ok = under_way == 0
    detail = f"{sent} CNPs sent, {handled} handled, {ignored} ignored, {dropped} dropped"
    if halted:
        ok, detail = under_way >= 0, f"{detail}, {under_way} under way when the fabric halted"
    elif not exact:
        ok = handled + ignored <= sent <= handled + ignored + dropped
    return Invariant("cnps", ok, detail)


# --- sequence errors -------------------------------------------------------------------------------------------------


def _sequence(nics: Nics, drops: Sequence[DropRecord], *, own_rules: bool) -> Invariant:
    """A receiver answers the first packet behind each hole with a NAK. A sender acts on it unless it is lost, comes too
    late, or finds the retries used up: so it counts no more of them than there were packets out of sequence. And
    where no packet was lost or had to wait for a receive, none can be out of sequence."""
    early, naks = _total(nics, "out_of_sequence"), _total(nics, "packet_seq_err")
    kinds = Counter(record.kind for record in drops)
    ok = naks <= early
    if own_rules and not kinds["data"] and not _total(nics, "out_of_buffer"):
        ok = ok and not early
    detail = f"{early} packets out of sequence, {naks} NAKs for them acted on, {kinds['nak']} NAKs lost on the way"
    return Invariant("sequence", ok, detail)
