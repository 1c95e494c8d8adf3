"""The tree of pauses: roots, who led to whom, storms, deadlocks; and what is asserted about them in every run."""

from testbed.engine.impairments import DropNth, Faults
from testbed.fabric.build import build_plan
from testbed.measurement.invariants import invariants
from testbed.measurement.pauses import PauseBranch, PauseReport, pause_report, walk
from testbed.scenario.model import FabricOptions, PauseStorm
from testbed.scenario.qos import QosOptions
from tests.engine.fabric_kit import Lab, plan_of

WIRE = 4198


def storm(port: str) -> PauseStorm:
    return PauseStorm.model_validate({"kind": "pause-storm", "port": port, "at": "1us"})


def lab_of(shape: str, buffer: str = "1MiB", storms: tuple[PauseStorm, ...] = (), **pfc: object) -> Lab:
    lab = Lab(plan_of(shape, buffer=buffer), qos=QosOptions.model_validate({"pfc": pfc}))
    lab.fabric.storm(storms)
    return lab


def incast(lab: Lab, sources: tuple[int, ...], to: int, frames: int = 400) -> None:
    for number in range(frames):
        for source in sources:
            lab.send_ip(0, source, to, WIRE, number)
    lab.run(turns=100_000)


def report_of(lab: Lab) -> PauseReport:
    report = pause_report(lab.fabric)
    assert report is not None
    return report


def links(branches: tuple[PauseBranch, ...]) -> set[tuple[str, str]]:
    return {(branch.sender, branch.paused) for branch in branches}


def test_without_flow_control_there_is_no_report() -> None:
    assert pause_report(Lab(plan_of("single-switch")).fabric) is None


def test_incast_on_one_switch_has_one_root_the_congested_port() -> None:
    lab = lab_of("single-switch")
    incast(lab, (1, 2, 3), 0)
    report = report_of(lab)
    (root,) = report.roots
    assert (root.port, root.kind) == ("leaf0-eth1", "congestion")
    assert links(root.branches) == {(f"leaf0-eth{n + 1}", f"h{n}-eth0") for n in (1, 2, 3)}
    assert all(not branch.branches and branch.priority == 3 for branch in root.branches)
    assert root.pauses == len(report.pauses)
    assert root.duration_ps == sum(p.end_ps - p.start_ps for p in report.pauses if p.end_ps is not None)
    assert root.paused_ports == ("h1-eth0", "h2-eth0", "h3-eth0")
    assert {pause.depth for pause in report.pauses} == {0}


def test_pauses_spread_up_the_tree_from_a_far_port() -> None:
    """h0, across a spine, and h3, on the same leaf, send to h2: only its port is congested, all else waits for it."""
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
    options = FabricOptions.model_validate({"topology": topology, "switch": {"buffer": "512KiB"}})
    lab = Lab(build_plan(options), qos=QosOptions.model_validate({"pfc": {}}))
    incast(lab, (0, 3), 2, frames=1500)
    report = report_of(lab)
    (root,) = report.roots
    assert (root.port, root.kind) == ("leaf1-eth1", "congestion")
    assert links(root.branches) == {("leaf1-eth2", "h3-eth0"), ("leaf1-eth3", "spine0-eth2")}
    (spine,) = [branch for branch in root.branches if branch.paused == "spine0-eth2"]
    assert links(spine.branches) == {("spine0-eth1", "leaf0-eth3")}
    assert links(spine.branches[0].branches) == {("leaf0-eth1", "h0-eth0")}
    assert {(p.sender, p.depth) for p in report.pauses} == {
        ("leaf1-eth2", 0), ("leaf1-eth3", 0), ("spine0-eth1", 1), ("leaf0-eth1", 2),
    }  # fmt: skip
    assert sum(branch.pauses for branch in walk(root.branches)) == len(report.pauses)
    assert root.paused_ports == ("h0-eth0", "h3-eth0", "leaf0-eth3", "spine0-eth2")


def test_a_nic_that_pauses_for_ever_is_the_root_of_a_storm() -> None:
    lab = lab_of("leaf-spine", storms=(storm("h3-eth0"),))
    incast(lab, (0, 1), 3)
    (root,) = [root for root in report_of(lab).roots if root.kind != "congestion"]
    assert (root.port, root.kind) == ("h3-eth0", "storm")
    assert "leaf1-eth2" in root.paused_ports
    assert {"h0-eth0", "h1-eth0"} & set(root.paused_ports)
    assert report_of(lab).deadlocks == ()


def test_a_nic_that_pauses_shortly_is_no_storm() -> None:
    short = PauseStorm.model_validate({"kind": "pause-storm", "port": "h3-eth0", "at": "1us", "until": "50us"})
    lab = lab_of("single-switch", storms=(short,))
    incast(lab, (0,), 3, frames=10)
    (root,) = report_of(lab).roots
    assert (root.port, root.kind, root.pauses, root.duration_ps) == ("h3-eth0", "nic", 1, 49_000_000)


def test_a_deadlock_is_in_the_report_with_its_steps() -> None:
    lab = lab_of("ring")
    for number in range(1500):
        for source in range(5):
            lab.send_ip(0, source, (source + 2) % 5, WIRE, number)
    lab.run()
    (found,) = report_of(lab).deadlocks
    assert [step.port for step in found.steps] == ["leaf0-eth2", *(f"leaf{n}-eth3" for n in range(1, 5))]
    assert found.text == lab.fabric.halted
    assert found.since_ps < found.found_ps


def test_watchdog_events_and_counters_are_in_the_report() -> None:
    watchdog = {"detect": "200us", "restore": "200us", "poll": "100us"}
    lab = lab_of("single-switch", storms=(storm("h3-eth0"),), watchdog=watchdog)
    incast(lab, (0,), 3, frames=10)
    report = report_of(lab)
    assert [(event.port, event.action, event.restored_ps) for event in report.storms] == [("leaf0-eth4", "drop", None)]
    assert report.ports["h3-eth0"][3].out_pfc == report.ports["leaf0-eth4"][3].in_pfc > 1
    assert report.ports["leaf0-eth4"][3].rx_pfc_duration_ps > 0


# --- invariants -------------------------------------------------------------------------------------------------------


def judged(lab: Lab) -> dict[str, bool]:
    nics: dict[str, dict[str, int]] = {}
    return {i.name: i.ok for i in invariants(lab.fabric, nics, (), (), (), (), 0) if i.name not in ("packets", "drops")}


def test_accounting_and_headroom_are_asserted_where_there_are_classes() -> None:
    lab = lab_of("single-switch")
    incast(lab, (1, 2, 3), 0)
    assert judged(lab)["accounting"]
    assert judged(lab)["headroom"]
    assert "accounting" not in judged(Lab(plan_of("single-switch")))


def test_a_count_that_is_off_is_named() -> None:
    lab = lab_of("single-switch")
    incast(lab, (1, 2, 3), 0, frames=10)
    lab.fabric.qos_switches()["leaf0"].qos_ports()[0].groups[3].used_bytes += 1
    assert not judged(lab)["accounting"]
    lab = lab_of("single-switch")
    incast(lab, (1, 2, 3), 0)
    assert lab.fabric.flow_control is not None
    lab.fabric.flow_control.receivers["h1-eth0"].xoff_frames[3] -= 1
    assert not judged(lab)["accounting"]


def test_too_little_headroom_of_the_users_is_no_broken_invariant_but_a_drop() -> None:
    lab = lab_of("single-switch", headroom="8KiB")
    incast(lab, (1, 2, 3), 0)
    assert {reason for _, reason, _ in lab.drops} == {"headroom_full"}
    assert "headroom" not in judged(lab)
    assert judged(lab)["accounting"]


def test_lost_pause_frames_excuse_a_full_headroom() -> None:
    lab = lab_of("single-switch")
    lab.fabric.transmitters["leaf0-eth2"].impair(Faults([DropNth("any", 1, 1000)]))
    incast(lab, (1, 2, 3), 0)
    assert ("leaf0-eth2", "headroom_full") in {(where, reason) for where, reason, _ in lab.drops}
    assert judged(lab)["headroom"]


def switching(lab: Lab, period_ps: int) -> None:
    """Let a policy give up the protection of leaf0-eth2, and take it up again, time after time."""

    def switch(lossless: bool) -> None:
        lab.fabric.switches["leaf0"].set_lossless("leaf0-eth2", 3, lossless)

    for number in range(100):
        lab.loop.at(number * period_ps, switch, number % 2 == 1)


def test_protection_given_up_and_taken_up_again_excuses_a_full_headroom() -> None:
    lab = lab_of("single-switch")
    switching(lab, 2_300_000)
    incast(lab, (1, 2, 3), 0)
    assert ("leaf0-eth2", "headroom_full") in {(where, reason) for where, reason, _ in lab.drops}
    assert judged(lab)["headroom"]


def test_a_full_headroom_that_nobody_switched_is_a_broken_invariant() -> None:
    lab = lab_of("single-switch")
    group = lab.fabric.qos_switches()["leaf0"].qos_ports()[1].groups[3]
    group.headroom_bytes -= 2 * WIRE
    incast(lab, (1, 2, 3), 0)
    assert not judged(lab)["headroom"]
