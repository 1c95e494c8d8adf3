"""Other fabrics on the real thing: each verifies, and takes what theory or the modelled switches say."""

from typing import Any

import pytest

from testbed.engine.faults import impair
from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions, Scenario
from tests.lab.closed_form import Transport, ring_time_ps
from tests.lab.edges import ring_edges
from tests.lab.runs import Run, good, run, skip_without_lab
from tests.traffic.collectives.kit import Bench


@pytest.fixture
def carry_out(tmp_path_factory: pytest.TempPathFactory) -> Any:
    skip_without_lab()

    def start(scenario: dict[str, Any]) -> Run:
        return good(run(tmp_path_factory.mktemp("topology"), scenario))

    return start


def test_fat_tree(carry_out: Any) -> None:
    """Three tiers, 20 switches; each edge switch has one flow of the ring out and one in: none is in another's way."""
    fabric = {"topology": {"kind": "fat-tree", "k": 4}, "link": {"rate": "400Gbps"}}
    done = carry_out({"title": "x", "fabric": fabric, "workload": [{"kind": "all-reduce", "size": "512KiB"}]})
    (result,) = done.summary["collectives"]
    assert (result["ranks"], result["verified"]) == (16, True)
    edges = ring_edges(build_plan(FabricOptions.model_validate(fabric)))
    assert {len(edge.links) for edge in edges} == {2, 4, 6}
    assert result["time_ps"] == pytest.approx(ring_time_ps(edges, result["size_bytes"], Transport()), rel=0.01)
    assert done.summary["drops"]["total"] == 0


def test_two_nics_a_host(carry_out: Any) -> None:
    """A rank uses its host's first NIC; the second is there, has its routes, and is silent."""
    fabric = {"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 1}, "nics_per_host": 2}
    done = carry_out({"title": "x", "fabric": fabric, "workload": [{"kind": "all-reduce", "size": "64KiB"}]})
    assert done.summary["collectives"][0]["verified"]
    sent = {name: counters["tx_vport_rdma_unicast_packets"] for name, counters in done.summary["nic"].items()}
    assert set(sent) == {"h0-eth0", "h0-eth1", "h1-eth0", "h1-eth1"}
    assert {name for name, packets in sent.items() if packets} == {"h0-eth0", "h1-eth0"}


FAULTY: dict[str, Any] = {
    "title": "Two flows and a ring overload the slow core of a dumbbell, which loses frames and is down for a while",
    "seed": 11,
    "fabric": {
        "topology": {"kind": "dumbbell", "left": 2, "right": 2, "core": {"rate": "25Gbps", "delay": "2us"}},
        "switch": {"buffer": "64KiB"},
    },
    "transport": {"mtu": 1024, "timeout": 4},
    "workload": [
        {"kind": "flows", "flows": [{"source": f"h{n}", "destination": f"h{n + 2}", "size": "256KiB"} for n in (0, 1)]},
        {"kind": "all-reduce", "size": "64KiB"},
    ],
    "faults": [
        {"kind": "loss", "port": "left0-eth3", "probability": 0.01, "frames": "any"},
        {"kind": "corrupt", "port": "right0-eth3", "probability": 0.05, "frames": "any"},
        {"kind": "link-down", "link": "left0-right0", "at": "100us", "until": "150us"},
    ],
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Run:
    skip_without_lab()
    return good(run(tmp_path_factory.mktemp("dumbbell"), FAULTY))


def test_a_dumbbell_that_is_down_for_a_while_recovers_by_timeout(faulty: Run) -> None:
    drops = faulty.summary["drops"]["by_reason"]
    assert all(drops[reason] > 0 for reason in ("fault", "icrc", "link_down", "shared_full"))
    assert sum(counters["local_ack_timeout_err"] for counters in faulty.summary["nic"].values()) > 0
    assert faulty.summary["failure"] is None
    assert [item["verified"] for item in (*faulty.summary["flows"], *faulty.summary["collectives"])] == [True] * 3


def test_with_all_faults_real_and_modelled_switches_give_the_same_to_the_picosecond(faulty: Run) -> None:
    checked = Scenario.model_validate(FAULTY)
    model = Bench(FAULTY["fabric"], *checked.workload, seed=checked.seed, **FAULTY["transport"])
    impair(model.plan, model.fabric.transmitters, checked.faults, checked.seed)
    model.run()
    results = [job.result() for job in model.jobs]
    assert [flow["end_ps"] for flow in faulty.summary["flows"]] == [result.end_ps for result in results[:2]]
    assert faulty.summary["collectives"][0]["end_ps"] == results[2].end_ps
    assert faulty.summary["nic"] == {name: dict(nic.statistics()) for name, nic in model.nics.items()}
    reasons = model.fabric.drops_by_reason()
    assert {name: faulty.summary["drops"]["by_reason"][name] for name in reasons} == reasons
