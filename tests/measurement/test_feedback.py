"""The cross-checks: they hold where all is well, allow what was lost on the way, and find a count that does not fit."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.engine.frame import Frame
from testbed.engine.impairments import DropNth, Faults
from testbed.engine.pause.frames import pfc_frame
from testbed.engine.statistics import PortStatistics, QueueStatistics, SwitchStatistics
from testbed.measurement.feedback import feedback_invariants
from testbed.measurement.records import DropRecord, Invariant
from testbed.scenario.qos import QosOptions
from tests.engine.fabric_kit import Lab, plan_of
from traffic.nic.counters import NicCounters, snapshot

COUNTERS = snapshot(NicCounters())
WIRE = 4198


def lost(kind: str, frames: int = 1, where: str = "leaf0-eth1") -> list[DropRecord]:
    return [DropRecord(0, where, "fault", kind, None, None, None, None)] * frames


def fabric(marked: int = 0, *, halted: str | None = None) -> Any:
    """A fabric with traffic classes and no flow control, as far as the checks look at it; one queue marked frames."""
    queue = QueueStatistics(3, 0, 0, 0, 0, 0, marked, {})
    port = PortStatistics("leaf0-eth1", 10**11, 0, 0, 0, 0, (queue,))
    switch = SimpleNamespace(statistics=lambda: SwitchStatistics("leaf0", 0, 0, 0, 0, 0, {"leaf0-eth1": port}))
    return SimpleNamespace(flow_control=None, qos=QosOptions(), halted=halted, switches={"leaf0": switch})


def found(
    nics: Mapping[str, int],
    drops: list[DropRecord] | None = None,
    other_marks: int = 0,
    *,
    own_rules: bool = True,
    **of_fabric: Any,
) -> dict[str, Invariant]:
    """Return the invariants by name; the counters of `nics` are spread over two NICs."""
    spread = {
        name: {**COUNTERS, **{counter: (value + number) // 2 for counter, value in nics.items()}}
        for number, name in enumerate(("h0-eth0", "h1-eth0"))
    }
    checks = feedback_invariants(fabric(**of_fabric), spread, drops or [], other_marks, own_rules=own_rules)
    return {check.name: check for check in checks}


# --- marks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "made", "others", "ok"), [(5, 5, 0, True), (4, 5, 0, True), (6, 5, 0, False), (6, 5, 1, True)]
)
def test_no_more_marks_are_seen_than_made(seen: int, made: int, others: int, ok: bool) -> None:
    check = found({"np_ecn_marked_roce_packets": seen}, marked=made, other_marks=others)["marks"]
    assert check.ok is ok
    assert check.detail == f"{made + others} packets marked by switches, {seen} received marked"


# --- congestion notifications ----------------------------------------------------------------------------------------


def cnps(sent: int, handled: int, ignored: int, dropped: int = 0, **options: Any) -> Invariant:
    nics = {"np_cnp_sent": sent, "rp_cnp_handled": handled, "rp_cnp_ignored": ignored}
    return found(nics, lost("cnp", dropped), **options)["cnps"]


def test_every_cnp_is_handled_ignored_or_dropped() -> None:
    assert cnps(12, 10, 1, 1).ok
    assert cnps(12, 10, 1, 1).detail == "12 CNPs sent, 10 handled, 1 ignored, 1 dropped"
    assert not cnps(12, 10, 1).ok
    assert not cnps(12, 12, 1).ok


def test_cnps_may_be_under_way_when_the_fabric_halted() -> None:
    check = cnps(12, 10, 0, halted="deadlock")
    assert check.ok
    assert check.detail.endswith("2 under way when the fabric halted")
    assert not cnps(12, 13, 0, halted="deadlock").ok


def test_copies_of_cnps_may_be_dropped_where_an_application_floods() -> None:
    assert cnps(12, 12, 0, 3, own_rules=False).ok
    assert not cnps(12, 12, 0, 3).ok
    assert not cnps(12, 8, 0, 3, own_rules=False).ok


def test_without_cnps_there_is_nothing_to_check() -> None:
    assert "cnps" not in found({})


# --- sequence errors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("early", "naks", "ok"), [(7, 1, True), (7, 7, True), (7, 8, False), (0, 1, False)])
def test_no_more_naks_than_packets_out_of_sequence(early: int, naks: int, ok: bool) -> None:
    check = found({"out_of_sequence": early, "packet_seq_err": naks}, lost("data"))["sequence"]
    assert check.ok is ok


def test_nothing_is_out_of_sequence_without_a_loss() -> None:
    assert not found({"out_of_sequence": 1})["sequence"].ok
    assert found({"out_of_sequence": 1}, lost("data"))["sequence"].ok
    assert not found({"out_of_sequence": 1}, lost("ack"))["sequence"].ok
    assert found({"out_of_sequence": 1, "out_of_buffer": 1})["sequence"].ok
    assert found({"out_of_sequence": 1}, own_rules=False)["sequence"].ok


# --- pauses, of a fabric that really pauses --------------------------------------------------------------------------


@pytest.fixture(params=["pfc", "pause"])
def paused(request: pytest.FixtureRequest) -> Lab:
    """An incast that pauses its senders; the test makes it lose what it wants, and runs it."""
    lab = Lab(
        plan_of("single-switch", buffer="512KiB"), qos=QosOptions.model_validate({"pfc": {"kind": request.param}})
    )
    for source in (1, 2, 3):
        for number in range(60):
            lab.send_ip(0, source, 0, WIRE, number)
    return lab


def pauses(lab: Lab, drops: list[DropRecord]) -> Invariant:
    nics = dict.fromkeys(lab.nics, COUNTERS)
    return next(feedback_invariants(lab.fabric, nics, drops, 0, own_rules=True))


def test_all_pause_frames_arrive(paused: Lab) -> None:
    paused.run()
    check = pauses(paused, [])
    assert check.ok
    assert check.name == "pauses"
    sent = sum(wire.sent_control_frames for wire in paused.fabric.transmitters.values())
    assert sent > 2
    assert check.detail == f"{sent} pause frames sent, {sent} received, 0 lost"


def test_lost_pause_frames_are_among_the_drops(paused: Lab) -> None:
    paused.fabric.transmitters["leaf0-eth2"].impair(Faults([DropNth("any", 1, 1)]))
    paused.run()
    assert paused.lost_control_frames == 1
    assert pauses(paused, lost("pause", where="leaf0-eth2")).ok
    for drops in ([], lost("pause", where="leaf0-eth3"), lost("pause", 2, where="leaf0-eth2")):
        check = pauses(paused, drops)
        assert not check.ok
        assert "leaf0-eth2: " in check.detail


def test_a_pause_frame_that_nobody_sent_is_found(paused: Lab) -> None:
    paused.run()
    assert paused.fabric.flow_control is not None
    paused.fabric.flow_control.receivers["h2-eth0"].xoff_frames[3] += 1
    check = pauses(paused, [])
    assert not check.ok
    assert check.detail.startswith("leaf0-eth3: ")


def controlled(priorities: dict[int, int]) -> Lab:
    """A controller has leaf0-eth2 send a PFC frame; the exchange counts it as the port's."""
    lab = Lab(plan_of("single-switch"), qos=QosOptions.model_validate({"pfc": {}}))
    assert lab.fabric.flow_control is not None
    for priority, quanta in priorities.items():
        sender = lab.fabric.flow_control.senders["leaf0-eth2"]
        (sender.xoff_frames if quanta else sender.xon_frames)[priority] += 1
    frame = Frame(pfc_frame("02:00:00:00:01:01", priorities))
    lab.loop.at(0, lambda _: lab.fabric.switches["leaf0"].emit(2, frame))
    return lab


def test_a_controllers_pause_frames_are_balanced_too() -> None:
    lab = controlled({2: 0, 3: 100, 4: 100})
    lab.run()
    assert pauses(lab, []).ok
    assert lab.fabric.flow_control is not None
    lab.fabric.flow_control.receivers["h1-eth0"].xoff_frames[3] += 1
    assert not pauses(lab, []).ok
    lab.fabric.flow_control.receivers["h1-eth0"].xoff_frames[3] -= 2
    assert not pauses(lab, []).ok


def test_a_controllers_pause_frame_that_is_lost_names_more_than_the_lossless() -> None:
    lab = controlled({2: 0, 3: 100, 4: 100})
    lab.fabric.transmitters["leaf0-eth2"].impair(Faults([DropNth("any", 1, 1)]))
    lab.run()
    assert lab.lost_control_frames == 1
    assert pauses(lab, lost("pause", where="leaf0-eth2")).ok
    assert not pauses(lab, []).ok
