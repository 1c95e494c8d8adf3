"""What a stall is put down to: the kinds of causes, and the explanation of a run as frozen values.

Every rank's stall (and every flow's time beyond its ideal) is the sum of its parts, to the picosecond.
"""

from collections.abc import Mapping
from dataclasses import dataclass

QUEUE = "queue"
PAUSED = "paused"
CREDIT = "credit"
RATE = "rate"
WINDOW = "window"
LOST_PACKET = "lost_packet"
LINK_DOWN = "link_down"
LATE_ACK = "late_ack"
OUT_OF_ORDER = "out_of_order"
RECEIVER_NOT_READY = "receiver_not_ready"
CLEAR_TO_SEND = "clear_to_send"
STRAGGLER = "straggler"
NVLINK = "nvlink"
CONTROLLER = "controller"
OWN_PACKETS = "own_packets"
FAILURE = "failure"

KINDS: Mapping[str, str] = {
    QUEUE: "waited in a queue, or at a NIC, behind another flow's frames",
    PAUSED: "a pause (PFC, PAUSE) held the port",
    CREDIT: "the link had no credit",
    RATE: "congestion control limited the rate",
    WINDOW: "congestion control limited the window",
    LOST_PACKET: "a packet was lost, and it took until it was missed and sent again",
    LINK_DOWN: "a link was down, and what it lost took until it was missed and sent again",
    LATE_ACK: "packets were sent again although none was lost: an acknowledgement was lost, or late",
    OUT_OF_ORDER: "packets were sent again although none was lost: others had overtaken them",
    RECEIVER_NOT_READY: "the receiver had no receive posted (RNR)",
    CLEAR_TO_SEND: "waited for the receiver's clear-to-send",
    STRAGGLER: "waited for a rank that took longer itself: its compute",
    NVLINK: "waited for an NVLink domain behind other transfers",
    CONTROLLER: "the controller held the frame",
    OWN_PACKETS: "the connection's own packets took longer: messages that had piled up, or queue pairs on one link",
    FAILURE: "waited for what never came, since the workload failed",
}
"""Every kind of cause, by its name in results, and what it is."""


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that was lost and sent again, from `source` to `destination` (hosts): when it was lost (None: it was
    not), where and why, in the terms of drops.parquet; when it was first sent, when its sender went back, and what for
    (timeout, nak, rnr_nak)."""

    source: str
    destination: str
    qp: int
    psn: int
    first_sent_ps: int
    found_ps: int
    found_by: str
    lost_ps: int | None = None
    where: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: its kind, the port, NIC or rank where it was, and in words what else there is to say: which flow was
    in front, who paused, where packets were marked. `origin` is where it began, if that is known to be elsewhere: the
    root of a pause, the port that marked. `packet` is that of a loss."""

    kind: str
    where: str
    detail: str
    origin: str = ""
    packet: Packet | None = None


@dataclass(frozen=True, slots=True)
class StallPart:
    """`duration_ps` of a stall with the cause `cause` (an index), between `first_ps` and `last_ps` of model time.

    `through` are the ranks that the delay had reached before, in their order, with the time when it did.
    """

    cause: int
    duration_ps: int
    first_ps: int
    last_ps: int
    through: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Stall:
    """The stall of `rank` in a collective or a trace's replay, or the delay of a flow (then `rank` is its destination):
    its parts add up to `stall_ps`. Of `collective`, `flow` and `trace`, indices in the summary, two are None."""

    collective: int | None
    flow: int | None
    rank: str
    stall_ps: int
    parts: tuple[StallPart, ...]
    trace: int | None = None


@dataclass(frozen=True, slots=True)
class Delayed:
    """The message that a loss hit first: from rank to rank, step and piece, and the name of the job it is of."""

    job: str
    source: str
    destination: str
    step: int
    piece: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """All stalls of a run, and the causes that their parts refer to; `delayed` is by cause, of lost packets."""

    causes: tuple[Cause, ...]
    stalls: tuple[Stall, ...]
    delayed: Mapping[int, Delayed]

    def problems(self) -> list[str]:
        """Return every stall whose parts do not add up, or one of whose parts is not above 0."""
        return [
            f"{stall.rank}: {sum(part.duration_ps for part in stall.parts)} ps in parts, {stall.stall_ps} ps in all"
            for stall in self.stalls
            if sum(part.duration_ps for part in stall.parts) != stall.stall_ps
            or any(part.duration_ps <= 0 for part in stall.parts)
        ]
