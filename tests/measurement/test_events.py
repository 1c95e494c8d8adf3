"""Events: from records to one list in the order of time."""

import pytest

from testbed.engine.loop import EventLoop
from testbed.engine.qos_switch import QosPort
from testbed.measurement import marks as marks_module
from testbed.measurement.events import events_of
from testbed.measurement.marks import MarkRecorder
from testbed.measurement.pauses import PauseRecord, PauseReport, StormRecord
from testbed.measurement.records import DropRecord
from testbed.scenario.model import LinkDown
from testbed.scenario.qos import QosOptions
from tests.engine.fabric_kit import Lab, plan_of
from traffic.nic.journal import CNP_SENT, RETRANSMISSION, NicEvent

PLAN = plan_of("single-switch")
NONE = MarkRecorder(EventLoop())
MARKING = QosOptions.model_validate({"ecn": {3: {"kmin": "4KB", "kmax": "4KB", "pmax": 1.0}}})
IP = {nic.host: nic.ipv4 for nic in PLAN.nics}


def test_all_kinds_are_in_the_order_of_time() -> None:
    pauses = PauseReport(
        (),
        (PauseRecord(30, 60, "s0-eth1", "h0-eth0", 3, 0, "s0-eth2", 0), PauseRecord(90, None, "a", "b", 3, 0, "c", 1)),
        (StormRecord(45, "s0-eth1", 3, "drop", 95),),
        (),
        {},
    )
    link = PLAN.links[0].name
    down = {"kind": "link-down", "link": link}
    found = events_of(
        PLAN,
        100,
        [DropRecord(50, "s0-eth1", "fault", "data", "h0", "h1", 17, 5)],
        NONE,
        [
            NicEvent(70, RETRANSMISSION, "h0-eth0", 17, IP["h1"], 5, 12),
            NicEvent(80, CNP_SENT, "h1-eth0", 18, IP["h0"]),
        ],
        pauses,
        [LinkDown.model_validate({**down, **at}) for at in ({"at": "10ps", "until": "20ps"}, {"at": "500ps"})],
    )
    assert [(event.time_ps, event.kind) for event in found.records] == [
        (10, "link_down"), (20, "link_up"), (30, "pause"), (45, "watchdog"), (50, "drop"), (60, "resume"),
        (70, "retransmission"), (80, "cnp_sent"), (90, "pause"), (95, "restored"),
    ]  # fmt: skip
    drop, again, notified = found.records[4], found.records[6], found.records[7]
    assert (drop.where, drop.psn, drop.detail) == ("s0-eth1", 5, "data: fault")
    assert (again.source, again.destination, again.psn, again.detail) == ("h0", "h1", 5, "12 packets")
    assert (notified.source, notified.destination) == ("h0", "h1"), "a CNP is about the data that came"


def marked(lab: Lab) -> MarkRecorder:
    recorder = MarkRecorder(lab.loop)
    recorder.attach(lab.fabric)
    for number in range(20):
        for source in (0, 1):
            lab.send_ip(0, source, 2, 4000, number)
    lab.run()
    return recorder


def marks_counted(lab: Lab) -> int:
    ports = [port for port in lab.fabric.ports.values() if isinstance(port, QosPort)]
    return sum(queue.marked_frames for port in ports for queue in port.scheduler.queues)


def test_every_mark_is_an_event_at_its_queue() -> None:
    lab = Lab(PLAN, qos=MARKING)
    recorder = marked(lab)
    found = events_of(PLAN, lab.loop.now, [], recorder, [], None, [])
    assert len(found.records) == marks_counted(lab) > 5
    assert {(event.kind, event.priority) for event in found.records} == {("mark", 3)}
    assert len({event.where for event in found.records}) == 1
    assert found.marks_left_out == 0


def test_of_too_many_marks_the_first_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks_module, "MOST_MARKS", 3)
    lab = Lab(PLAN, qos=MARKING)
    recorder = marked(lab)
    assert (len(recorder.marks), recorder.left_out) == (3, marks_counted(lab) - 3)


def test_whoever_listened_before_still_hears() -> None:
    lab = Lab(PLAN, qos=MARKING)
    heard: list[object] = []
    for port in lab.fabric.ports.values():
        assert isinstance(port, QosPort)
        for queue in port.scheduler.queues:
            queue.on_marked = heard.append
    recorder = marked(lab)
    assert len(heard) == len(recorder.marks) > 0
