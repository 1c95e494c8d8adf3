"""Every message of a job: when its rank had it to send, when it went, when it was there."""

from __future__ import annotations

from collections.abc import Sequence

from traffic.results import AdmissionCounts, MessageRecord

DATA, CLEAR, READY = "data", "clear", "ready"
"""What a message is: a piece of a rank's buffer; a clear-to-send; word that a rank is ready for another round."""


class Message:
    """A message under way: what and where to, and what has happened to it so far.

    `source` and `destination` are ranks; `channel` is that of the data, also for what only speaks of it. `parts_left`,
    `parts_unacknowledged`: parts that have not arrived, or not been acknowledged (one, unless it is split).
    """

    __slots__ = (
        "arrived_ps", "channel", "destination", "end_sequence", "first_sequence", "granted_ps", "kind", "nic",
        "parts_left", "parts_unacknowledged", "piece", "posted_ps", "queue_pair", "size", "source", "source_offset",
        "step", "target_offset",
    )  # fmt: skip

    def __init__(
        self,
        source: int,
        destination: int,
        channel: int,
        step: int,
        piece: int,
        *,
        posted_ps: int,
        size: int,
        source_offset: int = 0,
        target_offset: int = 0,
        kind: str = DATA,
    ) -> None:
        self.source = source
        self.destination = destination
        self.channel = channel
        self.step = step
        self.piece = piece
        self.size = size
        self.source_offset = source_offset
        self.target_offset = target_offset
        self.posted_ps = posted_ps
        self.kind = kind
        self.granted_ps: int | None = None
        self.arrived_ps: int | None = None
        self.nic = ""
        self.queue_pair: int | None = None
        self.first_sequence = self.end_sequence = 0
        self.parts_left = self.parts_unacknowledged = 1


class MessageLog:
    """The messages of a job, in the order in which they were posted."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def add(self, message: Message) -> None:
        """Keep a message that is posted now."""
        self._messages.append(message)

    def records(self, names: Sequence[str]) -> tuple[MessageRecord, ...]:
        """Return what has become of each message; `names` are those of the ranks."""
        return tuple(
            MessageRecord(
                source=names[message.source],
                destination=names[message.destination],
                step=message.step,
                piece=message.piece,
                size_bytes=message.size,
                posted_ps=message.posted_ps,
                granted_ps=message.granted_ps,
                sent_ps=None,
                arrived_ps=message.arrived_ps,
                nic=message.nic,
                queue_pair=message.queue_pair,
                first_sequence=message.first_sequence,
                end_sequence=message.end_sequence,
                control=message.kind != DATA,
            )
            for message in self._messages
        )

    def admission(self, peak_outstanding: int) -> AdmissionCounts:
        """Return what admission did; `peak_outstanding` is the most that one receiver had cleared at a time."""
        clears = [message for message in self._messages if message.kind == CLEAR]
        return AdmissionCounts(
            sent=len(clears),
            received=sum(message.arrived_ps is not None for message in clears),
            peak_outstanding=peak_outstanding,
            wait_ps=sum(m.granted_ps - m.posted_ps for m in self._messages if m.granted_ps is not None),
        )
