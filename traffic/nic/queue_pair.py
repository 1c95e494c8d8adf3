"""A reliable-connection queue pair: the state table, a requester and a responder, and the settings they share.

The application makes one on each host, tells each of the other (number, addresses) out of band, and moves both through
the states of `traffic.nic.states` (`traffic.nic.connection` does all that). Then it posts work and is told of
completions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from testbed.scenario.model import TransportOptions
from traffic.nic.congestion import CongestionControl, congestion_controls, feedback_of
from traffic.nic.notification import EchoingResponder, NotificationPoint
from traffic.nic.recovery import loss_recoveries
from traffic.nic.requester import Requester
from traffic.nic.responder import Responder
from traffic.nic.states import TRANSITIONS, QpEvent, QpState, StateError, next_state
from traffic.nic.verbs import ReceiveRequest, SendRequest, WcStatus, WorkCompletion
from traffic.wire.template import FrameTemplate

if TYPE_CHECKING:
    from traffic.nic.nic import Nic

_ECN_BITS = 3

CompletionHandler = Callable[[WorkCompletion], None]


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end: its QP's number and IP address, and the UDP source port that this end's packets carry.

    `mac` is its NIC's address: what packets are sent to where no router stands between (`plan.Nic.gateway_mac`).
    """

    queue_pair: int
    ip: str
    source_port: int
    mac: str = ""


class Owner(Protocol):
    """Who makes queue pairs, and has a name."""

    name: str


class QueuePair:
    """One end of a reliable connection.

    Attributes:
        number: what the peer's packets name it by. state: see `traffic.nic.states`. peer: None until RTR.
        on_completion: called with every `WorkCompletion`, in order; at first it appends to `completions`.
        takes_requests, takes_responses: what the state's row says about packets, for the NIC's receive path.
        priority, answer_priority: of this end's data, and of its ACKs and NAKs.
        owner: whose it is (a communicator): queue pairs of one owner between the same hosts carry one flow.
        congestion: reacts to what this end's packets meet; None when nothing does. notification: answers the peer's
            marked packets with CNPs; None when nothing does.
    """

    __slots__ = (
        "_feedback", "_recovery", "_takes_receives", "_takes_sends", "answer_priority", "completions", "congestion",
        "emit", "emit_answer", "nic", "notification", "number", "on_completion", "owner", "peer", "peer_addresses",
        "priority", "requester", "responder", "settings", "state", "takes_requests", "takes_responses",
    )  # fmt: skip

    def __init__(self, nic: Nic, number: int, settings: TransportOptions, recovery: str = "go-back-n") -> None:
        self.nic = nic
        self.number = number
        self.settings = settings
        self.state = QpState.RESET
        self._read_row()
        self.peer: Peer | None = None
        self.owner: Owner | None = None
        self.peer_addresses = b""
        self.completions: deque[WorkCompletion] = deque()
        self.on_completion: CompletionHandler = self.completions.append
        self._recovery = recovery
        self._feedback = feedback_of(settings.congestion)
        self.priority = nic.priority_by_traffic_class[settings.traffic_class]
        self.answer_priority = nic.priority_by_traffic_class[self._answer_traffic_class()]
        self._start_afresh()

    def _start_afresh(self) -> None:
        self.congestion = self._congestion_control()
        self.requester = Requester(self, loss_recoveries[self._recovery](), self.congestion)
        if self.nic.transits is not None:
            self.requester.log = self.nic.transits.open(self)
        if self.congestion is not None:
            self.congestion.on_start(self.requester)
        self.responder = EchoingResponder(self) if self._feedback.echo else Responder(self)
        interval_ps = self._feedback.cnp_interval_ps
        self.notification = None if interval_ps is None else NotificationPoint(self, interval_ps)

    def _congestion_control(self) -> CongestionControl | None:
        options = self.settings.congestion
        if options is None:
            return None
        control = congestion_controls[options.kind].make(options, self.nic.rate_bps)
        if control is not None:
            control.record(self.nic.name, self.number, self.nic.congestion_samples)
        return control

    def __repr__(self) -> str:
        return f"QP {self.number} of {self.nic.name} ({self.state.value})"

    # --- states -------------------------------------------------------------------------------------------------------

    def handle(self, event: QpEvent) -> None:
        """Go where `event` leads. Raises StateError when the state's row does not have it."""
        self.state = next_state(self.number, self.state, event)
        self._read_row()

    def _read_row(self) -> None:
        """Keep what the state's row says about posts and packets, which come too often to look it up each time."""
        row = TRANSITIONS[self.state]
        self._takes_sends = QpEvent.POST_SEND in row
        self._takes_receives = QpEvent.POST_RECEIVE in row
        self.takes_requests = QpEvent.REQUEST in row
        self.takes_responses = QpEvent.ACK in row

    def allows(self, event: QpEvent) -> bool:
        """Return whether the state's row has `event`."""
        return event in TRANSITIONS[self.state]

    def ready_to_receive(self, peer: Peer) -> None:
        """INIT to RTR: packets to and from `peer`."""
        self.handle(QpEvent.TO_RTR)
        self.peer = peer
        self.peer_addresses = self.nic.addresses_from(peer.ip)
        traffic_class, of_answers = self.settings.traffic_class, self._answer_traffic_class()
        self.emit = self.template(traffic_class).emit
        self.emit_answer = self.emit if of_answers == traffic_class else self.template(of_answers).emit
        self.requester.use(self.emit)

    def _answer_traffic_class(self) -> int:
        """The IP byte of ACKs and NAKs: that of the data, unless they have a DSCP of their own."""
        traffic_class, dscp = self.settings.traffic_class, self.settings.ack_dscp
        return traffic_class if dscp is None else dscp << 2 | traffic_class & _ECN_BITS

    def template(self, traffic_class: int) -> FrameTemplate:
        """Return a template for frames to the peer, which must be known, with `traffic_class` in their IP header."""
        assert self.peer is not None
        return FrameTemplate(
            source_mac=self.nic.mac,
            destination_mac=self.nic.gateway_mac or self.peer.mac,
            source_ip=self.nic.ip,
            destination_ip=self.peer.ip,
            source_port=self.peer.source_port,
            destination_qp=self.peer.queue_pair,
            traffic_class=traffic_class,
        )

    def reset(self) -> None:
        """Forget the peer and all work, without completions, as after creation."""
        self.handle(QpEvent.TO_RESET)
        self.peer = None
        self.requester.discard()
        self._start_afresh()

    def fail_requester(self, status: WcStatus) -> None:
        """The oldest request ends with `status`, everything behind it is flushed."""
        self.handle(QpEvent.REQUESTER_FAILURE)
        self.requester.flush(status)
        self.responder.flush()

    def fail_responder(self, status: WcStatus) -> None:
        """A request of the peer's cannot be carried out: the receive that it met, if any, ends with `status`, and all
        of this end's other work is flushed.
        """
        self.handle(QpEvent.RESPONDER_FAILURE)
        self.responder.flush(status)
        self.requester.flush(WcStatus.WR_FLUSH_ERR)

    def close(self) -> None:
        """The application gives the connection up: to ERROR, all work flushed."""
        self.handle(QpEvent.TO_ERROR)
        self.requester.flush(WcStatus.WR_FLUSH_ERR)
        self.responder.flush()

    # --- work ---------------------------------------------------------------------------------------------------------

    def post_send(self, request: SendRequest) -> None:
        """Post to the send queue; in ERROR it is flushed at once. Raises StateError before RTS."""
        if not self._takes_sends:
            raise StateError(self.number, QpEvent.POST_SEND, self.state)
        self.requester.post(request)
        if self.state is QpState.ERROR:
            self.requester.flush(WcStatus.WR_FLUSH_ERR)

    def post_receive(self, request: ReceiveRequest) -> None:
        """Post to the receive queue; in ERROR it is flushed at once. Raises StateError in RESET."""
        if not self._takes_receives:
            raise StateError(self.number, QpEvent.POST_RECEIVE, self.state)
        self.responder.post(request)
        if self.state is QpState.ERROR:
            self.responder.flush()
