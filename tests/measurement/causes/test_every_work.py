"""Whatever runs, with whatever goes wrong, the parts of each stall add up to it (`Explained` asserts that), and hardly
anything is left without a cause."""

from typing import Any

import pytest

from testbed.measurement.causes import model
from tests.measurement.causes.kit import Explained, flow, star
from traffic.collectives.algorithms import algorithms

HOSTS = 4
FABRIC = {
    "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "link": {"rate": "100Gbps", "delay": "500ns"},
}
INCAST = {"kind": "flows", "flows": [flow("h1", "h0", "512KiB", "5us"), flow("h3", "h0", "512KiB", "5us")]}
LOSS = [{"kind": "loss", "port": "leaf0-eth3", "frames": "any", "probability": 0.01}]

TROUBLES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "loss": {"faults": LOSS, "transport": {"timeout": 6}},
    "split": {"transport": {"qps_per_connection": 3, "timeout": 6}, "faults": LOSS},
    "dcqcn": {
        "fabric": {**FABRIC, "qos": {"pfc": {}, "ecn": {3: {"kmin": "10KB", "kmax": "40KB", "pmax": 1.0}}}},
        "transport": {"traffic_class": 106, "congestion": {"kind": "dcqcn"}},
    },
    "credits": {"fabric": {**FABRIC, "qos": {"credits": {}}, "switch": {"buffer": "1MiB"}}},
}


def work_of(name: str) -> dict[str, Any]:
    kind, algorithm = name.split("/")
    return {"kind": kind, "algorithm": algorithm, "size": "512KiB"}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", algorithms.names())
def test_parts_add_up(name: str, trouble: str) -> None:
    spread = {"spread": "split"} if trouble == "split" else {}
    scenario = {"fabric": FABRIC, **TROUBLES[trouble], "workload": [{**work_of(name), **spread}, INCAST]}
    run = Explained(**scenario)
    stalls = [stall for stall in run.explanation.stalls if stall.collective is not None]
    assert len(stalls) == HOSTS
    assert sum(stall.stall_ps for stall in stalls) > 0


@pytest.mark.parametrize(
    "changes",
    [
        {"iterations": 3, "compute": "20us"},
        {"iterations": 4, "straggler": {"rank": "h2", "compute": "50us", "iteration": 1}},
        {"admission": {"outstanding": 1}},
        {"chunk": "16KiB"},
    ],
    ids=lambda changes: " ".join(changes),
)
@pytest.mark.parametrize("kind", ["all-reduce", "all-to-all", "broadcast"])
def test_parts_add_up_for_every_option(kind: str, changes: dict[str, Any]) -> None:
    run = Explained(
        fabric=star(HOSTS),
        transport={"timeout": 6},
        workload=[{"kind": kind, "size": "256KiB", **changes}, INCAST],
        faults=[{"kind": "drop", "port": "h0-eth0", "frames": "data", "nth": 30}],
    )
    assert any(stall.stall_ps for stall in run.explanation.stalls)


def test_parts_add_up_beside_computing() -> None:
    """With buckets, communication overlaps with computing, and only what is exposed is waited for."""
    run = Explained(
        fabric=star(HOSTS),
        workload=[{"kind": "all-reduce", "size": "256KiB", "iterations": 3, "compute": "20us", "buckets": 4}, INCAST],
    )
    assert any(stall.stall_ps for stall in run.explanation.stalls)


def test_ranks_that_share_a_host() -> None:
    run = Explained(
        fabric=star(2, nvlink={}),
        workload=[{"kind": "all-reduce", "size": "1MiB", "ranks": {"count": 4, "per_host": 2}}],
        faults=[{"kind": "drop", "port": "h0-eth0", "frames": "data", "nth": 10}],
    )
    assert {stall.rank for stall in run.explanation.stalls} >= {"h0.0", "h1.1"}
    assert next(iter(run.costs())).kind == model.LOST_PACKET
