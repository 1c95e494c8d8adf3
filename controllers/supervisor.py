"""Watches, from inside the controller's process, the applications and the switches; whatever goes wrong ends the run.

Ryu logs an exception of a handler and goes on, and an OpenFlow error is only logged too. A measurement must not go on
over either. The supervisor is itself a Ryu application, and works for any other one, unmodified:

- *Ready.* When a switch has connected, it sends itself by way of every other application an event that each passes on
  in its turn. When all have, all have done what they do for a new switch. Then it sends a barrier; with the answers of
  all switches of the plan the fabric has its rules.
- *Handlers.* Every handler is called through a guard that reports its exception.
- *Counts and errors.* Every message sent is counted, and the last ones are kept, so that a switch's error can quote
  what it refused.
"""

# Ryu and os-ken carry no types, so its classes and decorators are untyped here:
# mypy: disable-error-code="misc, untyped-decorator"

import functools
import inspect
import logging
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
    AskStatus,
    Channel,
    ChannelClosed,
    Counts,
    Hello,
    Ready,
    Status,
    Stop,
    SwitchReady,
    SwitchUp,
)
from controllers.failures import report
from controllers.sending import send_barrier
from testbed.fabric.plan import FabricPlan

_KEPT_MESSAGES = 1000
_LONGEST_QUOTE = 600


class EventSettled(ryu_event.EventBase):
    """Passes through an application's queue behind all that came before it."""

    def __init__(self, datapath: Any) -> None:
        super().__init__()
        self.datapath = datapath


class Supervisor(app_manager.RyuApp):
    """The watcher. `ended` receives the exit status and the reason, None for an end that was asked for."""

    OFP_VERSIONS: ClassVar = None

    def __init__(self, *args: Any, plan: FabricPlan, channel: Channel, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.channel = channel
        self.ended: Any = hub.Queue()
        self._names = {switch.dpid: switch.name for switch in plan.switches}
        self._unconfirmed = set(self._names)
        self._settling: Counter[int] = Counter()
        self._barriers: set[tuple[int, int]] = set()
        self._counts: Counter[str] = Counter()
        self._sent: deque[tuple[Any, Any]] = deque(maxlen=_KEPT_MESSAGES)
        self._failed = False
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
        self._tell(hello)
        try:
            while True:
                match self.channel.receive():
                    case AskStatus():
                        self._tell(Status(self.counts()))
                    case Stop():
                        break
        except ChannelClosed:
            pass
        self.ended.put((0, None))

    def _tell(self, message: Hello | SwitchUp | SwitchReady | Ready | Status) -> None:
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
        self._tell(SwitchUp(name, datapath.id))
        others = self._other_applications()
        self._settling[datapath.id] = len(others)
        for application in others:
            if EventSettled not in application.event_handlers:
                application.register_handler(EventSettled, self._on_settled)
            self.send_event(application.name, EventSettled(datapath))

    def _other_applications(self) -> list[Any]:
        running = app_manager.AppManager.get_instance().applications.values()
        return [application for application in running if application.name not in (self.name, ofp_event.NAME)]

    def _on_settled(self, event: EventSettled) -> None:
        datapath = event.datapath
        self._settling[datapath.id] -= 1
        if self._settling[datapath.id] == 0:
            self._barriers.add((datapath.id, send_barrier(datapath)))

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def on_barrier_reply(self, event: Any) -> None:
        """A switch has done all it was told; with the last one the fabric is ready."""
        datapath = event.msg.datapath
        if (datapath.id, event.msg.xid) not in self._barriers or datapath.id not in self._unconfirmed:
            return  # an application's own barrier, or a switch that has connected again
        self._unconfirmed.remove(datapath.id)
        self._tell(SwitchReady(self._names[datapath.id]))
        if not self._unconfirmed:
            self._tell(Ready(self.counts()))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, _event: Any) -> None:
        self._counts["OFPPacketIn"] += 1

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [HANDSHAKE_DISPATCHER, CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def on_error(self, event: Any) -> None:
        """A switch refuses a message: quote it."""
        error = event.msg
        ofproto = error.datapath.ofproto
        kind, code = ofproto.ofp_error_type_to_str(error.type), ofproto.ofp_error_code_to_str(error.type, error.code)
        refused = [sent for datapath, sent in self._sent if datapath is error.datapath and sent.xid == error.xid]
        quote = _quote(refused[-1]) if refused else "a message that is no longer kept"
        name = self._names.get(error.datapath.id, error.datapath.address)
        self.fail(f"switch {name} answered {kind}, {code} to: {quote}")

    # --- hooks into Ryu ----------------------------------------------------------------------------------------------

    def _watch_messages(self) -> None:
        original = Datapath.send_msg

        @functools.wraps(original)
        def counted(datapath: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
            self._counts[type(message).__name__] += 1
            self._sent.append((datapath, message))
            return original(datapath, message, *args, **kwargs)

        Datapath.send_msg = counted

    def _watch_handlers(self) -> None:
        original = app_manager.RyuApp.get_handlers

        @functools.wraps(original)
        def guarded(application: Any, event: Any, state: Any = None) -> Iterable[Callable[[Any], Any]]:
            return [self._guard(application, handler) for handler in original(application, event, state)]

        app_manager.RyuApp.get_handlers = guarded

    def _guard(self, application: Any, handler: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(handler)  # which keeps the attributes that Ryu looks for on a handler
        def guard(event: Any) -> Any:
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


def _quote(message: Any) -> str:
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
