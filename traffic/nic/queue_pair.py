"""A reliable-connection queue pair: the state table, a requester and a responder, and the settings they share.

The application makes one on each host, tells each of the other (number, addresses) out of band, and moves both through
the states of `traffic.nic.states` (`traffic.nic.connection` does all that). Then it posts work and is told of
completions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.scenario.model import TransportOptions
from traffic.nic.recovery import loss_recoveries
from traffic.nic.requester import Requester
from traffic.nic.responder import Responder
from traffic.nic.states import TRANSITIONS, QpEvent, QpState, StateError, next_state
from traffic.nic.verbs import ReceiveRequest, SendRequest, WcStatus, WorkCompletion
from traffic.wire.template import FrameTemplate

if TYPE_CHECKING:
    from traffic.nic.nic import Nic

CompletionHandler = Callable[[WorkCompletion], None]


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end: its QP's number and IP address, and the UDP source port that this end's packets carry."""

    queue_pair: int
    ip: str
    source_port: int


class QueuePair:
    """One end of a reliable connection.

    Attributes:
        number: what the peer's packets name it by. state: see `traffic.nic.states`. peer: None until RTR.
        on_completion: called with every `WorkCompletion`, in order; at first it appends to `completions`.
        takes_requests, takes_responses: what the state's row says about packets, for the NIC's receive path.
    """

    __slots__ = (
        "_recovery", "_takes_receives", "_takes_sends", "completions", "emit", "nic", "number", "on_completion",
        "peer", "peer_addresses", "requester", "responder", "settings", "state", "takes_requests", "takes_responses",
    )  # fmt: skip

    def __init__(self, nic: Nic, number: int, settings: TransportOptions, recovery: str = "go-back-n") -> None:
        self.nic = nic
        self.number = number
        self.settings = settings
        self.state = QpState.RESET
        self._read_row()
        self.peer: Peer | None = None
        self.peer_addresses = b""
        self.completions: deque[WorkCompletion] = deque()
        self.on_completion: CompletionHandler = self.completions.append
        self._recovery = recovery
        self._start_afresh()

    def _start_afresh(self) -> None:
        self.requester = Requester(self, loss_recoveries[self._recovery]())
        self.responder = Responder(self)

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
        template = FrameTemplate(
            source_mac=self.nic.mac,
            destination_mac=self.nic.gateway_mac,
            source_ip=self.nic.ip,
            destination_ip=peer.ip,
            source_port=peer.source_port,
            destination_qp=peer.queue_pair,
            traffic_class=self.settings.traffic_class,
        )
        self.emit = template.emit
        self.requester.use(template.emit)

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
