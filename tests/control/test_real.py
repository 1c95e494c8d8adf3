"""The control loop over real switches: reactive applications and policies, twice the same, on both flavours of Ryu."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.controllers.lab import FLAVOURS, ROOT, skip_without

LEARNING_SWITCH = "tests/control/apps/learning_switch_13.py"
SINGLE = {"kind": "single-switch", "hosts": 3}
TREE = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2}


def run(folder: Path, name: str, flavour: str, **scenario: Any) -> dict[str, Any]:
    """Run a scenario in a process of its own; return its summary without what differs from run to run."""
    skip_without(flavour)
    file, out = folder / f"{name}.yaml", folder / name
    file.write_text(json.dumps({"title": name, **scenario}))
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    environment = {**os.environ, "ROCELAB_RYU": flavour, "PYTHONPATH": str(ROOT), "PATH": path}
    done = subprocess.run(
        [sys.executable, "-m", "testbed", "run", str(file), "--out", str(out), "--quiet"],
        env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((out / "summary.json").read_text())
    for key in ("wall", "title", "scenario"):
        del summary[key]
    del summary["versions"]["controller"]
    return summary


def learning(topology: dict[str, Any]) -> dict[str, Any]:
    return {
        "fabric": {"topology": topology, "addressing": "bridged"},
        "controller": {"app": LEARNING_SWITCH, "latency": "20us"},
        "workload": [{"kind": "all-reduce", "size": "60KiB"}],
        "measure": {"openflow_log": True},
        "expect": {"collectives.0.verified": True, "drops.total": 0},
    }


@pytest.mark.parametrize("topology", [SINGLE, TREE], ids=["one switch", "a tree"])
def test_a_learning_switch_gives_the_same_in_every_run_and_on_both_flavours(
    topology: dict[str, Any], tmp_path: Path
) -> None:
    flavours = [*FLAVOURS, "os-ken"]
    runs = [run(tmp_path, f"run{number}", flavour, **learning(topology)) for number, flavour in enumerate(flavours)]
    assert runs[0] == runs[1] == runs[2]
    ovs = runs[0]["ovs"]
    assert ovs["packet_ins"] == ovs["packet_outs"] > 0
    assert ovs["flow_mods"] > len(topology)
    logs = [(tmp_path / f"run{number}" / "openflow.log").read_text() for number in range(3)]
    assert logs[0] == logs[1] == logs[2]
    assert logs[0].count("OFPPacketIn(") == ovs["packet_ins"]
    first = next(line for line in logs[0].splitlines() if "OFPPacketIn" in line)
    assert first.startswith("21.63552us     leaf0    >  OFPPacketIn(in_port=1, 4170 B")  # 335.52 + 500 + 800 ns, 20 us


def test_an_application_with_many_habits_gives_the_same_in_every_run(tmp_path: Path) -> None:
    """Deleted flows, timeouts, packets through the table and statistics at wall times: none of it shows."""
    scenario = learning(SINGLE)
    scenario["controller"]["app"] = "tests/control/apps/busy_learning_switch.py"
    first, second = (run(tmp_path, name, "os-ken", **scenario) for name in ("first", "second"))
    assert first == second
    assert first["ovs"]["packet_ins"] == first["control"]["punted_frames"] > 0


def test_frames_that_come_up_twice_give_the_same_in_every_run_and_on_both_flavours(tmp_path: Path) -> None:
    """Open vSwitch sends the second packet-in behind the answer to the barrier that follows the packet-out."""
    scenario = {
        "fabric": {"topology": {"kind": "dumbbell", "left": 1, "right": 1}, "addressing": "bridged"},
        "controller": {"app": "tests/control/apps/through_the_table.py", "latency": "10us"},
        "workload": [{"kind": "flows", "flows": [{"source": "h0", "destination": "h1", "size": "64KiB"}]}],
        "expect": {"drops.total": 0},
    }
    flavours = [*FLAVOURS, "os-ken"]
    runs = [run(tmp_path, f"run{number}", flavour, **scenario) for number, flavour in enumerate(flavours)]
    assert runs[0] == runs[1] == runs[2]
    ovs = runs[0]["ovs"]
    assert ovs["packet_ins"] == runs[0]["control"]["punted_frames"] == 2 * ovs["frames_in"] > 0


def test_an_application_that_speaks_out_of_turn_fails_the_invariant(tmp_path: Path) -> None:
    scenario = learning(SINGLE)
    scenario["controller"]["app"] = "tests/control/apps/speaks_out_of_turn.py"
    with pytest.raises(AssertionError, match="messages that an application sent to switches by a clock of its own"):
        run(tmp_path, "run", "os-ken", **scenario)


def incast(policy: str, **options: Any) -> dict[str, Any]:
    flows = [
        {"source": f"h{number}", "destination": "h5", "size": "512KiB", "start": f"{3 * number}us"}
        for number in (0, 1, 2, 3, 4)
    ]
    return {
        "fabric": {
            "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 3},
            "switch": {"buffer": "4MiB"},
            "qos": {"pfc": {}},
        },
        "controller": {"policy": {"kind": policy, **options}, "interval": "10us", "latency": "3us"},
        "transport": {"congestion": {"kind": "dcqcn"}},
        "workload": [{"kind": "flows", "flows": flows}],
        "expect": {"drops.total": 0, "control.actions": {"at_least": 1}},
    }


POLICIES: dict[str, dict[str, Any]] = {
    "adaptive-ecn": {},
    "openflow-ecn": {"high": "100KB"},
    "openflow-pause": {"xoff": "200KB"},
    "reroute": {"hot": 0.8, "gap": 0.2},
}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_gives_the_same_in_every_run(policy: str, tmp_path: Path) -> None:
    scenario = incast(policy, **POLICIES[policy])
    if policy == "reroute":
        del scenario["expect"]
    first, second = (run(tmp_path, name, "os-ken", **scenario) for name in ("first", "second"))
    assert first == second
    done = first["control"]
    assert done["actions"] > 0
    if policy == "openflow-ecn":
        seen = sum(nic["np_ecn_marked_roce_packets"] for nic in first["nic"].values())
        assert done["openflow_marked_packets"] == seen > 0
    if policy == "openflow-pause":
        assert first["ovs"]["packet_outs"] == done["actions"]
