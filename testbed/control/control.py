"""Everything of the control loop that one run needs, put together in three steps.

control = Control(scenario, plan, loop)
fabric = ModelFabric(..., control.forwarders(...), control.endpoints(...), ...)      1. what stands between
control.attach(fabric, controller, datapath, maintenance)                             2. frames sent up come back
control.start(done)                                                                   3. the policy looks and acts
"""

from collections.abc import Callable, Mapping
from typing import Any

from controllers.channel import Counts
from controllers.policy.catalogue import builtin_policy, is_file
from testbed.control.actions import EngineActions
from testbed.control.bridged import MacFilter
from testbed.control.exchange import ControlExchange, Maintenance
from testbed.control.loop import ControlLoop, Timing
from testbed.control.meters import MeteredForwarder
from testbed.control.observer import Observer
from testbed.engine.fabric import ModelFabric
from testbed.engine.forwarding import Forwarder
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Endpoint
from testbed.fabric.plan import FabricPlan
from testbed.measurement.records import Invariant
from testbed.outside.controller import ControllerProcess
from testbed.outside.ovs_forwarder import OvsDatapath
from testbed.scenario.model import Scenario
from testbed.units import SECOND

_LOOKS_OF_PATIENCE = 100
"""Looks of a policy without any movement after which it is not expected to do anything about it."""


class Control:
    """The control loop of one run.

    Attributes:
        exchange, loop: once there are some; `loop` stays None without a policy.

    With `any_policy` another policy may come while the run goes on (`use_policy`).
    """

    def __init__(self, scenario: Scenario, plan: FabricPlan, loop: EventLoop, *, any_policy: bool = False) -> None:
        self.loop: ControlLoop | None = None
        self._any_policy = any_policy
        self._scenario = scenario
        self._options = scenario.controller
        self._plan = plan
        self._clock = loop
        self._metered: dict[str, MeteredForwarder] = {}
        self._filters: list[MacFilter] = []

    # --- 1. between model and switches, between model and NICs --------------------------------------------------------

    def forwarders(self, forwarders: Mapping[str, Forwarder]) -> Mapping[str, Forwarder]:
        """Return the switches' forwarders, with meters in front where there is a policy that may set some."""
        kind = self._options.policy["kind"] if self._options.policy is not None else None
        sets_meters = kind is not None and (is_file(kind) or builtin_policy(kind).sets_meters)
        if not sets_meters and not self._any_policy:
            return forwarders
        self._metered = {name: MeteredForwarder(forwarder, self._clock) for name, forwarder in forwarders.items()}
        return self._metered

    def endpoints(self, nics: Mapping[str, Endpoint]) -> Mapping[str, Endpoint]:
        """Return the NICs; where hosts are bridged, behind filters of their MAC addresses."""
        if self._scenario.fabric.addressing == "routed":
            return nics
        filters = {name: MacFilter(nic, self._plan.nic_by_name[name].mac) for name, nic in nics.items()}
        self._filters = list(filters.values())
        return filters

    # --- 2. between model and controller ------------------------------------------------------------------------------

    def attach(
        self, fabric: ModelFabric, controller: ControllerProcess, datapath: OvsDatapath, maintenance: Maintenance
    ) -> None:
        """Connect the model with the controller's process and the real switches."""
        options = self._options
        self._datapath, self._fabric, self._controller = datapath, fabric, controller
        self.exchange = ControlExchange(self._clock, fabric, controller, datapath, maintenance, options.latency)
        if options.policy is not None:
            sees_flows = controller.hello is not None and controller.hello.sees_flows
            self.loop = self._loop_of(str(options.policy["kind"]), sees_flows)

    def _loop_of(self, name: str, sees_flows: bool) -> ControlLoop:
        options, fabric = self._options, self._fabric
        actions = EngineActions(fabric, self._metered)
        observer = Observer(self._plan, fabric, actions.ramps, actions.alphas, flows=sees_flows)
        timing = Timing(options.interval, options.latency)
        fabric.wait_for_policy(_LOOKS_OF_PATIENCE * options.interval + options.latency)
        loop = ControlLoop(name, self._clock, self._controller, observer, actions, self.exchange, timing)
        loop.gives_up = not self._any_policy
        return loop

    # --- 3. the policy ------------------------------------------------------------------------------------------------

    def start(self, done: Callable[[], bool]) -> None:
        """Let the policy begin; it ends when `done` says that the workload is."""
        if self.loop is not None:
            self.loop.start(done, self._scenario.faults)

    @property
    def policy_name(self) -> str | None:
        """The policy in charge, None when there is none."""
        return None if self.loop is None else self.loop.name

    def use_policy(self, policy: Mapping[str, Any] | None) -> str | None:
        """Put another policy in charge, or none, as of now, for good. Return why the one before stays, or None."""
        used = self._controller.use_policy(policy)
        if used.refusal is not None:
            return used.refusal
        if self.loop is not None:
            self.loop.stop()
        self.loop = None
        for switch in self._datapath.switches.values():  # rules that the one before has set may go on marking
            switch.looks_for_marks = True
        if policy is not None:
            self.loop = self._loop_of(str(policy["kind"]), used.sees_flows)
            self.loop.start(_never)
        return None

    def tell_of_link(self, link: str, *, up: bool) -> None:
        """Tell the policy, if there is one, of a link that has just failed or come back."""
        if self.loop is not None:
            self.loop.tell_of_link(link, up=up)

    # --- the books ----------------------------------------------------------------------------------------------------

    @property
    def copied_data_packets(self) -> int:
        """Data packets on wires that no NIC sent: copies of flooded ones, less those that a NIC left alone."""
        return self.exchange.data_copies - sum(each.other_data_frames for each in self._filters)

    @property
    def openflow_marked_packets(self) -> int:
        """Packets that rules in switches marked (CE); those that the model's queues marked are counted there."""
        return sum(switch.marked_frames for switch in self._datapath.switches.values())

    def measured(self) -> dict[str, int]:
        """Return what the loop did, for the summary; nothing where there was nothing to do."""
        if self.loop is None and not self.exchange.exchanges:
            return {}
        return {
            "exchanges": self.exchange.exchanges,
            "punted_frames": self.exchange.punted,
            "looks": self.loop.looks if self.loop else 0,
            "actions": self.loop.actions if self.loop else 0,
            "openflow_marked_packets": self.openflow_marked_packets,
        }

    def on_model_time(self, counts: Counts, duration_ps: int) -> Invariant:
        """Whether everything between controller and switches fell at a model time: else a run cannot be repeated.

        `duration_ps` is when the workload was done.
        """
        found = self._untimely(counts, duration_ps)
        detail = "; ".join(found) or f"{self.exchange.exchanges} exchanges of controller and switches, at model times"
        return Invariant("control", not found, detail)

    def _untimely(self, counts: Counts, duration_ps: int) -> list[str]:
        found = []
        if counts.untimed:
            found.append(f"{counts.untimed} messages that an application sent to switches by a clock of its own")
        shortest_s = counts.shortest_timeout_s
        if shortest_s and duration_ps >= shortest_s * SECOND:
            found.append(f"a flow with a timeout of {shortest_s} s, which the run outlasted: it was never removed")
        return found


def _never() -> bool:
    """A policy that the user has put in charge stays there."""
    return False
