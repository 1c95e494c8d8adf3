"""Hosts with Soft-RoCE: their interfaces in the machine's namespace, UDP to port 4791 across the fabric, nothing left.

In place of the machine's own network namespace the tests use one of their own, and in place of rxe a program ``rdma``
that only notes what it is asked for and a socket bound to the interface, as rxe's routes are.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.runs import ROOT, plain_environment, rocelab, skip_without_lab, write

SCENARIO = {
    "title": "Two hosts with Soft-RoCE, and two without",
    "fabric": {
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2},
        "host": {"kind": "soft-roce", "hosts": ["h0", "h3"]},
    },
    "transport": {"mtu": 1024},
    "workload": [{"kind": "all-reduce", "size": "64KiB"}],
}

SEND = """
import socket
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"h0-eth0")
for port in (4791, 9):
    line.sendto(bytes(64), ("10.1.0.2", port))
"""

RECEIVED = "/sys/class/net/h3-eth0/statistics/rx_packets"
AFTER = "echo left: $(ip -brief link | cut -d' ' -f1) $(ip route) $(ip rule | grep -vc 'from all lookup')"
NOTHING_LEFT = "left: lo 0"


def in_a_namespace(folder: Path, script: str) -> "subprocess.CompletedProcess[str]":
    """Run lines of the shell in a network namespace that stands for the machine's; ``$live`` opens the fabric."""
    (folder / "bin").mkdir()
    (folder / "bin" / "rdma").write_text(f'#!/bin/sh\necho "$@" >>{folder}/asked\n')
    (folder / "bin" / "rdma").chmod(0o755)
    (folder / "send.py").write_text(SEND)
    (folder / "script").write_text(
        f"h1 ping -c 1 -W 20 h0\nh0 {sys.executable} {folder}/send.py\n"
        f"h3 for i in $(seq 100); do test $(cat {RECEIVED}) = 2 && break; sleep 0.1; done\n"
        f"h3 echo received: $(cat {RECEIVED})\n"
        "h3 echo mtu: $(cat /sys/class/net/h3-eth0/mtu)\n"
        f"h0 touch {folder}/reached; sleep $(cat {folder}/stay)\n"
    )
    (folder / "stay").write_text("0")
    live = f"{sys.executable} -m tests.lab.pretended_rxe live {write(folder, SCENARIO)} --rate-factor 5000"
    lines = f"mount -t sysfs none /sys; ip link set lo up; live='{live} --exec {folder}/script'; {script}"
    environment = plain_environment({"PATH": f"{folder}/bin:{os.environ['PATH']}"})
    return subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", lines],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root; that it says so is tested below")
def test_roce_crosses_the_fabric_and_nothing_is_left(tmp_path: Path) -> None:
    skip_without_lab()
    done = in_a_namespace(tmp_path, f"$live; {AFTER}")
    assert "1 received, 0% packet loss" in done.stdout, done.stdout + done.stderr
    assert "received: 2" in done.stdout.splitlines()  # by the fabric: between two addresses of one machine
    assert "mtu: 1500" in done.stdout.splitlines()
    assert (tmp_path / "asked").read_text().splitlines() == [
        "link add rxe_h0 type rxe netdev h0-eth0",
        "link add rxe_h3 type rxe netdev h3-eth0",
    ]
    assert done.stdout.splitlines()[-1] == NOTHING_LEFT


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root; that it says so is tested below")
def test_killed_it_leaves_nothing_either(tmp_path: Path) -> None:
    skip_without_lab()
    done = in_a_namespace(
        tmp_path,
        f"echo 100 >{tmp_path}/stay; $live & until test -e {tmp_path}/reached; do sleep 0.2; done; "
        f"ip -brief link; kill -9 $!; until ! ip link show h0-eth0; do sleep 0.1; done 2>/dev/null >&2; {AFTER}",
    )
    assert "h0-eth0" in done.stdout
    assert done.stdout.splitlines()[-1] == NOTHING_LEFT, done.stdout + done.stderr


def test_it_says_what_it_needs(tmp_path: Path) -> None:
    """Of root, another network namespace than the machine's; of an ordinary user, root."""
    skip_without_lab()
    if os.geteuid() != 0:
        done = rocelab("live", write(tmp_path, SCENARIO))
        assert (done.returncode, "hosts with Soft-RoCE need root" in done.stderr) == (3, True)
    else:
        other = ["unshare", "--net", sys.executable, "-m", "testbed", "live", str(write(tmp_path, SCENARIO))]
        run = subprocess.run(other, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        assert (run.returncode, "need the machine's own network namespace" in run.stderr) == (3, True)
