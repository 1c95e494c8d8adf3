"""Mininet builds the fabric: hosts in namespaces of their own, Open vSwitch switches, and links that the engine holds.

A usual Mininet link is a veth pair. Ours has a TAP device at each end (`tap`): what one end transmits, the engine reads
from a file, models, and writes into the file of the other end. So rate, delay, queues and loss are the engine's, and
the switches and hosts are real.

Mininet configures one thing at a time through each node's shell; here all interfaces of a namespace are configured in
one ``ip -batch``, which makes a fabric of 128 hosts start in seconds.
"""

import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mininet.link import Intf, Link
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Controller, Host, OVSSwitch

from testbed.errors import TestbedError
from testbed.fabric.plan import FabricPlan, Nic, Switch
from testbed.outside import openvswitch
from testbed.outside.ovs_forwarder import OUTSTANDING_LIMIT
from testbed.outside.tap import open_tap, raise_file_limit

CONTROLLER_ADDRESS = "127.0.0.1"
CONTROLLER_PORT = 6653
INTERFACE_MTU = 9000
"""Of every interface: a 4096-byte RoCE packet and all its headers fit, as jumbo frames do in the field."""

_PORT_GROUP = 4791
"""The interface group of all switch ports, by which they are removed at once."""

_SPARE = 100
"""Room in a TAP's queue for fences and what a controller sends; files beside those counted."""

_FILES_A_NODE = 4
"""Files that Mininet holds for a node: both ends of its shell's terminal, and what a command of it takes."""

_PROTOCOLS = "OpenFlow10,OpenFlow13,OpenFlow14,OpenFlow15"

_ROUTER_PREFIX = {4: "32", 6: "128"}


class TapInterface(Intf):
    """An interface that Mininet leaves alone: `Network` configures all of them at once."""

    def config(self, **_params: Any) -> dict[str, Any]:
        return {}


class TapLink(Link):
    """A link whose two ends are TAP devices; their files go into `taps` under the interfaces' names."""

    def __init__(self, node1: Any, node2: Any, *, taps: dict[str, int], **params: Any) -> None:
        self._taps = taps
        super().__init__(node1, node2, **{**params, "intf": TapInterface})

    def makeIntfPair(self, intfname1: str, intfname2: str, *_addresses_and_nodes: Any, **_options: Any) -> None:  # noqa: N802 - Mininet's names
        for name in (intfname1, intfname2):
            self._taps[name] = open_tap(name)


class FabricSwitch(OVSSwitch):
    """Mininet's Open vSwitch switch, without its questions whether Open vSwitch is there and is from before 2013."""

    @classmethod
    def setup(cls) -> None:
        pass

    @classmethod
    def batchStartup(cls, switches: Sequence["FabricSwitch"], **_options: Any) -> Sequence["FabricSwitch"]:  # noqa: N802
        """Ask for all switches in one transaction (`OpenVSwitch.wait_for_switches` waits for them). Mininet's own would
        wait for ever when ovs-vswitchd is gone, and say nothing when it is refused."""
        openvswitch.vsctl(*(word for switch in switches for line in switch.commands for word in shlex.split(line)))
        return switches

    @classmethod
    def isOldOVS(cls) -> bool:  # noqa: N802 - Mininet's name
        return False


class PlannedController(Controller):
    """Where the switches find the controller, which the testbed starts and watches itself."""

    def checkListening(self) -> None:  # noqa: N802 - Mininet's name
        pass

    def start(self) -> None:
        pass

    def stop(self, *_args: Any, **_kwargs: Any) -> None:
        pass


class Network:
    """The emulated fabric of a plan.

    `taps` maps an interface's name (``leaf0-eth1``, ``h3-eth0``) to the engine's file of it.
    """

    def __init__(self, plan: FabricPlan, *, datapath: str = "user") -> None:
        self.plan = plan
        self.taps: dict[str, int] = {}
        setLogLevel("critical")
        # Mininet's own initialisation raises kernel limits of the whole machine; a run leaves the machine as it is.
        Mininet.inited = True
        self.mininet = Mininet(topo=None, build=False, controller=None, link=TapLink, switch=FabricSwitch, host=Host)
        self._datapath = datapath

    def start(self) -> None:
        """Build hosts, switches and links, configure their interfaces and start the switches."""
        nodes = len(self.plan.hosts) + len(self.plan.switches)
        raise_file_limit(2 * len(self.plan.links) + _FILES_A_NODE * nodes + _SPARE)
        net = self.mininet
        net.addController("controller", PlannedController, ip=CONTROLLER_ADDRESS, port=CONTROLLER_PORT)
        for host in self.plan.hosts:
            net.addHost(host.name)
        for switch in self.plan.switches:
            net.addSwitch(
                switch.name, dpid=f"{switch.dpid:016x}", datapath=self._datapath, protocols=_PROTOCOLS,
                failMode="secure", batch=True,
            )  # fmt: skip
        for link in self.plan.links:
            net.addLink(
                link.a.node, link.b.node, port1=link.a.number, port2=link.b.number,
                intfName1=link.a.name, intfName2=link.b.name, taps=self.taps,
            )  # fmt: skip
        self._configure_interfaces()
        net.built = True
        net.start()

    def _configure_interfaces(self) -> None:
        moves = [f"link set {nic.name} netns {self.pid(host.name)}" for host in self.plan.hosts for nic in host.nics]
        ups = [
            f"link set {port.name} mtu {INTERFACE_MTU} group {_PORT_GROUP} txqueuelen {_queue_length(switch)} up"
            for switch in self.plan.switches
            for port in switch.ports
        ]
        _ip_batch([*ups, *moves], [])
        for host in self.plan.hosts:
            lines = ["link set lo up", *(line for nic in host.nics for line in self._nic_lines(nic))]
            _ip_batch(lines, ["mnexec", "-a", str(self.pid(host.name))])

    def _nic_lines(self, nic: Nic) -> list[str]:
        """MAC address, MTU and the address of the version that RoCE uses here."""
        address, version = (nic.ipv6, 6) if self.plan.ip_version == 6 else (nic.ipv4, 4)
        return [
            f"link set {nic.name} address {nic.mac} mtu {INTERFACE_MTU} up",
            f"addr add {address}/{_ROUTER_PREFIX[version]} dev {nic.name}",
        ]

    def pid(self, host: str) -> int:
        """Return the process that holds the namespace of `host`."""
        return int(self.mininet[host].pid)

    def close(self) -> None:
        """Remove the interfaces and close their files; namespaces and bridges end with the sandbox.

        All at once, since each removal by itself makes the kernel wait: of 400 interfaces, for some ten seconds. What
        fails here is left to the end of the sandbox, which removes everything.
        """
        for node in self.mininet.hosts:
            with suppress(ProcessLookupError):
                os.kill(node.pid, signal.SIGKILL)
        with suppress(TestbedError):
            _ip_batch([f"link delete group {_PORT_GROUP}"], [])
        for file in self.taps.values():
            os.close(file)
        self.taps.clear()


def _queue_length(switch: Switch) -> int:
    """Return how many frames the TAP of a port must hold: all that can be outstanding in its switch, if they leave by
    one port."""
    return max(1000, OUTSTANDING_LIMIT * len(switch.ports) + _SPARE)


def _ip_batch(lines: list[str], prefix: list[str]) -> None:
    done = subprocess.run([*prefix, "ip", "-batch", "-"], input="\n".join(lines), capture_output=True, text=True)
    if done.returncode != 0:
        raise TestbedError(f"{' '.join([*prefix, 'ip -batch'])}: {done.stderr.strip()}")
