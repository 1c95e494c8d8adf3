"""A fabric of real Open vSwitch switches without hosts, in a sandbox, for tests of a controller.

The bridges are connected by patch ports as the plan's links say, and one more bridge, `hosts`, stands for all NICs. So
`ofproto/trace` follows a packet through the whole fabric: which switches it crossed, and what they wrote into it.

    python -m tests.controllers.lab TASK '{"argument": value}'      runs one task in a sandbox, prints JSON
"""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controllers.channel import Counts
from testbed.errors import RocelabError
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan, Nic
from testbed.outside.controller import ControllerProcess
from testbed.outside.openvswitch import RUN_DIRECTORY, OpenVSwitch, install_fence, ofctl
from testbed.outside.sandbox import run_in_sandbox
from testbed.scenario.model import FabricOptions

ROOT = Path(__file__).parents[2]
HOSTS = "hosts"
FIRST_SOURCE_PORT = 49152
FLAVOURS = {"ryu": "ryu", "os-ken": "os_ken"}
UNKNOWN_FRAME = bytes.fromhex("ffffffffffff02000000000988b6") + bytes(46)
LEAF_SPINE: dict[str, Any] = {"kind": "leaf-spine", "leaves": 2, "spines": 4, "hosts_per_leaf": 2}
FAT_TREE: dict[str, Any] = {"kind": "fat-tree", "k": 4}


def skip_without(flavour: str, *, switches: bool = True) -> None:
    """Skip a test, with the reason, on a machine that lacks what it needs."""
    if importlib.util.find_spec(FLAVOURS[flavour]) is None:
        pytest.skip(f"{flavour} is not installed")
    lacking = _missing_for_switches() if switches else None
    if lacking:
        pytest.skip(lacking)


def _missing_for_switches() -> str | None:
    if shutil.which("ovs-vswitchd", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        return "Open vSwitch is not installed"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "/dev/net/tun is not usable"
    return None


def in_lab(task: Callable[..., Any], flavour: str, **arguments: Any) -> Any:
    """Run a task of this file in a sandbox of its own; return what it returns. Skips where something is lacking."""
    skip_without(flavour)
    command = [sys.executable, "-m", "tests.controllers.lab", task.__name__, json.dumps(arguments)]
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    environment = {**os.environ, "ROCELAB_RYU": flavour, "PYTHONPATH": str(ROOT), "PATH": path}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- tasks -----------------------------------------------------------------------------------------------------------


def trace_flows(topology: dict[str, Any], ip: str, flows: int) -> dict[str, Any]:
    """Trace `flows` packets, which differ in their source port, from the first NIC to the last."""
    with _fabric("l3-ecmp", topology, ip) as (plan, controller):
        ready = controller.wait_ready(20)
        source, destination = plan.nics[0], plan.nics[-1]
        traces = [_trace(plan, source, destination, FIRST_SOURCE_PORT + number) for number in range(flows)]
        return {
            "paths": [re.findall(r'bridge\("(.*?)"\)', text)[:-1] for text in traces],
            "actions": [text.rsplit("Datapath actions: ", 1)[1].strip() for text in traces],
            "fences": sum(ofctl("dump-flows", switch.name).count("priority=65535") for switch in plan.switches),
            "ready": list(_as_tuple(ready.counts)),
            "status": list(_as_tuple(controller.status())),
            "flavour": controller.hello.flavour if controller.hello else None,
        }


def run_app(app: str, packet_in: bool = False, timeout_seconds: float = 20) -> dict[str, Any]:
    """Run an application on a single switch, then, if asked for, send it a packet that no flow matches."""
    with _fabric(app, {"kind": "single-switch", "hosts": 2}, "ipv4") as (plan, controller):
        try:
            controller.wait_ready(timeout_seconds)
            if packet_in:
                ofctl("packet-out", plan.switches[0].name, f"in_port=1,packet={UNKNOWN_FRAME.hex()},actions=TABLE")
                while controller.status().packet_outs == 0:  # a switch's packets go in and out again
                    pass
        except RocelabError as error:
            return {"error": f"{type(error).__name__}: {error}"}
        return {"status": list(_as_tuple(controller.status()))}


def _as_tuple(counts: Counts) -> tuple[int, int, int, int, int]:
    return counts.flow_mods, counts.group_mods, counts.packet_outs, counts.barriers, counts.packet_ins


# --- the fabric ------------------------------------------------------------------------------------------------------


@contextmanager
def _fabric(app: str, topology: dict[str, Any], ip: str) -> Iterator[tuple[FabricPlan, ControllerProcess]]:
    plan = build_plan(FabricOptions.model_validate({"topology": topology, "ip": ip}))
    controller = ControllerProcess(app, plan, Path("/run/controller"))
    controller.start()
    ovs = OpenVSwitch()
    ovs.start()
    subprocess.run(["ovs-vsctl", *_bridges(plan)], check=True)
    ofctl("add-flow", HOSTS, "actions=LOCAL")  # so that a trace shows what arrives
    for switch in plan.switches:
        install_fence(switch.name)
    try:
        yield plan, controller
    finally:
        controller.stop()
        ovs.stop()


def _bridges(plan: FabricPlan) -> list[str]:
    """Return ovs-vsctl's commands for all bridges, their patch ports, and then their controller."""
    names = [*(switch.name for switch in plan.switches), HOSTS]
    words: list[str] = []
    for name in names:
        words += f"-- add-br {name} -- set bridge {name} datapath_type=netdev fail_mode=secure".split()
        words += ["protocols=OpenFlow10,OpenFlow13,OpenFlow15"]
    for switch in plan.switches:
        words += f"-- set bridge {switch.name} other-config:datapath-id={switch.dpid:016x}".split()
    for port in plan.ports():
        bridge = port.node if port.node in names else HOSTS
        number = f"ofport_request={port.number}" if bridge != HOSTS else ""
        words += f"-- add-port {bridge} {port.name} -- set interface {port.name} type=patch".split()
        words += f"options:peer={plan.far_end(port.name).name} {number}".split()
    for switch in plan.switches:
        words += f"-- set-controller {switch.name} tcp:127.0.0.1:6653".split()
    return words


def _trace(plan: FabricPlan, source: Nic, destination: Nic, source_port: int) -> str:
    leaf, port = plan.leaf_of(source.name), plan.far_end(source.name).number
    if plan.ip_version == 4:
        fields = f"udp,nw_src={source.ipv4},nw_dst={destination.ipv4}"
    else:
        fields = f"udp6,ipv6_src={source.ipv6},ipv6_dst={destination.ipv6}"
    macs = f"dl_src={source.mac},dl_dst={leaf.mac}"
    packet = f"in_port={port},{macs},{fields},nw_ttl=64,udp_src={source_port},udp_dst=4791"
    return _ask_vswitchd("ofproto/trace", leaf.name, packet)


def _ask_vswitchd(method: str, *parameters: str) -> str:
    """Call a command of ovs-appctl's over its socket: JSON-RPC, some twenty times faster than the program."""
    (address,) = RUN_DIRECTORY.glob("ovs-vswitchd.*.ctl")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(address))
        line.sendall(json.dumps({"method": method, "params": parameters, "id": 0}).encode())
        answer = b""
        while True:
            answer += line.recv(65536)
            try:
                value = json.loads(answer)
            except json.JSONDecodeError:
                continue
            assert value["error"] is None, value["error"]
            return str(value["result"])


def _main() -> int:
    task, arguments = sys.argv[1:]

    def inside() -> int:
        print(json.dumps(globals()[task](**json.loads(arguments))))
        return 0

    return run_in_sandbox(inside)


if __name__ == "__main__":
    sys.exit(_main())
