"""Watches, from inside the controller's process, the applications and the switches; whatever goes wrong ends the run.

Ryu logs an exception of a handler and goes on, and an OpenFlow error is only logged too. A measurement must not go on
over either. The supervisor is itself a Ryu application, and works for any other one, unmodified:

- *Ready.* When a switch has connected, it sends itself by way of every other application an event that each passes on
  in its turn. When all have, all have done what they do for a new switch. Then it sends a barrier; with the answers of
  all switches of the plan the fabric has its rules.
- *Handlers.* Every handler is called through a guard that reports its exception.
- *Counts and errors.* Every message sent is counted, and the last ones are kept, so that a switch's error can quote
  what it refused.
- *Model time.* Where a model clock rules, packets that a switch sends up are held until their time has come, and
  applications and policy speak to the switches only then (`controllers.exchange`).
"""

# Ryu and os-ken carry no types, so its classes and decorators are untyped here:
# mypy: disable-error-code="misc, untyped-decorator"

import functools
import inspect
import logging
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from ryu.base import app_manager
from ryu.controller import event as ryu_event
from ryu.controller import ofp_event
from ryu.controller.controller import Datapath
from ryu.controller.handler import CONFIG_DISPATCHER, HANDSHAKE_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.lib import hub

from controllers.channel import (
    AskPolicy,
    AskStatus,
    Channel,
    ChannelClosed,
    Counts,
    Exchange,
    Hello,
    Message,
    PolicyFailure,
    PolicyUsed,
    Ready,
    Status,
    Stop,
    SwitchReady,
    SwitchUp,
    Sync,
    UsePolicy,
)
from controllers.exchange import Exchanges
from controllers.failures import report
from controllers.openflow_log import OpenFlowLog
from controllers.policy_host import HangWatch, PolicyError, PolicyHost
from controllers.sending import send_barrier
from testbed.errors import ScenarioError
from testbed.fabric.plan import FabricPlan

_KEPT_MESSAGES = 1000
_LONGEST_QUOTE = 600
_HOUSEKEEPING = ("OFPEchoReply", "OFPEchoRequest", "OFPHello")
"""Messages that are no application's business."""


class EventSettled(ryu_event.EventBase):
    """Passes through an application's queue behind all that came before it, and calls `passed` there."""

    def __init__(self, passed: Callable[[], None]) -> None:
        super().__init__()
        self.passed = passed


class Supervisor(app_manager.RyuApp):
    """The watcher. `ended` receives the exit status and the reason, None for an end that was asked for.

    `log` writes down the OpenFlow messages; `model_time` says whether a model clock rules; `policy` is the run's,
    and `load_policy` makes another one in its place of a kind and options (None: of none; it raises ScenarioError).

    Attributes:
        datapaths: Ryu's objects of the switches that are connected, by name.
        activity: how many handlers have been called and messages sent so far: at rest it stands still.
    """

    OFP_VERSIONS: ClassVar = None

    def __init__(
        self,
        *args: Any,
        plan: FabricPlan,
        channel: Channel,
        log: OpenFlowLog,
        model_time: bool,
        policy: PolicyHost | None,
        load_policy: Callable[[dict[str, Any] | None], PolicyHost | None],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.channel = channel
        self.log = log
        self.ended: Any = hub.Queue()
        self.datapaths: dict[str, Any] = {}
        self.activity = 0
        self.exchanges = Exchanges(self, plan, policy) if model_time else None
        self._names = {switch.dpid: switch.name for switch in plan.switches}
        self._unconfirmed = set(self._names)
        self._settling: Counter[int] = Counter()
        self._barriers: set[tuple[int, int]] = set()
        self._counts: Counter[str] = Counter()
        self._sent: deque[tuple[Any, Any]] = deque(maxlen=_KEPT_MESSAGES)
        self._failed = False
        self._own_message = False
        self._load_policy = load_policy
        self._policy = self._watched(policy)
        self._watch_handlers()
        self._watch_messages()
        _GreenThreadDeaths(self.fail).take_over(logging.getLogger(hub.__name__))

    # --- the end, and the testbed ------------------------------------------------------------------------------------

    def fail(self, text: str) -> None:
        """End the controller for the reason given; the first one counts."""
        self._failed = True
        self.ended.put((1, text))

    def serve_testbed(self, hello: Hello) -> None:
        """Say hello, then answer the testbed until it hangs up. Runs in a green thread of its own."""
        self.tell(hello)
        try:
            while True:
                match self.channel.receive():
                    case AskStatus():
                        self.tell(Status(self.counts()))
                    case AskPolicy() as question:
                        self._ask_policy(question)
                    case Sync(switch) if self.exchanges:
                        self.tell(self.exchanges.sync(switch))
                    case Exchange() as exchange if self.exchanges:
                        self.tell(self.exchanges.carry_out(exchange))
                    case UsePolicy(policy):
                        self.tell(self._use_policy(policy))
                    case Stop():
                        break
        except ChannelClosed:
            pass
        self.ended.put((0, None))

    def _watched(self, policy: PolicyHost | None) -> HangWatch | None:
        return HangWatch(policy, self._on_hang, hub.getcurrent) if policy else None

    def _use_policy(self, wanted: dict[str, Any] | None) -> PolicyUsed:
        """Put another policy in charge, if it can be loaded."""
        try:
            policy = self._load_policy(wanted)
        except ScenarioError as error:
            return PolicyUsed(str(error), sees_flows=False)
        self._policy = self._watched(policy)
        if self.exchanges is not None:
            self.exchanges.use(policy)
        return PolicyUsed(None, sees_flows=policy is not None and policy.sees_flows)

    def _ask_policy(self, question: AskPolicy) -> None:
        assert self._policy is not None, "the testbed asks for a policy that it has named"
        try:
            self.tell(self._policy.answer(question))
        except PolicyError as error:
            self.tell(PolicyFailure(str(error)))
            self.fail(str(error))

    def _on_hang(self, text: str) -> None:
        """The policy keeps this process busy: no green thread will run again, so it ends here."""
        self.channel.send_at_once(PolicyFailure(text))
        os._exit(1)

    def tell(self, message: Message) -> None:
        """Send a message to the testbed, unless all is over."""
        if self._failed:
            return
        try:
            self.channel.send(message)
        except ChannelClosed:
            self.ended.put((0, None))

    def counts(self) -> Counts:
        """Return how many messages of each kind there were."""
        count = self._counts
        return Counts(
            flow_mods=count["OFPFlowMod"],
            group_mods=count["OFPGroupMod"],
            packet_outs=count["OFPPacketOut"],
            barriers=count["OFPBarrierRequest"],
            packet_ins=count["OFPPacketIn"],
            untimed=self.exchanges.untimed if self.exchanges else 0,
            shortest_timeout_s=self.exchanges.shortest_timeout_s if self.exchanges else 0,
        )

    # --- switches ----------------------------------------------------------------------------------------------------

    @set_ev_cls(ofp_event.EventOFPStateChange, MAIN_DISPATCHER)
    def on_connected(self, event: Any) -> None:
        """A switch is there: let the applications finish with it first."""
        datapath = event.datapath
        name = self._names.get(datapath.id)
        if name is None:
            known = ", ".join(self._names.values())
            raise LookupError(f"a switch with datapath id {datapath.id} connected; the plan has {known} only")
        self.tell(SwitchUp(name, datapath.id))
        self.datapaths[name] = datapath
        others = self.other_applications()
        self._settling[datapath.id] = len(others)
        for application in others:
            self.pass_through(application, functools.partial(self._settled, datapath))

    def other_applications(self) -> list[Any]:
        """Return every application but this one and Ryu's own."""
        running = app_manager.AppManager.get_instance().applications.values()
        return [application for application in running if application.name not in (self.name, ofp_event.NAME)]

    def pass_through(self, application: Any, passed: Callable[[], None]) -> None:
        """Have `passed` called when `application` has handled all that is in its queue now."""
        if EventSettled not in application.event_handlers:
            application.register_handler(EventSettled, _pass)
        self.send_event(application.name, EventSettled(passed))

    def _settled(self, datapath: Any) -> None:
        self._settling[datapath.id] -= 1
        if self._settling[datapath.id] == 0:
            self._barriers.add((datapath.id, self.send_own_barrier(datapath)))

    def send_own_barrier(self, datapath: Any) -> int:
        """Send a barrier that is no application's; return its transaction number."""
        self._own_message = True
        try:
            return send_barrier(datapath)
        finally:
            self._own_message = False

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def on_barrier_reply(self, event: Any) -> None:
        """A switch has done all it was told; with the last one the fabric is ready."""
        datapath = event.msg.datapath
        if self.exchanges:
            self.exchanges.on_barrier_reply(datapath, event.msg.xid)
        if (datapath.id, event.msg.xid) not in self._barriers or datapath.id not in self._unconfirmed:
            return  # an application's own barrier, or a switch that has connected again
        self._unconfirmed.remove(datapath.id)
        self.tell(SwitchReady(self._names[datapath.id]))
        if not self._unconfirmed:
            self.log.flush()
            self.tell(Ready(self.counts()))

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [HANDSHAKE_DISPATCHER, CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def on_error(self, event: Any) -> None:
        """A switch refuses a message: quote it."""
        error = event.msg
        ofproto = error.datapath.ofproto
        kind, code = ofproto.ofp_error_type_to_str(error.type), ofproto.ofp_error_code_to_str(error.type, error.code)
        refused = [sent for datapath, sent in self._sent if datapath is error.datapath and sent.xid == error.xid]
        words = quote(refused[-1]) if refused else "a message that is no longer kept"
        name = self._names.get(error.datapath.id, error.datapath.address)
        self.fail(f"switch {name} answered {kind}, {code} to: {words}")

    # --- hooks into Ryu ----------------------------------------------------------------------------------------------

    def _watch_messages(self) -> None:
        original_send, original_pass = Datapath.send_msg, app_manager.RyuApp.send_event_to_observers

        @functools.wraps(original_send)
        def counted(datapath: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
            kind = type(message).__name__
            self._counts[kind] += 1
            self._sent.append((datapath, message))
            if kind not in _HOUSEKEEPING and not self._own_message:
                self.activity += 1
                if self.exchanges:
                    self.exchanges.on_sent(datapath, message)
                self.log.note_sent(self._names.get(datapath.id), message)
            return original_send(datapath, message, *args, **kwargs)

        @functools.wraps(original_pass)
        def watched(application: Any, event: Any, state: Any = None) -> Any:
            if isinstance(event, ofp_event.EventOFPPacketIn):
                self._counts["OFPPacketIn"] += 1
                if self.exchanges:
                    return self.exchanges.hold(event, functools.partial(original_pass, application, event, state))
            return original_pass(application, event, state)

        Datapath.send_msg = counted
        app_manager.RyuApp.send_event_to_observers = watched

    def _watch_handlers(self) -> None:
        original = app_manager.RyuApp.get_handlers

        @functools.wraps(original)
        def guarded(application: Any, event: Any, state: Any = None) -> Iterable[Callable[[Any], Any]]:
            return [self._guard(application, handler) for handler in original(application, event, state)]

        app_manager.RyuApp.get_handlers = guarded

    def _guard(self, application: Any, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(handler)  # which keeps the attributes that Ryu looks for on a handler
        def guard(event: Any) -> Any:
            if handler is not _pass and application is not self and application.name != ofp_event.NAME:
                self.activity += 1
            try:
                return handler(event)
            except hub.TaskExit:
                raise
            except BaseException as error:
                if not self._failed:  # one story is enough: other switches tell the same
                    what = report(error, inspect.getsourcefile(handler))
                    self.fail(f"{application.name}, {type(event).__name__}, {what}")
                return None

        return guard


def _pass(event: EventSettled) -> None:
    event.passed()


def quote(message: Any) -> str:
    """Return a message of Ryu's as text, without its OpenFlow header."""
    text, name = str(message), type(message).__name__
    text = text[text.find(f"{name}(") :]
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + " ..."


class _GreenThreadDeaths(logging.Handler):
    """Ryu logs an exception that ended a green thread, at level ERROR, and forgets it; this one does not."""

    def __init__(self, fail: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._fail = fail

    def take_over(self, logger: logging.Logger) -> None:
        """Receive what `logger` has to say, and nobody else."""
        logger.addHandler(self)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().rstrip()
        print(text, file=sys.stderr, flush=True)
        self._fail(f"a green thread ended: {text.splitlines()[-1]}")
