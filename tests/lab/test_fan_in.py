"""Many ports into one: more frames outstanding in a switch than a TAP holds by default, and none may be lost there.

A frame that the testbed loses would look like one that Open vSwitch dropped, and how many are lost would depend on the
machine. The switch's long latency is what lets so many be outstanding.
"""

import json
from pathlib import Path

from tests.lab.conftest import Start

HOSTS = 130
SCENARIO = f"""
title: Everybody to one
fabric:
  topology: {{kind: single-switch, hosts: {HOSTS}}}
  switch: {{latency: 5us}}
transport: {{mtu: 512}}
workload:
  - kind: flows
    verify: false
    flows: [{", ".join(f"{{source: h{source}, destination: h0, size: 8KiB}}" for source in range(1, HOSTS))}]
expect: {{drops.total: 0, retransmitted_packets: 0}}
"""


def test_no_frame_is_lost_in_the_testbed_when_all_send_to_one(start: Start, root: Path) -> None:
    (root / "tmp/fan-in.yaml").write_text(SCENARIO)
    run = start("run", "/tmp/fan-in.yaml", "--out", "/tmp/run", "--quiet")
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    summary = json.loads((root / "tmp/run/summary.json").read_text())
    assert summary["ports"]["leaf0-eth1"]["data_packets"] == 16 * (HOSTS - 1)
