"""A fabric with traffic classes: headroom to the byte, no loss in a lossless class, balanced books with everything
on."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.frame import Frame
from testbed.engine.impairments import Faults, RandomLoss
from testbed.engine.pause.frames import pfc_frame
from testbed.engine.qos_switch import QosSwitch
from testbed.engine.reasons import EGRESS_THRESHOLD, HEADROOM_FULL, INGRESS_THRESHOLD, SHARED_FULL, WRED
from testbed.fabric.buffers import headroom_bytes, largest_frame_bytes
from testbed.scenario.model import PauseStorm
from testbed.scenario.qos import QosOptions
from tests.engine.fabric_kit import Lab, plan_of
from tests.engine.kit import ROCE_CLASS, SECOND_CLASS, SECOND_DSCP, STEADY, ip_frame_of

LARGEST = largest_frame_bytes(4096, 4)
WIRE = LARGEST + 24
BYTE_PS = 80
DELAY_PS = 500_000
LATENCY_PS = 800_000
CNP_CLASS = 48 << 2
NOT_ECT = 26 << 2


def qos(**options: object) -> QosOptions:
    return QosOptions.model_validate(options)


def storm(port: str, at: str = "0ps", **more: object) -> PauseStorm:
    return PauseStorm.model_validate({"kind": "pause-storm", "port": port, "at": at, **more})


def books(lab: Lab) -> list[object]:
    return [*lab.fabric.conservation(), *lab.fabric.accounting()]


# --- headroom: the worst case of testbed.fabric.buffers, frame by frame -----------------------------------------------

RESPONSE_PS = 100_000
"""Shorter than a frame, so that a frame which starts in the very instant of obedience still does."""


def worst_case(headroom: int, response_ps: int = RESPONSE_PS) -> Lab:
    """The first frame from h0 crosses the threshold. At that instant the wire back to h0 begins a largest frame of
    h2's. h0 fills the window to the byte, and begins one more largest frame in its last instant; where the last bytes
    of the window would hold nothing but overhead, it fills it with largest frames only and begins that one before."""
    lab = Lab(
        plan_of("single-switch"),
        qos=qos(
            reserved="0B",
            ingress_alpha=0.000001,
            pfc={"headroom": f"{headroom}B", "response": f"{response_ps}ps"},
        ),
    )
    lab.fabric.storm([storm("h1-eth0")])  # h1 takes nothing, so nothing leaves the headroom
    window_bytes = (WIRE + 84) + (2 * DELAY_PS + response_ps) // BYTE_PS
    filled_bytes = window_bytes - (window_bytes % WIRE if window_bytes % WIRE < 24 else 0)
    count = -(-filled_bytes // WIRE)
    filling = [filled_bytes // count + (number < filled_bytes % count) for number in range(count)]
    start = 2_000_000
    for number, size in enumerate([WIRE, *filling, WIRE, WIRE, WIRE]):
        lab.send_ip(start, 0, 1, size, number)
    lab.send_ip(start - LATENCY_PS, 2, 0, WIRE, traffic_class=0)
    lab.loop.run(until_ps=start + 20_000_000)
    assert len(lab.nics["h0-eth0"].frames) == 2  # the last of all, and none more, has got out
    assert sum(filling) == filled_bytes
    return lab


def test_headroom_is_exactly_enough() -> None:
    headroom = headroom_bytes(100 * 10**9, DELAY_PS, RESPONSE_PS, LARGEST)
    lab = worst_case(headroom)
    assert lab.drops == []
    group = lab.fabric.qos_switches()["leaf0"].qos_ports()[0].groups[3]
    assert (group.headroom_used_bytes, group.headroom_bytes, group.shared_bytes) == (headroom, headroom, 0)


def test_one_byte_short_drops_the_last_frame() -> None:
    lab = worst_case(headroom_bytes(100 * 10**9, DELAY_PS, RESPONSE_PS, LARGEST) - 1)
    assert [(where, reason) for where, reason, _ in lab.drops] == [("leaf0-eth1", HEADROOM_FULL)]


@pytest.mark.parametrize("rest_bytes", [*range(26)])
def test_headroom_is_exactly_enough_however_the_window_ends(rest_bytes: int) -> None:
    """The window is a number of largest frames and a few bytes, too few for one more frame or just enough."""
    response_ps = (-(WIRE + 84) - 2 * DELAY_PS // BYTE_PS + rest_bytes) % WIRE * BYTE_PS
    headroom = headroom_bytes(100 * 10**9, DELAY_PS, response_ps, LARGEST)
    assert worst_case(headroom, response_ps).drops == []
    short = worst_case(headroom - 1, response_ps)
    assert [(where, reason) for where, reason, _ in short.drops] == [("leaf0-eth1", HEADROOM_FULL)]


bursts = st.lists(
    st.tuples(
        st.integers(0, 4_000_000),
        st.integers(0, 3),
        st.integers(1, 3),
        st.integers(1, 40),
        st.integers(84, WIRE),
    ),
    min_size=1,
    max_size=8,
)
"""(time, source, hops round to the destination, frames, size on the wire)"""


def send(lab: Lab, burst_list: list[tuple[int, int, int, int, int]], classes: list[int], nics: int = 4) -> int:
    number = 0
    for time, source, hops, frames, size in burst_list:
        for _ in range(frames):
            lab.send_ip(time, source, (source + hops) % nics, size, number, classes[number % len(classes)])
            number += 1
    return number


@STEADY
@given(
    st.sampled_from(["single-switch", "dumbbell", "leaf-spine"]),
    bursts,
    st.sampled_from(["pfc", "pause"]),
    st.sampled_from([0.01, 0.125, 1.0]),
    st.sampled_from([(ROCE_CLASS,), (ROCE_CLASS, SECOND_CLASS)]),
)
def test_a_lossless_class_never_drops_while_headroom_suffices(
    shape: str, burst_list: list[tuple[int, int, int, int, int]], kind: str, alpha: float, classes: tuple[int, ...]
) -> None:
    options = qos(
        dscp={str(SECOND_DSCP): 4},
        lossless=(3, 4),
        reserved="1KiB",
        ingress_alpha=alpha,
        pfc={"kind": kind, "xon_offset": "1KiB"},
    )
    lab = Lab(plan_of(shape, buffer="384KiB"), qos=options)
    sent = send(lab, burst_list, list(classes))
    lab.run()
    assert lab.drops == []
    assert lab.fabric.halted is None
    assert sum(len(lab.received(index)) for index in range(4)) == sent
    assert books(lab) == []
    for switch in lab.fabric.qos_switches().values():
        assert (switch.shared.used_bytes, switch.shared.shared_used_bytes) == (0, 0)


@STEADY
@given(
    st.sampled_from(["single-switch", "dumbbell", "leaf-spine", "ring"]),
    bursts,
    st.lists(st.sampled_from([ROCE_CLASS, NOT_ECT, 0, CNP_CLASS]), min_size=1, max_size=4),
    st.sampled_from([None, "drop", "forward", "alert"]),
    st.integers(0, 3),
    st.sampled_from([0, 0.05]),
)
def test_the_books_balance_with_everything_on(
    shape: str,
    burst_list: list[tuple[int, int, int, int, int]],
    classes: list[int],
    action: str | None,
    stormy: int,
    loss: float,
) -> None:
    """ECN, WRED, both kinds of classes, weights, a storm, a watchdog, lost pause frames, an early end."""
    watchdog = action and {"detect": "20us", "restore": "20us", "poll": "10us", "action": action}
    options = qos(
        reserved="1KiB",
        ingress_alpha=0.05,
        egress_alpha=0.25,
        weights={0: 2},
        ecn={3: {"kmin": "8KiB", "kmax": "40KiB", "pmax": 0.5}, 0: {"kmin": "4KiB", "kmax": "4KiB", "wred": True}},
        pfc={"quanta": 2000, "watchdog": watchdog},
    )
    lab = Lab(plan_of(shape, buffer="256KiB"), qos=options)
    if loss:
        for name, wire in lab.fabric.transmitters.items():
            wire.impair(Faults([RandomLoss("any", loss, Random(name))]))
    if stormy:
        lab.fabric.storm([storm(f"h{stormy}-eth0", "1us", until=None if stormy == 1 else "30us")])
    nics = len(lab.nics)
    sent = send(lab, burst_list, classes, nics)
    while lab.loop.run_events(50):
        for switch in lab.fabric.qos_switches().values():
            assert switch.wrong_accounts(pipeline=True) == []
        if lab.fabric.stopped(any(nic.frames for nic in lab.nics.values())):
            break
    assert books(lab) == []
    waiting = sum(len(nic.frames) for nic in lab.nics.values())
    waiting += sum(len(port.queue) for port in lab.fabric.ports.values())
    arrived = sum(len(lab.received(index)) for index in range(nics))
    assert lab.fabric.halted is not None or waiting == 0
    assert arrived + waiting + len(lab.drops) == sent
    assert sum(lab.fabric.drops_by_reason().values()) == len(lab.drops) + lab.lost_control_frames


# --- drops and marks, each where it belongs ---------------------------------------------------------------------------


def incast(options: QosOptions, frames: int = 60, traffic_class: int = ROCE_CLASS, buffer: str = "512KiB") -> Lab:
    lab = Lab(plan_of("single-switch", buffer=buffer), qos=options)
    for source in (1, 2, 3):
        for number in range(frames):
            lab.send_ip(0, source, 0, WIRE, number, traffic_class)
    lab.run()
    return lab


def test_a_lossy_class_drops_at_its_egress_threshold() -> None:
    lab = incast(qos(egress_alpha=0.25))
    assert {(where, reason) for where, reason, _ in lab.drops} == {("leaf0-eth1", EGRESS_THRESHOLD)}
    assert lab.fabric.flow_control is None
    shared = 512 * 1024 - 4 * 8 * 4096
    peak = lab.fabric.ports["leaf0-eth1"].queue.peak_bytes
    held = peak / (shared - peak + 4096)
    assert held == pytest.approx(0.25, rel=0.15)  # T = (B - used) / 4, within two frames


def test_a_lossy_class_finds_the_shared_memory_full() -> None:
    lab = incast(qos(egress_alpha=128, reserved="0B"), buffer="100KiB")
    assert {reason for _, reason, _ in lab.drops} == {SHARED_FULL}
    assert {where for where, _, _ in lab.drops} <= {"leaf0-eth2", "leaf0-eth3", "leaf0-eth4"}  # where they arrived


def test_a_lossless_class_pauses_instead() -> None:
    lab = incast(qos(pfc={}))
    assert lab.drops == []
    assert len(lab.received(0)) == 180
    control = lab.fabric.flow_control
    assert control is not None
    assert {(pause.sender, pause.paused, pause.priority) for pause in control.journal.pauses} == {
        (f"leaf0-eth{n + 1}", f"h{n}-eth0", 3) for n in (1, 2, 3)
    }
    assert {cause.port for pause in control.journal.pauses for cause in pause.causes} == {"leaf0-eth1"}
    assert all(pause.end_ps is not None for pause in control.journal.pauses)
    paused = control.statistics("h1-eth0")[3]
    assert paused.rx_pfc_duration_ps > 0
    assert paused.in_pfc == control.statistics("leaf0-eth2")[3].out_pfc > 0
    assert paused.in_pfc_xon == control.statistics("leaf0-eth2")[3].out_pfc_xon > 0


def test_pauses_cost_no_throughput() -> None:
    """180 frames of 4198 B leave one wire of 100 Gb/s without a gap, however often their senders are paused."""
    lab = incast(qos(pfc={}))
    last = max(time for time, _ in lab.nics["h0-eth0"].received)
    assert last == 2 * (WIRE * BYTE_PS + DELAY_PS) + LATENCY_PS + 179 * WIRE * BYTE_PS


def test_ecn_marks_what_finds_a_long_queue_and_only_ect() -> None:
    step = {"kmin": "20KiB", "kmax": "20KiB"}
    for traffic_class, marks in ((ROCE_CLASS, True), (NOT_ECT, False)):
        lab = incast(qos(pfc={}, ecn={3: step}), traffic_class=traffic_class)
        queue = lab.fabric.ports["leaf0-eth1"].statistics().queues[3]
        assert (queue.ecn_marked_packets > 0) == marks
        assert lab.drops == []


def test_wred_drops_what_cannot_be_marked() -> None:
    lab = incast(qos(ecn={3: {"kmin": "20KiB", "kmax": "20KiB", "wred": True}}), traffic_class=NOT_ECT)
    assert {(where, reason) for where, reason, _ in lab.drops} == {("leaf0-eth1", WRED)}


def test_cnps_overtake_the_data_that_waits() -> None:
    lab = Lab(plan_of("single-switch"), qos=qos(pfc={}))
    for source in (1, 2, 3):
        for number in range(20):
            lab.send_ip(0, source, 0, WIRE, number)
    lab.send_ip(5_000_000, 2, 0, 98, 999, CNP_CLASS)
    # behind data in its own NIC, first in first out there, but not in the switch
    lab.run()
    position = [mark & 0xFFFF for _, mark in lab.nics["h0-eth0"].received].index(999)
    queued_behind = [mark for _, mark in lab.nics["h0-eth0"].received[position + 1 :]]
    assert len(queued_behind) > 20


def test_equal_seeds_give_equal_runs() -> None:
    def result() -> tuple[object, ...]:
        lab = incast(qos(pfc={}, ecn={3: {"kmin": "8KiB", "kmax": "80KiB", "pmax": 0.3}}))
        assert lab.fabric.flow_control is not None
        received = [nic.received for nic in lab.nics.values()]
        pauses = [(p.start_ps, p.end_ps, p.sender) for p in lab.fabric.flow_control.journal.pauses]
        return received, pauses, lab.fabric.switches["leaf0"].statistics()

    assert result() == result()


# --- what policies change ---------------------------------------------------------------------------------------------


def test_a_port_made_lossy_pauses_nobody_and_drops() -> None:
    lab = Lab(plan_of("single-switch", buffer="512KiB"), qos=qos(pfc={}))
    switch = lab.fabric.switches["leaf0"]
    for port in ("leaf0-eth1", "leaf0-eth2", "leaf0-eth3", "leaf0-eth4"):
        switch.set_lossless(port, 3, False)
    for source in (1, 2, 3):
        for number in range(60):
            lab.send_ip(0, source, 0, WIRE, number)
    lab.run()
    assert {reason for _, reason, _ in lab.drops} == {INGRESS_THRESHOLD}
    assert lab.fabric.flow_control is not None
    assert lab.fabric.flow_control.journal.pauses == []
    assert books(lab) == []


def test_a_raised_pfc_threshold_pauses_later() -> None:
    def first_pause(alpha: float | None) -> int:
        lab = Lab(plan_of("single-switch", buffer="512KiB"), qos=qos(pfc={}))
        if alpha is not None:
            for number in (2, 3, 4):
                lab.fabric.switches["leaf0"].set_pfc_threshold(f"leaf0-eth{number}", 3, alpha)
        for source in (1, 2, 3):
            for number in range(60):
                lab.send_ip(0, source, 0, WIRE, number)
        lab.run()
        assert lab.fabric.flow_control is not None
        return lab.fabric.flow_control.journal.pauses[0].start_ps

    assert first_pause(None) == first_pause(0.125) < first_pause(0.25)


def test_ecn_can_be_set_and_moved_away() -> None:
    lab = Lab(plan_of("single-switch", buffer="512KiB"), qos=qos(pfc={}))
    switch = lab.fabric.switches["leaf0"]
    switch.set_ecn("leaf0-eth1", 3, 0, 0, 1.0)
    lab.loop.at(10_000_000, lambda _: switch.set_ecn("leaf0-eth1", 3, 10**9, 10**9, 1.0))
    for source in (1, 2, 3):
        for number in range(60):
            lab.send_ip(0, source, 0, WIRE, number)
    lab.run()
    marked = switch.statistics().ports["leaf0-eth1"].queues[3].ecn_marked_packets
    assert 0 < marked < 180


def test_settings_need_a_port_a_priority_and_classes() -> None:
    switch = Lab(plan_of("single-switch"), qos=qos(pfc={})).fabric.switches["leaf0"]
    with pytest.raises(LookupError, match=r"expected a port of leaf0 \(leaf0-eth1, .*\), found 'leaf1-eth1'"):
        switch.set_ecn("leaf1-eth1", 3, 0, 0, 1.0)
    with pytest.raises(LookupError, match="expected a priority from 0 to 7, found 8"):
        switch.set_lossless("leaf0-eth1", 8, False)
    with pytest.raises(ValueError, match="expected a factor above 0"):
        switch.set_pfc_threshold("leaf0-eth1", 3, 0)
    with pytest.raises(ValueError, match="priority 0 of port 1 has no headroom"):
        switch.set_lossless("leaf0-eth1", 0, True)
    plain = Lab(plan_of("single-switch")).fabric.switches["leaf0"]
    with pytest.raises(LookupError, match=r"add 'qos: \{\}' to the fabric"):
        plain.set_ecn("leaf0-eth1", 3, 0, 0, 1.0)


def test_a_switch_without_classes_has_statistics_too() -> None:
    lab = Lab(plan_of("single-switch"))
    lab.send(0, 0, 1, 1000)
    lab.run()
    port = lab.fabric.switches["leaf0"].statistics().ports["leaf0-eth2"]
    assert (port.sent_frames, port.queues[0].out_packets, port.queues[0].peak_bytes) == (1, 1, 976)
    assert (port.groups, port.pauses) == ((), ())


# --- frames of a switch's own -----------------------------------------------------------------------------------------


def test_a_packet_out_takes_its_place_in_a_queue() -> None:
    for options in (None, qos(pfc={})):
        lab = Lab(plan_of("single-switch"), qos=options)
        lab.fabric.switches["leaf0"].emit(2, ip_frame_of(1000, 7))
        lab.run()
        assert [mark for _, mark in lab.nics["h1-eth0"].received] == [7]
        assert books(lab) == []
        assert lab.fabric.switches["leaf0"].emitted_frames == 1


def test_a_pause_frame_sent_as_packet_out_pauses_the_far_end() -> None:
    lab = Lab(plan_of("single-switch"), qos=qos(pfc={}))
    lab.fabric.switches["leaf0"].emit(2, Frame(pfc_frame("02:00:00:00:01:01", {3: 0xFFFF})))
    lab.loop.run(until_ps=5_000_000)
    assert lab.fabric.transmitters["h1-eth0"].paused_mask == 1 << 3
    assert lab.nics["h1-eth0"].received == []
    lab.loop.run()
    assert books(lab) == []


def test_without_classes_nothing_is_different() -> None:
    """A plain switch is a plain switch: no class of this file is in it."""
    assert not isinstance(Lab(plan_of("single-switch")).fabric.switches["leaf0"], QosSwitch)
