"""Open vSwitch's kernel datapath: a run's results are those of the userspace datapath, bit for bit.

Where the kernel has no module openvswitch, the tests look at what is said of that instead.
"""

from pathlib import Path
from typing import Any

import pytest

from testbed.outside.kernel_datapath import kernel_datapath_check
from tests.lab.conftest import LOSSY
from tests.lab.runs import LEAF_SPINE, Run, good, rocelab, run, skip_without_lab, write

CHECK = kernel_datapath_check()

DROPPED_BY_RULES: dict[str, Any] = {
    "title": "Frames that no rule takes: each is proved to be dropped",
    "fabric": {"topology": LEAF_SPINE},
    "transport": {"timeout": 1, "retry_count": 1},
    "workload": [{"kind": "flows", "flows": [{"source": "h0", "destination": "h3", "size": "16KiB"}]}],
}
NO_RULES = '''"""An application that installs nothing, so that every frame meets an empty table."""

from ryu.base.app_manager import RyuApp


class NoRules(RyuApp):
    """It does not even listen."""
'''

MARKED_BY_RULES: dict[str, Any] = {
    "title": "A policy whose rules mark: set_field on the ECN bits",
    "fabric": {"topology": {"kind": "dumbbell", "left": 3, "right": 2}, "qos": {}},
    "controller": {
        "policy": {"kind": "openflow-ecn", "high": "50KB", "low": "10KB"},
        "interval": "10us",
        "latency": "2us",
    },
    "workload": [
        {"kind": "flows", "flows": [{"source": f"h{n}", "destination": "h3", "size": "512KiB"} for n in range(3)]}
    ],
    "expect": {"control.openflow_marked_packets": {"at_least": 10}},
}


def both(folder: Path, scenario: dict[str, Any]) -> tuple[Run, Run] | None:
    """Run `scenario` on either datapath; None, once the error is looked at, where the kernel has none."""
    skip_without_lab()
    folders = [folder / name for name in ("kernel", "user")]
    for each in folders:
        each.mkdir()
    kernel = run(folders[0], scenario, "--datapath", "kernel")
    if not CHECK.ok:
        says_what_is_missing(kernel.status, kernel.errors)
        return None
    return kernel, run(folders[1], scenario)


def says_what_is_missing(status: int, errors: str) -> None:
    assert status == 3
    assert errors.startswith("rocelab: --datapath kernel: ")
    assert "generic netlink family ovs_datapath: No such file or directory" in errors
    assert f"\n  {CHECK.remedy}\n" in errors
    assert "modprobe openvswitch" in CHECK.remedy


@pytest.mark.parametrize("scenario", [LOSSY, MARKED_BY_RULES], ids=["losses and hashed paths", "marks by rules"])
def test_results_are_those_of_the_userspace_datapath(tmp_path: Path, scenario: dict[str, Any]) -> None:
    runs = both(tmp_path, scenario)
    if runs is not None:
        kernel, user = map(good, runs)
        assert kernel.text_before_wall == user.text_before_wall
        assert (kernel.summary["wall"]["datapath"], user.summary["wall"]["datapath"]) == ("kernel", "user")


def test_drops_are_proved_there_too(tmp_path: Path) -> None:
    app = tmp_path / "no_rules.py"
    app.write_text(NO_RULES)
    runs = both(tmp_path, {**DROPPED_BY_RULES, "controller": {"app": str(app)}})
    if runs is not None:
        kernel, user = runs
        assert kernel.text_before_wall == user.text_before_wall
        assert kernel.summary["wall"]["fences"] >= 2
        assert kernel.summary["drops"]["by_reason"]["openflow"] == kernel.summary["drops"]["total"] > 0


def test_a_live_fabric(tmp_path: Path) -> None:
    skip_without_lab()
    script = tmp_path / "script"
    script.write_text("h0 ping -c 1 h3\n")
    file = write(tmp_path, LOSSY)
    done = rocelab("live", file, "--datapath", "kernel", "--exec", script, "--rate-factor", "5000")
    if not CHECK.ok:
        says_what_is_missing(done.returncode, done.stderr)
    else:
        assert (done.returncode, "1 received" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_doctor_tells_whether_it_is_there() -> None:
    found = rocelab("doctor").stdout
    assert f"{'ok' if CHECK.ok else 'optional'}  " in next(
        line for line in found.splitlines() if "  kernel datapath " in line
    )
