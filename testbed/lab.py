"""The real part of a run: Open vSwitch, Mininet and the controller, brought up in the sandbox and taken down again."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from controllers.channel import Counts
from controllers.policy.catalogue import app_names, is_file
from testbed.control.exchange import Maintenance
from testbed.errors import TestbedError
from testbed.fabric.plan import FabricPlan
from testbed.outside import openvswitch
from testbed.outside.containers import Container
from testbed.outside.controller import ControllerProcess
from testbed.outside.hosts import connect_kernels, name_hosts
from testbed.outside.kernel_datapath import KERNEL, USER, on_one_processor, require_datapath
from testbed.outside.network import CONTROLLER_ADDRESS, CONTROLLER_PORT, Network
from testbed.outside.openvswitch import OpenVSwitch, PortCount
from testbed.outside.ovs_forwarder import OvsDatapath, OvsSwitch
from testbed.outside.ovs_kernel_forwarder import KernelDatapath
from testbed.outside.soft_roce import SoftRoce
from testbed.scenario.model import ControllerOptions

_READY_TIMEOUT_S = 60
_COUNTER_PATIENCE_S = 5


class Lab:
    """A fabric that is up: every switch has its rules, and `datapath` forwards for the engine.

    `installed` are the OpenFlow messages that it took until every switch had confirmed its rules. `where` is Open
    vSwitch's datapath, ``user`` or ``kernel``; `processors` are those that programs of the run may use where this
    thread is kept on one (the kernel datapath), else None.
    """

    def __init__(
        self,
        plan: FabricPlan,
        open_vswitch: OpenVSwitch,
        controller: ControllerProcess,
        network: Network,
        installed: Counts,
        where: str = USER,
        processors: frozenset[int] | None = None,
    ) -> None:
        self.plan = plan
        self.controller = controller
        self.installed = installed
        self.network = network
        self.where = where
        self.processors = processors
        kernel = where == KERNEL
        forget = openvswitch.forget_kernel_rules if kernel else openvswitch.forget_cached_rules
        self.maintenance = Maintenance(forget, partial(openvswitch.install_fence, datapath=where))
        self.datapath = (KernelDatapath if kernel else OvsDatapath)(plan, network.taps, self.check, self._sync)
        self.datapath.watch_controller(controller.fileno(), controller.check)
        controller.on_packet_in = self.datapath.on_packet_in
        unknown = controller.app not in app_names()
        for switch in self.datapath.switches.values():
            switch.may_punt = unknown
            switch.looks_for_marks = unknown or controller.has_policy
        self._open_vswitch = open_vswitch
        self._looked_up_before = openvswitch.lookups(where)

    def _sync(self, switch: str) -> None:
        """Return when all that `switch` has sent up so far has been told of."""
        if self.where == KERNEL:
            openvswitch.finish_turn()
        self.controller.sync(switch)

    @property
    def forwarders(self) -> dict[str, OvsSwitch]:
        """The forwarder of each switch."""
        return self.datapath.switches

    @property
    def controller_version(self) -> str:
        """Which controller runs, such as ``os-ken 4.2.2``."""
        hello = self.controller.hello
        return f"{hello.flavour} {hello.version}" if hello else "unknown"

    def check(self) -> None:
        """Raise TestbedError when Open vSwitch or the controller has ended."""
        self._open_vswitch.check()
        self.controller.check()

    def counter_differences(self) -> list[str]:
        """Return every port whose frames Open vSwitch counts otherwise than the engine, and the datapath's own sum.

        Open vSwitch may count a frame a moment after it has sent it, so a difference is looked at again before it is
        one.
        """
        deadline = time.monotonic() + _COUNTER_PATIENCE_S
        differences = self._differences()
        while differences and time.monotonic() < deadline:
            time.sleep(0.05)
            differences = self._differences()
        return differences

    def _differences(self) -> list[str]:
        found = []
        for name, switch in self.datapath.switches.items():
            counted = openvswitch.port_counts(name)
            for number, port in switch.ports.items():
                ours = PortCount(switch.frames_in[number], switch.frames_out[number], lost=0)
                if counted.get(number) != ours:
                    found.append(f"{port.name}: engine {ours}, Open vSwitch {counted.get(number)}")
        ours_in = sum(sum(switch.frames_in.values()) for switch in self.datapath.switches.values())
        now, before = openvswitch.lookups(self.where), self._looked_up_before
        if (looked_up := now.taken - before.taken) != ours_in:
            found.append(f"datapath: engine {ours_in} frames in, Open vSwitch took {looked_up} from its sockets")
        if lost := now.lost - before.lost:
            found.append(f"datapath: Open vSwitch lost {lost} frames on their way up to ovs-vswitchd")
        return found


@contextmanager
def fabric_up(
    plan: FabricPlan,
    options: ControllerOptions,
    directory: Path = Path("/run/rocelab"),
    openflow_log: Path | None = None,
    *,
    kernels: bool = False,
    containers: Mapping[str, Container] | None = None,
    datapath: str = USER,
    soft_roce: SoftRoce | None = None,
) -> Iterator[Lab]:
    """Bring the fabric of `plan` up under a controller, hand it over, take it down. Call inside the sandbox.

    `kernels`: the hosts' kernels are to use it too (`testbed.outside.hosts`). `containers` are the hosts that are one.
    `soft_roce` says which hosts have the kernel's own RDMA (`testbed.outside.soft_roce`), `datapath` where Open vSwitch
    forwards: ``user`` or ``kernel`` (`testbed.outside.kernel_datapath`).
    The controller starts while the network is built; a user's own policy is looked at before. Raises ScenarioError when
    something is wrong with it, and TestbedError, quoting the controller's or Open vSwitch's own last lines, when one of
    them ends or a switch has no rules in time, and MachineError where the kernel has no such datapath.
    """
    require_datapath(datapath)
    open_vswitch = OpenVSwitch(datapath=datapath)
    controller = ControllerProcess(
        options.app,
        plan,
        directory,
        listen=f"{CONTROLLER_ADDRESS}:{CONTROLLER_PORT}",
        policy=options.policy,
        model_time=True,
        openflow_log=openflow_log,
    )
    network = Network(plan, datapath=datapath, containers=containers, soft_roce=soft_roce)
    stack = ExitStack()
    try:
        try:
            controller.start()
            if options.policy is not None and is_file(options.policy["kind"]):
                controller.wait_hello()
            open_vswitch.start()
            if kernels:
                name_hosts(plan)
            network.start()
            if kernels:
                connect_kernels(network)
            open_vswitch.wait_for_switches(switch.name for switch in plan.switches)
            openvswitch.keep_connections(switch.name for switch in plan.switches)
            ready = controller.wait_ready(_READY_TIMEOUT_S)
            for switch in plan.switches:  # an application may have deleted all flows when the switch connected
                openvswitch.install_fence(switch.name, datapath)
            if datapath == KERNEL:
                network.leave_no_queueing()
            processors = stack.enter_context(on_one_processor(datapath))
            lab = Lab(plan, open_vswitch, controller, network, ready.counts, datapath, processors)
        except (OSError, TestbedError):
            # Whatever failed, the death of a daemon is the better explanation.
            open_vswitch.check()
            raise
        yield lab
        lab.datapath.close()
    finally:
        stack.close()
        network.close()
        controller.stop()
        open_vswitch.stop()


def installed_rules(plan: FabricPlan) -> dict[str, list[str]]:
    """Return the flows and groups of each switch as Open vSwitch has them installed, a line each."""
    return {switch.name: openvswitch.installed(switch.name) for switch in plan.switches}
