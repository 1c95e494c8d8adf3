"""What a stall is put down to: the kinds of causes, and the explanation of a run as frozen values.

Every rank's stall (and every flow's time beyond its ideal) is the sum of its parts, to the picosecond.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import PurePath
from traceback import extract_tb

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
    WINDOW: "the window was full: congestion control's, or all that a queue pair may have under way",
    LOST_PACKET: "a packet was lost, and it took until it was missed and sent again",
    LINK_DOWN: "a link was down, and what it lost took until it was missed and sent again",
    LATE_ACK: "packets were sent again although none was lost: an acknowledgement was lost, or late",
    OUT_OF_ORDER: "packets were sent again although none was lost: others had overtaken them",
    RECEIVER_NOT_READY: "the receiver had no receive posted (RNR)",
    CLEAR_TO_SEND: "waited for the receiver's clear-to-send, or for word that its buffers were free again",
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
class Unexplained:
    """The explainer itself failed: why, in words. A run is not lost for that."""

    reason: str

    @classmethod
    def by(cls, error: Exception) -> Unexplained:
        """Return that `error` ended the explainer, and where."""
        frames = extract_tb(error.__traceback__)
        where = f" ({PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        return cls(f"the explainer failed: {type(error).__name__}: {error}{where}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """All stalls of a run, and the causes that their parts refer to; `delayed` is by cause, of lost packets.

    `pauses`: from when to when each port was paused that ever was, in the order of time.
    """

    causes: tuple[Cause, ...]
    stalls: tuple[Stall, ...]
    delayed: Mapping[int, Delayed]
    pauses: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Return every stall whose parts do not add up, or one of whose parts is not above 0, and every port by whose
        pauses one was longer than these were."""
        paused = {port: _Paused(spans) for port, spans in self.pauses.items()}
        return [
            *(
                f"{stall.rank}: {sum(part.duration_ps for part in stall.parts)} ps in parts, {stall.stall_ps} ps in all"
                for stall in self.stalls
                if sum(part.duration_ps for part in stall.parts) != stall.stall_ps
                or any(part.duration_ps <= 0 for part in stall.parts)
            ),
            *(problem for stall in self.stalls for problem in self._beyond_pauses(paused, stall)),
        ]

    def _beyond_pauses(self, paused: Mapping[str, _Paused], stall: Stall) -> Iterator[str]:
        by_port: dict[str, list[StallPart]] = {}
        for part in stall.parts:
            if self.causes[part.cause].kind == PAUSED:
                by_port.setdefault(self.causes[part.cause].where, []).append(part)
        for port, parts in by_port.items():
            named = sum(part.duration_ps for part in parts)
            first, last = min(part.first_ps for part in parts), max(part.last_ps for part in parts)
            paused_ps = paused[port].until_ps(last) - paused[port].until_ps(first) if port in paused else 0
            if named > paused_ps:
                yield f"{stall.rank}: {named} ps of pauses at {port}, which was paused for {paused_ps} ps meanwhile"


class _Paused:
    """For how long a port was paused up to any time; `spans` are in its order."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._begins = [begin for begin, _ in spans]
        self._ends = [end for _, end in spans]
        self._before_ps = [0, *accumulate(end - begin for begin, end in spans)]

    def until_ps(self, time_ps: int) -> int:
        """Return for how long it was paused before `time_ps`."""
        begun = bisect_left(self._begins, time_ps)
        return self._before_ps[begun] - (max(0, self._ends[begun - 1] - time_ps) if begun else 0)
