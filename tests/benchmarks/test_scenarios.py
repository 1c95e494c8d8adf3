"""The benchmarks' scenarios pass the checker, with whatever the benchmarks set in them, and hold what they claim."""

from pathlib import Path

import pytest

from benchmarks import congested, growth, lossless, peers, reference
from testbed.cli.main import main
from testbed.fabric.build import build_plan
from testbed.scenario.collectives import AllReduce
from testbed.scenario.load import load_scenario
from testbed.scenario.model import Flows
from traffic.collectives.flow_patterns import flows_of

ROOT = Path(__file__).parents[2]
WORKLOADS = (peers.W1_RING, peers.W1_FLAT, peers.W4_FLAT)
CONGESTED = (congested.W2, congested.W3)
SETTINGS: dict[str, list[tuple[str, ...]]] = {
    reference.SCENARIO: [(), reference.QUICK, *lossless.STEPS.values()],
    growth.SCENARIO: [growth.size_of(hosts, 100_000).settings for hosts in growth.HOSTS],
    **{work.scenario: [(), work.quick, ("transport.ack_every=1",)] for work in WORKLOADS},
    **{work.scenario: [work.quick, *(each.settings for each in work.variants)] for work in CONGESTED},
}


def test_every_scenario_here_is_used() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").glob("*.yaml")}
    assert files == set(SETTINGS) - {reference.SCENARIO}


@pytest.mark.parametrize(("scenario", "settings"), [(name, one) for name, all_ in SETTINGS.items() for one in all_])
def test_scenarios_pass_the_checker(scenario: str, settings: tuple[str, ...]) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    with pytest.raises(SystemExit) as end:
        main(["check", str(ROOT / scenario), *options])
    assert end.value.code == 0


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_the_work_is_the_peers_work(workload: peers.Workload) -> None:
    """Packets of 4,096 B: of a flow, of all flows; a ring of n ranks has 2 (n - 1) steps with one part a rank."""
    scenario = load_scenario(ROOT / workload.scenario)
    hosts = len(build_plan(scenario.fabric).hosts)
    (work,) = scenario.workload
    if isinstance(work, AllReduce):
        steps, part = 2 * (hosts - 1), work.size // hosts
    else:
        assert isinstance(work, Flows)
        assert work.size is not None
        steps, part = 1, work.size
    assert (workload.steps, workload.packets_a_flow) == (steps, part // 4096)
    assert workload.packets == hosts * steps * part // 4096


@pytest.mark.parametrize("workload", CONGESTED, ids=lambda workload: workload.name)
def test_the_congested_work_is_the_peers_work(workload: congested.Workload) -> None:
    """Packets of 4,096 B; two links between hosts of one switch, four across a spine."""
    scenario = load_scenario(ROOT / workload.scenario)
    plan = build_plan(scenario.fabric)
    (work,) = scenario.workload
    assert isinstance(work, Flows)
    leaf_of = {host.name: plan.far_end(host.nics[0].name).node for host in plan.hosts}
    flows = [(flow.size // 4096, leaf_of[flow.source] == leaf_of[flow.destination]) for flow in flows_of(work, plan)]
    assert workload.packets == sum(packets for packets, _ in flows)
    assert workload.hops == sum(packets * (2 if same_leaf else 4) for packets, same_leaf in flows)


@pytest.mark.parametrize("hosts", growth.HOSTS)
def test_growth_changes_nothing_but_the_fabric(hosts: int) -> None:
    size = growth.size_of(hosts, 100_000)
    scenario = load_scenario(ROOT / growth.SCENARIO, size.settings)
    (work,) = scenario.workload
    assert isinstance(work, AllReduce)
    assert len(build_plan(scenario.fabric).hosts) == hosts
    assert work.size // hosts == 32 * 1024
    hops = work.iterations * 2.5 * 2 * (hosts - 1) * hosts * 8
    assert hops > 70_000
