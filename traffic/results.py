"""What a workload gives: one frozen result for each collective and each flow. Times are model time in picoseconds.

What has no value in a workload that failed (a completion time, a bandwidth) is None; `failure` then says why.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from testbed.units import SECOND

COMPUTE = "compute"
"""What a rank waits for in a compute phase."""

START = "start"
"""What a process waits for until its job begins. Every wait for something else is for data."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Rank `rank` (by name) waited for `what` of step `step` (of all iterations), piece `piece`."""

    rank: str
    what: str
    step: int
    piece: int
    start_ps: int
    end_ps: int


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message of a job: `size_bytes` from rank (or host) `source` to `destination`.

    `step` counts on over all rounds, `piece` from 0 in each step. `posted_ps`: when its rank had it to send;
    `granted_ps`: when the receiver's clear-to-send had come (None: none was needed, or none came); `arrived_ps`: when
    all of it was in the receiver's memory (None: never). `sent_ps`: when its first packet went out, None where nobody
    looked. `nic` is the sender's interface; `queue_pair` the number of its QP there, and `first_sequence` up to, not
    including, `end_sequence` its packets, counted from 0 and never wrapped (of a message that is split over queue
    pairs: its first part). These are None and 0 for what crosses an NVLink domain. `control`: a clear-to-send, or a
    zero-byte message that says that a buffer may be used again.
    """

    source: str
    destination: str
    step: int
    piece: int
    size_bytes: int
    posted_ps: int
    granted_ps: int | None
    sent_ps: int | None
    arrived_ps: int | None
    nic: str
    queue_pair: int | None
    first_sequence: int
    end_sequence: int
    control: bool = False


class IdealMessage(NamedTuple):
    """A message of the contention-free run, between ranks by number; times are model time as in the run."""

    source: int
    destination: int
    step: int
    piece: int
    posted_ps: int
    arrived_ps: int


@dataclass(frozen=True, slots=True)
class AdmissionCounts:
    """What receiver-driven admission did for a job: clear-to-sends sent and received, the most that one receiver had
    outstanding, and the time that all messages together waited for theirs.
    """

    sent: int
    received: int
    peak_outstanding: int
    wait_ps: int


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One rank's step: what it sent to others and received from them.

    `step` counts from 0 in each iteration; `phase` is the algorithm's name for it (reduce-scatter). `send_ps` is when
    the first piece of the step was posted, `receive_ps` when the last one had arrived; None when the step had no piece
    to send or to receive. `wait_ps` is how long the rank did nothing but wait for pieces of this step.
    """

    rank: str
    iteration: int
    step: int
    phase: str
    send_ps: int | None
    receive_ps: int | None
    wait_ps: int


@dataclass(frozen=True, slots=True)
class CollectiveResult:
    """A collective's result, in the terms of nccl-tests.

    `name` is the job's. `ranks` are the ranks' names (`h3`, or `h3.1` where a host has several). `start_ps` to `end_ps`
    is the whole of it, compute phases included. `time_ps` is the mean time of an iteration without its compute phase:
    (end - start) / iterations - compute; `ideal_ps`, never more, is the same of the contention-free run
    (`traffic.collectives.contention_free`). Bandwidths as nccl-tests has them, in Gb/s instead of GB/s: algbw = size /
    time, and busbw = factor * algbw, which compares with a link's rate (nccl-tests doc/PERFORMANCE.md;
    `traffic.collectives.kinds` has the factors). With `buckets` above 1, communication overlaps with `compute_ps`:
    `time_ps` is what it adds to an iteration (the exposed communication), and there are no bandwidths. A straggler's
    extra compute counts as time here, but is not in the contention-free run.

    `stall_ps_by_rank`: for each rank, the time that it waited for data, less that which it waits in the contention-free
    run; never below 0. In a failed collective it counts up to the failure.

    `verified`: every element of every rank's result was right in every iteration (None: not asked for, or a failure
    came before all were compared); `wrong_elements` counts those that were not, of the results that there were.

    `messages` are those that its ranks sent each other, `ideal_messages` the same in the contention-free run.
    """

    kind: str
    algorithm: str
    ranks: tuple[str, ...]
    size_bytes: int
    iterations: int
    start_ps: int
    end_ps: int
    time_ps: int | None
    ideal_ps: int
    algbw_gbps: float | None
    busbw_gbps: float | None
    verified: bool | None
    wrong_elements: int
    stall_ps_by_rank: dict[str, int]
    steps: tuple[StepRecord, ...]
    waits: tuple[Wait, ...]
    failure: str | None
    name: str = ""
    operation: str = "sum"
    compute_ps: int = 0
    buckets: int = 1
    messages: tuple[MessageRecord, ...] = ()
    ideal_messages: tuple[IdealMessage, ...] = ()
    admission: AdmissionCounts | None = None
    is_collective: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One transfer from host `source` to host `destination`, of the work number `work` in the workload.

    `start_ps` is when it was posted, `end_ps` when its last packet had arrived (or when it failed); `time_ps` is the
    difference, the flow completion time. `ideal_ps`, never more, is that time with the fabric to itself. `goodput_gbps`
    counts payload only, in Gb/s. `verified`: the bytes that arrived were those sent (None: not asked for, or a failure
    came before all were compared); `wrong_bytes` counts those that were not, of the messages that were delivered.
    """

    source: str
    destination: str
    size_bytes: int
    start_ps: int
    end_ps: int
    time_ps: int | None
    ideal_ps: int
    goodput_gbps: float | None
    verified: bool | None
    wrong_bytes: int
    failure: str | None
    name: str = ""
    work: int = 0
    messages: tuple[MessageRecord, ...] = ()
    admission: AdmissionCounts | None = None
    is_collective: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class TraceCollectives:
    """Collectives alike of a trace: `count` of `size_bytes` (scaled, as nccl-tests counts them) in `group`.

    `time_ps` is the mean from the last rank's start of one to its end at the last rank; `ideal_ps` the same of the
    contention-free replay. None where one was not finished, or there was nothing to do.
    """

    kind: str
    algorithm: str
    group: str
    ranks: int
    size_bytes: int
    count: int
    time_ps: int | None
    ideal_ps: int | None
    algbw_gbps: float | None
    busbw_gbps: float | None


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One node of a trace at rank `rank`: what it is (``compute``, ``all-reduce``), on which stream or of which group,
    and when it started and ended, in this run and in the contention-free one; in model time. None: it never did."""

    rank: str
    node: str
    name: str
    what: str
    stream: str
    start_ps: int | None
    end_ps: int | None
    ideal_start_ps: int | None
    ideal_end_ps: int | None


@dataclass(frozen=True, slots=True)
class TraceResult:
    """The replay of a trace.

    `time_ps` is from its start to the end of the last node of any rank, over all `iterations`; `ideal_ps`, never more,
    is the same of the contention-free replay, and `critical_path_ps` with a network that takes no time. For each rank:
    `compute_ps_by_rank` is how long it computed, `exposed_ps_by_rank` how long it computed nothing although it had
    something left to do, and `stall_ps_by_rank` by how much that is more than in the contention-free replay, never
    below 0. `waits` has both, by rank and in the order of time: `COMPUTE`, or the node that ended the wait; `step`
    counts them.

    `unknown` counts nodes that were not understood, by the name of their type, `left_out` what the files have beside
    nodes, `stand_ins` collectives replayed as another kind. `verified`: every result was compared, and right;
    `wrong_elements` counts elements and bytes of messages that were not.
    """

    name: str
    format: str
    files: tuple[str, ...]
    iterations: int
    ranks: tuple[str, ...]
    nodes: tuple[TraceNode, ...]
    start_ps: int
    end_ps: int
    time_ps: int | None
    ideal_ps: int
    critical_path_ps: int
    compute_ps_by_rank: dict[str, int]
    exposed_ps_by_rank: dict[str, int]
    stall_ps_by_rank: dict[str, int]
    collectives: tuple[TraceCollectives, ...]
    sends: int
    sent_bytes: int
    unknown: dict[str, int]
    left_out: dict[str, int]
    stand_ins: dict[str, int]
    verified: bool | None
    wrong_elements: int
    waits: tuple[Wait, ...]
    failure: str | None
    messages: tuple[MessageRecord, ...] = ()
    ideal_messages: tuple[IdealMessage, ...] = ()
    is_collective: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class ReplayFlow:
    """What became of the packets from host `source` to the queue pair `queue_pair` of host `destination`: `frames`
    sent, `delivered`, `marked` by switches on their way, `marked_before` in the capture, `out_of_order`: overtaken by a
    later one; `dropped` by reason.
    """

    source: str
    destination: str
    queue_pair: int
    frames: int
    delivered: int
    marked: int
    marked_before: int
    out_of_order: int
    dropped: dict[str, int]


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The replay of a capture.

    `packets` are RoCEv2 packets in the file, of which `wrong_icrc` have a wrong ICRC and keep it; `others` counts its
    other frames, which are not sent, by what they are. `hosts` are those that have the place of the file's addresses.
    `file_span_ps` is from the first to the last packet of the file, `delivery_span_ps` from the first to the last
    arrival (None: nothing arrived). `latencies_ps`, sorted, are from a packet's first bit sent to its last one
    received; `latest_wait_ps` is the longest that one waited in its NIC. `end_ps`: when the last packet had arrived,
    or was lost.
    """

    name: str
    file: str
    hosts: dict[str, str]
    start_ps: int
    end_ps: int
    packets: int
    sent: int
    delivered: int
    marked: int
    out_of_order: int
    dropped: dict[str, int]
    wrong_icrc: int
    others: dict[str, int]
    file_span_ps: int
    delivery_span_ps: int | None
    latencies_ps: tuple[int, ...]
    latest_wait_ps: int
    flows: tuple[ReplayFlow, ...]
    failure: str | None
    is_collective: ClassVar[bool] = False


def is_for_data(wait: Wait) -> bool:
    """Return whether a rank waited for others, and not for its own computing or its start."""
    return wait.what not in (COMPUTE, START)


def data_wait_ps(waits: Iterable[Wait]) -> int:
    """Return the time spent waiting for data."""
    return sum(wait.end_ps - wait.start_ps for wait in waits if is_for_data(wait))


def gbps(size_bytes: int, time_ps: int) -> float:
    """Return `size_bytes` in `time_ps` as Gb/s (10^9 bits per second)."""
    return size_bytes * 8 * SECOND / time_ps / 1e9
