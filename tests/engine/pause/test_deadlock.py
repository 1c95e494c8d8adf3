"""Deadlocks on a ring are found and named; storms are told from them; watchdogs end both; every run ends."""

import pytest

from testbed.engine.pause.deadlock import DeadlockSearch
from testbed.engine.pause.journal import Pause
from testbed.engine.pause.monitor import PauseMonitor
from testbed.engine.qos_switch import QosPort
from testbed.engine.reasons import PFC_WATCHDOG
from testbed.fabric.buffers import pause_ps
from testbed.scenario.model import PauseStorm
from testbed.scenario.qos import QosOptions
from tests.engine.fabric_kit import Lab, plan_of

WIRE = 4198
SWITCHES = 5
QUICK = {"detect": "200us", "restore": "200us", "poll": "100us"}


def lab_of(shape: str, frames: int, storms: tuple[PauseStorm, ...] = (), **pfc: object) -> Lab:
    """Every host sends `frames` frames to the host two further on (clockwise, on a ring)."""
    lab = Lab(plan_of(shape, buffer="1MiB"), qos=QosOptions.model_validate({"pfc": pfc}))
    hosts = len(lab.nics)
    lab.fabric.storm(storms)
    for number in range(frames):
        for source in range(hosts):
            lab.send_ip(0, source, (source + 2) % hosts, WIRE, number)
    return lab


def storm(port: str, at: str = "1us", until: str | None = None) -> PauseStorm:
    return PauseStorm.model_validate({"kind": "pause-storm", "port": port, "at": at, "until": until})


def pauses(lab: Lab) -> list[Pause]:
    assert lab.fabric.flow_control is not None
    return lab.fabric.flow_control.journal.pauses


# --- deadlock ---------------------------------------------------------------------------------------------------------


def test_a_ring_deadlocks_and_the_cycle_is_named_port_by_port() -> None:
    """Each link carries two flows, so each switch pauses the one before it, all the way round."""
    lab = lab_of("ring", 1500)
    lab.run()
    assert lab.fabric.flow_control is not None
    (deadlock,) = lab.fabric.flow_control.monitor.deadlocks
    clockwise = [("leaf0-eth2", "leaf1-eth2")]
    clockwise += [(f"leaf{n}-eth3", f"leaf{n + 1}-eth2") for n in range(1, SWITCHES - 1)]
    clockwise += [(f"leaf{SWITCHES - 1}-eth3", "leaf0-eth3")]
    assert [(step.port, step.paused_by) for step in deadlock.steps] == clockwise
    assert all(step.priority == 3 and step.bytes > 0 for step in deadlock.steps)
    assert deadlock.since_ps < 40_000_000 < deadlock.time_ps  # it is found when a pause is first refreshed
    halted = lab.fabric.halted
    assert halted is not None
    assert halted.startswith("deadlock since ")
    assert halted.index("leaf0-eth2") < halted.index("leaf1-eth3") < halted.index("leaf4-eth3")
    assert halted.endswith("whose frames wait in leaf0-eth2")


def test_a_deadlocked_run_ends_with_balanced_books() -> None:
    lab = lab_of("ring", 1500)
    lab.run()
    assert [*lab.fabric.conservation(), *lab.fabric.accounting()] == []
    assert lab.drops == []
    assert lab.loop.now < 10 * pause_ps(0xFFFF, 100 * 10**9)


def test_deadlock_is_final_even_while_other_events_are_left() -> None:
    """Retransmission timers keep a loop busy for seconds; the cycle is found all the same."""
    lab = lab_of("ring", 1500)
    for second in range(1, 5):
        lab.loop.at(second * 10**12, lambda _: None)
    lab.run()
    assert lab.fabric.halted is not None
    assert lab.loop.now < 10**12


@pytest.mark.parametrize("frames", [30, 50])
def test_without_overload_the_ring_is_only_paused(frames: int) -> None:
    lab = lab_of("ring", frames)
    lab.run()
    assert lab.fabric.halted is None
    assert sum(len(nic.received) for nic in lab.nics.values()) == frames * SWITCHES


def test_one_hop_flows_never_deadlock() -> None:
    lab = Lab(plan_of("ring", buffer="1MiB"), qos=QosOptions.model_validate({"pfc": {}}))
    for number in range(1500):
        for source in range(SWITCHES):
            lab.send_ip(0, source, (source + 1) % SWITCHES, WIRE, number)
    lab.run(turns=100_000)
    assert lab.fabric.halted is None


def test_a_watchdog_that_drops_breaks_the_deadlock() -> None:
    lab = lab_of("ring", 1500, watchdog=QUICK)
    lab.run(turns=100_000)
    assert lab.fabric.flow_control is not None
    assert lab.fabric.flow_control.monitor.deadlocks
    assert lab.fabric.halted is None
    assert {reason for _, reason, _ in lab.drops} == {PFC_WATCHDOG}
    assert [*lab.fabric.conservation(), *lab.fabric.accounting()] == []
    assert not any(nic.frames for nic in lab.nics.values())


def test_a_watchdog_that_only_alerts_does_not() -> None:
    lab = lab_of("ring", 1500, watchdog={**QUICK, "action": "alert"})
    lab.run(turns=100_000)
    assert lab.fabric.halted is not None
    assert lab.fabric.halted.startswith("deadlock since ")
    assert lab.fabric.flow_control is not None
    assert {event.action for event in lab.fabric.flow_control.journal.storms} == {"alert"}
    assert lab.drops == []


def test_pause_of_whole_links_deadlocks_too() -> None:
    lab = lab_of("ring", 1500, kind="pause")
    lab.run()
    assert lab.fabric.halted is not None
    assert lab.fabric.halted.startswith("deadlock since ")
    assert {pause.priority for pause in pauses(lab)} == {None}


def broken_by_a_policy() -> Lab:
    """A ring whose cycle is found, and then opened by making every port lossy: nothing is paused any more."""
    lab = lab_of("ring", 1500)
    lab.loop.run(until_ps=100_000_000)
    monitor = monitor_of(lab)
    while monitor.deadlock is None:
        lab.loop.run_events(100)
    for switch in lab.fabric.qos_switches().values():
        for port in switch.qos_ports():
            switch.set_lossless(port.name, 3, False)
    return lab


def monitor_of(lab: Lab) -> PauseMonitor:
    assert lab.fabric.flow_control is not None
    return lab.fabric.flow_control.monitor


def test_a_deadlock_that_a_policy_ended_is_recorded_and_no_reason_to_stop() -> None:
    lab = broken_by_a_policy()
    monitor = monitor_of(lab)
    found = monitor.deadlock
    assert found is not None
    lab.loop.at(found.time_ps + 2 * monitor.patience_ps, lambda _: None)  # the workload goes on
    while lab.loop.run_events(100):
        assert not lab.fabric.stopped(work_left=True)
    assert not lab.fabric.stopped(work_left=True)
    assert lab.loop.now >= found.time_ps + monitor.patience_ps
    assert lab.fabric.halted is None
    assert (monitor.deadlock, monitor.deadlocks) == (None, [found])
    assert not any(nic.frames for nic in lab.nics.values())


def test_a_fabric_with_a_policy_is_given_more_time() -> None:
    """A policy that looks seldom may yet end a deadlock, so it lasts until the policy has had its looks."""
    lab = lab_of("ring", 1500)
    monitor = monitor_of(lab)
    own_ps = monitor.patience_ps
    lab.fabric.wait_for_policy(1)
    assert monitor.patience_ps == own_ps
    lab.fabric.wait_for_policy(3 * own_ps)
    lab.run(turns=100_000)
    assert lab.fabric.halted is not None
    assert monitor.deadlock is not None
    assert lab.loop.now >= monitor.deadlock.time_ps + 3 * own_ps


def test_a_queue_that_the_watchdog_forwards_is_not_blocked() -> None:
    lab = lab_of("ring", 1500)
    lab.run()
    found = monitor_of(lab).deadlock
    assert found is not None
    search = DeadlockSearch(lab.fabric.qos_switches(), qos_ports(lab))
    assert search.find(lab.loop.now) is not None
    first = found.steps[0]
    qos_ports(lab)[first.port].scheduler.obeyed_mask &= ~(1 << first.priority)
    assert search.find(lab.loop.now) is None


def qos_ports(lab: Lab) -> dict[str, QosPort]:
    return {port.name: port for switch in lab.fabric.qos_switches().values() for port in switch.qos_ports()}


# --- storm ------------------------------------------------------------------------------------------------------------


def test_a_storm_holds_up_a_fabric_and_the_run_ends_naming_it() -> None:
    lab = lab_of("leaf-spine", 400, (storm("h3-eth0"),))
    lab.run()
    halted = lab.fabric.halted
    assert halted is not None
    assert halted.startswith("nothing has moved since ")
    assert "leaf1-eth2 priority 3 is paused by h3-eth0" in halted
    assert lab.fabric.flow_control is not None
    assert lab.fabric.flow_control.monitor.deadlocks == []
    assert [*lab.fabric.conservation(), *lab.fabric.accounting()] == []


def test_pauses_spread_from_the_storm_hop_by_hop() -> None:
    lab = lab_of("leaf-spine", 400, (storm("h3-eth0"),))
    lab.run()
    first = pauses(lab)[0]
    assert (first.sender, first.paused, first.causes) == ("h3-eth0", "leaf1-eth2", ())
    spread = [p for p in pauses(lab) if any(cause.paused_by == "h3-eth0" for cause in p.causes)]
    assert {p.sender for p in spread} <= {"leaf1-eth3", "leaf1-eth4"}  # towards the spines
    upstream = {p.sender for p in spread}
    further = [p for p in pauses(lab) if any(cause.paused_by in upstream for cause in p.causes)]
    assert further
    assert {p.sender.partition("-")[0] for p in further} <= {"spine0", "spine1"}


def test_a_storm_that_ends_is_survived() -> None:
    lab = lab_of("leaf-spine", 400, (storm("h3-eth0", until="900us"),))
    lab.run()
    assert lab.fabric.halted is None
    assert sum(len(nic.received) for nic in lab.nics.values()) == 4 * 400
    assert lab.drops == []


def test_a_storm_that_nobody_waits_for_does_not_keep_the_run_alive() -> None:
    lab = lab_of("single-switch", 0, (storm("h3-eth0"),))
    lab.send_ip(0, 0, 1, WIRE)
    lab.run()
    assert lab.fabric.halted is None
    assert [*lab.fabric.conservation(), *lab.fabric.accounting()] == []


# --- watchdog ---------------------------------------------------------------------------------------------------------


def stormy(action: str, until: str | None = "2ms") -> Lab:
    """h3 pauses its switch while h0 sends to it, and h1 sends to h2; then h0 sends again after the storm."""
    options = QosOptions.model_validate({"pfc": {"watchdog": {**QUICK, "action": action}}})
    lab = Lab(plan_of("single-switch"), qos=options)
    lab.fabric.storm([storm("h3-eth0", until=until)])
    for number in range(20):
        lab.send_ip(2_000_000, 0, 3, WIRE, number)
        lab.send_ip(2_000_000, 1, 2, WIRE, number)
        lab.send_ip(1_000_000_000, 0, 3, WIRE, 100 + number)
        lab.send_ip(4_000_000_000, 0, 3, WIRE, 200 + number)
    lab.run()
    return lab


def events(lab: Lab) -> list[tuple[int, str, int, int | None]]:
    assert lab.fabric.flow_control is not None
    return [(e.time_ps, e.port, e.priority, e.restored_ps) for e in lab.fabric.flow_control.journal.storms]


def numbers(lab: Lab, index: int) -> list[int]:
    return [mark & 0xFFFF for mark in lab.received(index)]


def test_drop_drops_what_waits_and_what_comes_until_the_storm_is_over() -> None:
    """Frames wait from 3 us on. Looks are at 100 us (not yet the same at two looks), 200 us and 300 us: stuck for 200
    us. The storm ends at 2 ms; the first look at which nothing has come for 200 us restores the queue."""
    lab = stormy("drop")
    ((found, port, priority, restored),) = events(lab)
    assert (found, port, priority) == (300_000_000, "leaf0-eth4", 3)
    assert restored is not None
    assert 2_000_000_000 < restored <= 2_000_000_000 + 300_000_000
    assert [(where, reason) for where, reason, _ in lab.drops] == [("leaf0-eth4", PFC_WATCHDOG)] * 40
    assert numbers(lab, 3) == list(range(200, 220))
    assert numbers(lab, 2) == list(range(20))
    assert [*lab.fabric.conservation(), *lab.fabric.accounting()] == []


def test_forward_sends_in_spite_of_the_pause() -> None:
    lab = stormy("forward")
    assert lab.drops == []
    assert numbers(lab, 3) == [*range(20), *range(100, 120), *range(200, 220)]
    arrived = [time for time, mark in lab.nics["h3-eth0"].received if mark & 0xFFFF < 100]
    assert min(arrived) > 300_000_000
    assert max(arrived) < 310_000_000


def test_alert_only_says_so() -> None:
    lab = stormy("alert")
    assert lab.drops == []
    assert len(events(lab)) == 1
    arrived = [time for time, mark in lab.nics["h3-eth0"].received if mark & 0xFFFF < 200]
    assert min(arrived) > 2_000_000_000


def test_detection_and_restoration_are_counted() -> None:
    lab = stormy("drop")
    port = lab.fabric.switches["leaf0"].statistics().ports["leaf0-eth4"]
    assert (port.storms_detected, port.storms_restored) == (1, 1)
    assert port.queues[3].dropped == {PFC_WATCHDOG: 40}


def test_a_pause_without_frames_is_no_storm() -> None:
    options = QosOptions.model_validate({"pfc": {"watchdog": QUICK}})
    lab = Lab(plan_of("single-switch"), qos=options)
    lab.fabric.storm([storm("h3-eth0", until="3ms")])
    lab.run()
    assert events(lab) == []


def test_ordinary_pauses_are_no_storm() -> None:
    options = QosOptions.model_validate({"pfc": {"watchdog": QUICK}})
    lab = Lab(plan_of("single-switch", buffer="512KiB"), qos=options)
    for source in (1, 2, 3):
        for number in range(1500):
            lab.send_ip(0, source, 0, WIRE, number)
    lab.run()
    assert len(pauses(lab)) > 100
    assert lab.loop.now > 1_000_000_000  # five times the time of detection
    assert events(lab) == []
