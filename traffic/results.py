"""What a workload gives: one frozen result for each collective and each flow. Times are model time in picoseconds.

What has no value in a workload that failed (a completion time, a bandwidth) is None; `failure` then says why.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from testbed.units import SECOND

COMPUTE = "compute"
"""What a rank waits for in a compute phase; every other wait is for data."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Rank `rank` (its host's name) waited for `what` of step `step` (of all iterations), piece `piece`."""

    rank: str
    what: str
    step: int
    piece: int
    start_ps: int
    end_ps: int


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One rank's step: what it sent to its right neighbour and received from its left one.

    `step` counts from 0 in each iteration; `phase` is reduce-scatter or all-gather. `send_ps` is when the first piece
    of the step was posted, `receive_ps` when the last one had arrived; None when the step had no piece to send or to
    receive. `wait_ps` is how long the rank did nothing but wait for pieces of this step.
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

    `ranks` are host names in ring order. `start_ps` to `end_ps` is the whole of it, compute phases included. `time_ps`
    is the mean time of an iteration without its compute phase: (end - start) / iterations - compute; `ideal_ps`, never
    more, is the same of the contention-free run (`traffic.collectives.contention_free`). Bandwidths as nccl-tests has
    them, in Gb/s instead of GB/s: algbw = size / time, and busbw = 2 (n - 1) / n * algbw, which compares with a link's
    rate (nccl-tests doc/PERFORMANCE.md).

    `stall_ps_by_rank`: for each rank, the time that it waited for data, less that which it waits in the contention-free
    run; never below 0. In a failed collective it counts up to the failure.

    `verified`: every element of every rank's result was right in every iteration (None: not asked for, or a failure
    came before all were compared); `wrong_elements` counts those that were not, of the results that there were.
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
    is_collective: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One transfer from host `source` to host `destination`.

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
    is_collective: ClassVar[bool] = False


def data_wait_ps(waits: Iterable[Wait]) -> int:
    """Return the time spent waiting for data."""
    return sum(wait.end_ps - wait.start_ps for wait in waits if wait.what != COMPUTE)


def gbps(size_bytes: int, time_ps: int) -> float:
    """Return `size_bytes` in `time_ps` as Gb/s (10^9 bits per second)."""
    return size_bytes * 8 * SECOND / time_ps / 1e9
