"""The account that NICs keep of their messages on the way: posted, sent, sent again, arrived.

It is what a message's transit is explained from (`testbed.measurement.causes`); a NIC without a `TransitLog` keeps none
and pays nothing. Packets are told by the queue pair that sends them and its sequence (`traffic.nic.requester`); on the
way, by their hops (`testbed.engine.hops`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from testbed.engine.hops import EmissionLog, HopLog

if TYPE_CHECKING:
    from traffic.nic.queue_pair import QueuePair

TIMEOUT, NAK, RNR_NAK = "timeout", "nak", "rnr_nak"
"""Why a queue pair went back."""


class WentBack(NamedTuple):
    """A queue pair sends again from `sequence` on, decided at `time_ps` because of `why`; it had sent up to `end`."""

    time_ps: int
    sequence: int
    end: int
    why: str


class Posted(NamedTuple):
    """A message of the packets `first` up to, not including, `end`, posted to its queue pair at `time_ps`."""

    first: int
    end: int
    time_ps: int


class SenderLog:
    """What one queue pair sends.

    Attributes:
        number: that of the sender in the hop log. emissions: every packet that it has handed to its wire.
        qp: the queue pair. went_back: every time it did, in order.
        unfinished: messages that have not arrived, oldest first.
    """

    __slots__ = ("_why", "emissions", "number", "qp", "unfinished", "went_back")

    def __init__(self, log: TransitLog, qp: QueuePair) -> None:
        self.emissions: EmissionLog = log.hops.add_sender(qp.nic.name)
        self.number = self.emissions.sender
        self.qp = qp
        self.went_back: list[WentBack] = []
        self.unfinished: deque[Posted] = deque()
        self._why = NAK

    def posted(self, first: int, end: int, now: int) -> None:
        """A message is put at the end of the send queue."""
        self.unfinished.append(Posted(first, end, now))

    def blame(self, why: str) -> None:
        """Say why the queue pair is about to go back."""
        self._why = why

    def going_back(self, sequence: int, end: int, now: int) -> None:
        """Everything from `sequence` on is sent again."""
        self.went_back.append(WentBack(now, sequence, end, self._why))


Arrival = Callable[[SenderLog, Posted, int, int], None]
"""Called with (sender, message, time, hop): the last packet of a message has arrived, `hop` being its frame's."""


class TransitLog:
    """All queue pairs of a run. `on_arrival` is told of every message that has arrived whole."""

    def __init__(self, hops: HopLog) -> None:
        self.hops = hops
        self.senders: list[SenderLog] = []
        self.on_arrival: Arrival = _ignore
        self._by_peer: dict[tuple[str, int], SenderLog] = {}

    def open(self, qp: QueuePair) -> SenderLog:
        """Return the log of a queue pair that is made, or made afresh."""
        log = SenderLog(self, qp)
        self.senders.append(log)
        self._by_peer[qp.nic.ip, qp.number] = log
        return log

    def arrived(self, qp: QueuePair, hop: int, now: int) -> None:
        """The receiving end `qp` has taken the last packet of its oldest unfinished message, by the frame of `hop`."""
        assert qp.peer is not None
        sender = self._by_peer.get((qp.peer.ip, qp.peer.queue_pair))
        if sender is not None and sender.unfinished:
            self.on_arrival(sender, sender.unfinished.popleft(), now, hop)

    def unfinished(self) -> Iterable[tuple[SenderLog, Posted]]:
        """Yield every message that has not arrived."""
        for sender in self.senders:
            for message in sender.unfinished:
                yield sender, message

    def oldest_unfinished(self) -> Iterable[tuple[SenderLog, Posted]]:
        """Yield the oldest message of each queue pair that has not arrived."""
        for sender in self.senders:
            if sender.unfinished:
                yield sender, sender.unfinished[0]


def _ignore(_sender: SenderLog, _message: Posted, _now: int, _hop: int) -> None:
    """Nobody wants to know."""
