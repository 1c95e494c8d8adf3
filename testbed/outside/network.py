"""Mininet builds the fabric: hosts in namespaces of their own, Open vSwitch switches, and links that the engine holds.

A usual Mininet link is a veth pair. Ours has a TAP device at each end (`tap`): what one end transmits, the engine reads
from a file, models, and writes into the file of the other end. So rate, delay, queues and loss are the engine's, and
the switches and hosts are real.

Mininet configures one thing at a time through each node's shell; here all interfaces of a namespace are configured in
one ``ip -batch``, which makes a fabric of 128 hosts start in seconds.
"""

import os
import select
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mininet.link import Intf, Link
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Controller, Host, OVSSwitch

from testbed.errors import TestbedError
from testbed.fabric.plan import FabricPlan, Nic, Switch
from testbed.fabric.plan import Host as PlannedHost
from testbed.outside import openvswitch
from testbed.outside.containers import Container, show_namespaces
from testbed.outside.ovs_forwarder import OUTSTANDING_LIMIT
from testbed.outside.sandbox import network_of
from testbed.outside.soft_roce import SoftRoce, device_name, interface_settings
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

_PROMPT = "\x7f"
"""What tells Mininet that a node's shell has finished a command."""

_AT_ONCE = {4: "", 6: " nodad"}
"""No address of a plan is there twice, so the kernel need not look for a second."""

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


class ContainerHost(Host):
    """A host whose shell runs in a container: `shell_file` is its terminal (`testbed.outside.containers`)."""

    def __init__(self, name: str, *, shell_file: int, **params: Any) -> None:
        self._shell_file = shell_file
        super().__init__(name, **params)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: ARG002, N802 - Mininet's signature
        """Use the shell that is there, as `Node.startShell` uses the one that it makes."""
        self.stdin = self.stdout = os.fdopen(self._shell_file, "r", closefd=False)
        self.shell = _Elsewhere()
        self.pid = self.shell.pid
        self.pollOut = select.poll()
        self.pollOut.register(self.stdout)
        self.outToNode[self._shell_file] = self.inToNode[self._shell_file] = self
        self.execed = False
        self.lastCmd = self.lastPid = None
        self.readbuf = ""
        said = ""
        while not said.endswith(_PROMPT):
            self.pollOut.poll()
            more = self.read(1024)
            if not more:
                raise TestbedError(f"host {self.name}: its container has no shell that runs; it said {said.strip()!r}")
            said += more
        self.waiting = False
        self.cmd("unset HISTFILE; stty -echo; set +m")

    def terminate(self) -> None:
        """The container ends with its run: there is nothing to end here."""


class MachineHost(Host):
    """A host whose shell is in the machine's own network namespace, of which `namespace` is the file."""

    def __init__(self, name: str, *, namespace: int, **params: Any) -> None:
        self._namespace = namespace
        super().__init__(name, inNamespace=False, **params)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 - Mininet's name
        """Start the shell there."""
        with network_of(self._namespace):
            super().startShell(mnopts)


class _Elsewhere:
    """Stands for a shell whose process is not to be seen from here."""

    pid = 0

    def poll(self) -> None:
        """It runs."""


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

    def __init__(
        self,
        plan: FabricPlan,
        *,
        datapath: str = "user",
        containers: Mapping[str, Container] | None = None,
        soft_roce: SoftRoce | None = None,
    ) -> None:
        self.plan = plan
        self.soft_roce = soft_roce
        self._containers = containers or {}
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
            container = self._containers.get(host.name)
            if container is not None:
                net.addHost(host.name, cls=ContainerHost, shell_file=container.shell)
            elif self.soft_roce is not None and self.has_soft_roce(host.name):
                net.addHost(host.name, cls=MachineHost, namespace=self.soft_roce.namespace)
            else:
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
        show_namespaces(self._containers)
        moves = [f"link set {nic.name} netns {self._place(host.name)}" for host in self.plan.hosts for nic in host.nics]
        ups = [
            f"link set {port.name} mtu {INTERFACE_MTU} group {_PORT_GROUP} txqueuelen {_queue_length(switch)} up"
            for switch in self.plan.switches
            for port in switch.ports
        ]
        _ip_batch([*ups, *moves], [])
        for host in self.plan.hosts:
            self._configure_host(host)
            for nic in host.nics:  # as Mininet would know them had it set them itself
                interface = self.mininet[host.name].intf(nic.name)
                interface.mac, interface.ip = nic.mac, nic.ipv6 if self.plan.ip_version == 6 else nic.ipv4
                interface.prefixLen = _ROUTER_PREFIX[self.plan.ip_version]

    def _configure_host(self, host: PlannedHost) -> None:
        lines = [line for nic in host.nics for line in self._nic_lines(nic)]
        if not self.has_soft_roce(host.name):
            self.configure(host.name, ["link set lo up", *lines])
            return
        self.set_kernel(host.name, interface_settings(host))
        self.configure(host.name, lines)
        for nic in host.nics:
            _run([*self._inside(host.name), "rdma", "link", "add", device_name(nic), "type", "rxe", "netdev", nic.name])

    def has_soft_roce(self, host: str) -> bool:
        """Return whether RDMA of `host` is its kernel's."""
        return self.soft_roce is not None and host in self.soft_roce.hosts

    def leave_no_queueing(self) -> None:
        """Take the queueing discipline of every switch port away: a frame that is sent out of it is in its TAP at once.

        Call when Open vSwitch has its ports: it sets them up with the kernel's default.
        """
        lines = [
            f"qdisc replace dev {port.name} root noqueue" for switch in self.plan.switches for port in switch.ports
        ]
        _batch("tc", lines, [])

    def configure(self, host: str, lines: list[str]) -> None:
        """Carry out `lines` of ``ip -batch`` in the namespace of `host`."""
        _ip_batch(lines, self._inside(host))

    def set_kernel(self, host: str, settings: Mapping[str, str]) -> None:
        """Set kernel parameters (``net/ipv4/tcp_ecn``) in the namespace of `host`."""
        script = "; ".join(f"echo {value} >/proc/sys/{name}" for name, value in settings.items())
        done = subprocess.run([*self._inside(host), "sh", "-e", "-c", script], capture_output=True, text=True)
        if done.returncode != 0:
            raise TestbedError(f"{host}: cannot set kernel parameters: {done.stderr.strip()}")

    def _nic_lines(self, nic: Nic) -> list[str]:
        """MAC address, MTU and the address of the version that RoCE uses here."""
        address, version = (nic.ipv6, 6) if self.plan.ip_version == 6 else (nic.ipv4, 4)
        return [
            f"link set {nic.name} address {nic.mac} mtu {self._mtu(nic.host)} up",
            f"addr add {address}/{_ROUTER_PREFIX[version]} dev {nic.name}{_AT_ONCE[version]}",
        ]

    def _mtu(self, host: str) -> int:
        return self.soft_roce.mtu if self.soft_roce is not None and self.has_soft_roce(host) else INTERFACE_MTU

    def _place(self, host: str) -> str:
        """Return what ``ip`` calls the namespace of `host`."""
        return host if host in self._containers else str(self.pid(host))

    def _inside(self, host: str) -> list[str]:
        """Return the command that carries out another one in the network namespace of `host`."""
        if host in self._containers:
            return ["nsenter", f"--net=/run/netns/{host}"]
        return ["mnexec", "-a", str(self.pid(host))]

    def pid(self, host: str) -> int:
        """Return the process that holds the namespace of `host`."""
        return int(self.mininet[host].pid)

    def close(self) -> None:
        """Remove the interfaces and close their files; namespaces and bridges end with the sandbox.

        All at once, since each removal by itself makes the kernel wait: of 400 interfaces, for some ten seconds. What
        fails here is left to the end of the sandbox, which removes everything.
        """
        for node in self.mininet.hosts:
            if node.name in self._containers:
                continue
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


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise TestbedError(f"{' '.join(command)}: {done.stderr.strip()}")


def _ip_batch(lines: list[str], prefix: list[str]) -> None:
    _batch("ip", lines, prefix)


def _batch(program: str, lines: list[str], prefix: list[str]) -> None:
    done = subprocess.run([*prefix, program, "-batch", "-"], input="\n".join(lines), capture_output=True, text=True)
    if done.returncode != 0:
        raise TestbedError(f"{' '.join([*prefix, program, '-batch'])}: {done.stderr.strip()}")
