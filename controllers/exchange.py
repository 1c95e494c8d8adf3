"""Applications and switches speak at the model's time: packet-ins are held, and let go in exchanges.

On the model clock a packet that a switch sends up must reach its application, and what the application says must reach
the switch, at a model time: not whenever this process happens to run. So a packet-in is held as it arrives, and the
testbed is told that it is there. When the model time has come, one control latency later, it names the packet-ins that
are due, in its own order, and an *exchange* takes place:

1. the packet-ins go to the applications, and the policy's OpenFlow actions, if any are due, to the switches;
2. wait until every application has an empty queue and no handler runs any more;
3. wait until every switch that was told something has answered a barrier;
4. if that has set off anything new (a reply that an application waited for), go back to 2.

The testbed lets no frame into a switch meanwhile, so what the switches know afterwards, and what they have sent out,
does not depend on how fast anything ran.

Three things would bring wall time back in, and are seen to:

- a flow's idle or hard timeout: Open vSwitch would count wall time. It is taken out, and the shortest one reported;
- a meter: Open vSwitch fills its bucket by wall time. It is refused (the policy ``meter`` has one on model time);
- a message that an application sends by a clock of its own, between exchanges: it is counted as `untimed`, unless it
  only asks something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ryu.lib import hub

from controllers.channel import Exchange, Exchanged, PacketIn, Synced
from controllers.openflow import FlowMod
from controllers.policy.actions import (
    AddFlow,
    AddGroup,
    DeleteFlow,
    DeleteGroup,
    OpenFlowAction,
    PacketOut,
    SendPause,
)
from controllers.policy_host import PolicyHost
from controllers.sending import (
    delete_flow_message,
    delete_group_message,
    flow_message,
    group_message,
    packet_out_message,
    send,
)
from testbed.engine.identity import identity
from testbed.engine.pause.frames import pfc_frame
from testbed.fabric.plan import FabricPlan

if TYPE_CHECKING:
    from controllers.supervisor import Supervisor

_RULES = ("OFPFlowMod", "OFPGroupMod", "OFPTableMod", "OFPPortMod")
"""Messages after which a switch may treat packets otherwise."""

_METER = (
    "a meter (OFPMeterMod): Open vSwitch runs meters on wall time, so on the model clock its result would depend on "
    "the machine; use the policy 'meter', whose meters run on model time"
)


@dataclass(frozen=True, slots=True)
class _Held:
    """A packet-in that waits for its model time."""

    switch: str
    text: str
    let_go: Callable[[], Any]


class Exchanges:
    """Holds packet-ins and carries out exchanges, for the supervisor of a run on the model clock.

    Attributes:
        untimed: messages with an effect that applications sent outside any exchange.
        shortest_timeout_s: see `channel.Counts`.
    """

    def __init__(self, supervisor: Supervisor, plan: FabricPlan, policy: PolicyHost | None) -> None:
        self.untimed = 0
        self.shortest_timeout_s = 0
        self._supervisor = supervisor
        self._plan = plan
        self._names = {switch.dpid: switch.name for switch in plan.switches}
        self._policy: PolicyHost | None = None
        self.use(policy)
        self._running = False
        self._open = False
        self._packet_ins = 0
        self._held: dict[int, _Held] = {}
        self._barriers: dict[tuple[int, int], Any] = {}
        self._told: dict[str, None] = {}
        self._changed = False
        self._cleared: dict[str, None] = {}
        self._emitting: dict[str, None] = {}

    def use(self, policy: PolicyHost | None) -> None:
        """Send the OpenFlow actions of `policy` from now on."""
        self._policy = policy
        if policy is not None:
            policy.rehearse = lambda action: self._message(policy, action).serialize()

    # --- packet-ins ---------------------------------------------------------------------------------------------------

    def hold(self, event: Any, let_go: Callable[[], Any]) -> None:
        """Keep a packet-in, and tell the testbed; `let_go` hands it to the applications."""
        message = event.msg
        in_port = message.match["in_port"] if hasattr(message, "match") else message.in_port
        switch = self._names[message.datapath.id]
        self._packet_ins += 1
        text = f"OFPPacketIn(in_port={in_port}, {message.total_len} B, reason={message.reason})"
        self._held[self._packet_ins] = _Held(switch, text, let_go)
        data = bytes(message.data)
        truncated = len(data) < message.total_len
        self._supervisor.tell(PacketIn(self._packet_ins, switch, in_port, identity(data).hex(), truncated))

    def sync(self, switch: str) -> Synced:
        """Wait until all that a switch has sent up so far is here: a barrier's answer comes behind it."""
        self._running = True
        self._confirm(switch)
        return Synced(switch)

    # --- an exchange --------------------------------------------------------------------------------------------------

    def carry_out(self, exchange: Exchange) -> Exchanged:
        """Let applications and policy speak to the switches until all is quiet again."""
        self._running = self._open = True
        self._changed = False
        self._cleared, self._emitting, self._told = {}, {}, {}
        log = self._supervisor.log
        log.time_ps = exchange.time_ps
        for number in exchange.packet_ins:
            held = self._held.pop(number)
            log.note(held.switch, ">", held.text)
            held.let_go()
        if exchange.decision is not None and self._policy is not None:
            for action in self._policy.take(exchange.decision):
                message = self._message(self._policy, action)
                send(message.datapath, message)
        self._wait_until_quiet()
        self._open = False
        log.flush()
        return Exchanged(self._changed, list(self._cleared), list(self._emitting))

    def _wait_until_quiet(self) -> None:
        activity = -1
        while activity != self._supervisor.activity:
            activity = self._supervisor.activity
            self._let_applications_finish()
            told, self._told = self._told, {}
            for switch in told:
                self._confirm(switch)

    def _let_applications_finish(self) -> None:
        """Wait until every application has handled all that is in its queue now."""
        passed: Any = hub.Queue()
        applications = self._supervisor.other_applications()
        for application in applications:
            self._supervisor.pass_through(application, lambda: passed.put(None))
        for _ in applications:
            passed.get()

    def _confirm(self, switch: str) -> None:
        """Wait until `switch` has done all that it was told so far."""
        datapath = self._supervisor.datapaths[switch]
        answered: Any = hub.Queue()
        key = (datapath.id, self._supervisor.send_own_barrier(datapath))
        self._barriers[key] = answered
        answered.get()

    def on_barrier_reply(self, datapath: Any, transaction: int) -> None:
        """A switch has answered a barrier, ours or an application's own."""
        answered = self._barriers.pop((datapath.id, transaction), None)
        if answered is not None:
            answered.put(None)

    # --- what is sent -------------------------------------------------------------------------------------------------

    def on_sent(self, datapath: Any, message: Any) -> None:
        """A message is about to go to a switch: keep wall time out of it, and note what it may do."""
        kind = type(message).__name__
        switch = self._names.get(datapath.id)
        if kind == "OFPMeterMod":
            self._supervisor.fail(f"switch {switch} was told {_METER}")
        if kind == "OFPFlowMod":
            self._take_out_timeouts(message)
        if switch is None or not self._running:
            return
        self._told[switch] = None
        if not self._open and not kind.endswith("Request"):  # a question changes nothing
            self.untimed += 1
        if kind in _RULES:
            self._changed = True
        if kind == "OFPFlowMod" and message.command == datapath.ofproto.OFPFC_DELETE:
            self._cleared[switch] = None
        if kind == "OFPPacketOut":
            self._emitting[switch] = None

    def _take_out_timeouts(self, message: Any) -> None:
        for timeout_s in filter(None, (message.idle_timeout, message.hard_timeout)):
            self.shortest_timeout_s = min(timeout_s, self.shortest_timeout_s or timeout_s)
        message.idle_timeout = message.hard_timeout = 0

    def _message(self, policy: PolicyHost, action: OpenFlowAction) -> Any:
        """Return Ryu's message for an action of the policy. Whatever Ryu says of a wrong value is raised."""
        name = policy.switch_of(action)
        datapath = self._supervisor.datapaths[name]
        match action:
            case AddFlow(_, FlowMod() as flow):
                return flow_message(datapath, flow)
            case DeleteFlow(_, priority, match):
                return delete_flow_message(datapath, priority, match)
            case AddGroup(_, group):
                return group_message(datapath, group)
            case DeleteGroup(_, group_id):
                return delete_group_message(datapath, group_id)
            case PacketOut(port, data):
                return packet_out_message(datapath, policy.port_number(port), data)
            case SendPause(port, priority, quanta):
                frame = pfc_frame(self._plan.switch_by_name[name].mac, {priority: quanta})
                return packet_out_message(datapath, policy.port_number(port), frame)
            case _:
                raise TypeError(f"no OpenFlow message for {action!r}")
