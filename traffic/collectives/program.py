"""What a rank does from the beginning of its job to the end: iterations of computing and communicating.

Without buckets, an iteration is a compute phase, then one round of the collective. With B buckets it is as in
data-parallel training: the backward pass yields the gradient bucket by bucket, and each bucket's collective starts when
its share of the compute phase is done, while the rank computes the next:

    compute   |--1--|--2--|--3--|
    collective      |==1==|==2===|===3===|

Bucket b of B is there b / B of the compute phase after the iteration began; rounds follow each other. What is left of
communication when the compute phase is over is exposed: the rank waits.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from traffic.collectives.endpoint import Endpoint, Receive
from traffic.collectives.memory import Layout, Memory
from traffic.collectives.rounds import Rounds
from traffic.collectives.step_log import StepLog
from traffic.collectives.together import Together
from traffic.results import COMPUTE, START, Wait


@dataclass(frozen=True, slots=True)
class Pace:
    """When a rank computes: `compute_ps` before each of `iterations`, which begin after `start_ps`; and, as a
    straggler, `extra_ps` more before iteration `late` (None: before each).
    """

    start_ps: int
    iterations: int
    compute_ps: int
    extra_ps: int = 0
    late: int | None = None

    def computing_ps(self, iteration: int) -> int:
        """Return how long the rank computes in an iteration."""
        return self.compute_ps + (self.extra_ps if self.late in (None, iteration) else 0)


class RankProgram:
    """The program of one rank. `computing` is when it computed: (begin, end) of each iteration, noted as it goes."""

    def __init__(
        self,
        endpoint: Endpoint,
        rounds: Rounds,
        memory: Memory,
        log: StepLog,
        pace: Pace,
        receives: Sequence[Sequence[Receive]],
    ) -> None:
        self.computing: list[tuple[int, int]] = []
        self._endpoint = endpoint
        self._rounds = rounds
        self._memory = memory
        self._log = log
        self._pace = pace
        self._receives = receives

    async def run(self) -> None:
        """Run all iterations."""
        endpoint, rounds = self._endpoint, self._rounds
        if self._pace.start_ps:
            await endpoint.sleep(self._pace.start_ps, START)
        for iteration in range(self._pace.iterations):
            began, computing_ps = endpoint.now, self._pace.computing_ps(iteration)
            self.computing.append((began, began + computing_ps))
            for bucket in range(rounds.buckets):
                ready = began + computing_ps * (bucket + 1) // rounds.buckets
                if ready > endpoint.now:
                    await endpoint.sleep(ready - endpoint.now, COMPUTE)
                await self._round(iteration * rounds.buckets + bucket, bucket)

    async def _round(self, number: int, bucket: int) -> None:
        endpoint, memory, rank = self._endpoint, self._memory, self._endpoint.rank
        first = number * self._rounds.steps
        await endpoint.begin(number, [(p, channel, first + step, n) for p, channel, step, n in self._receives[bucket]])
        memory.fill(rank, number)
        await self._rounds.algorithms[bucket].run(_RankSide(endpoint, memory, self._log, number, first))
        await endpoint.end(number)
        memory.check(rank, number)


class _RankSide:
    """One rank's side of one round; see `traffic.collectives.algorithm.Side`."""

    __slots__ = ("_endpoint", "_first", "_layout", "_log", "_memory", "_number", "rank")

    def __init__(self, endpoint: Endpoint, memory: Memory, log: StepLog, number: int, first: int) -> None:
        self.rank = endpoint.rank
        self._endpoint = endpoint
        self._memory = memory
        self._layout: Layout = memory.layout
        self._log = log
        self._number = number
        self._first = first

    def data(self, offset: int) -> int:
        return self._layout.data(self._number) + offset

    def input(self, offset: int) -> int:
        return self._layout.input(self._number) + offset

    def scratch(self, offset: int) -> int:
        return self._layout.scratch(self._number) + offset

    def send(self, peer: int, step: int, piece: int, *, source: int, target: int, size: int, channel: int = 0) -> None:
        endpoint, step = self._endpoint, self._first + step
        self._log.sent(self.rank, step, endpoint.now)
        endpoint.send(peer, step, piece, source_offset=source, target_offset=target, size_bytes=size, channel=channel)

    async def receive(self, peer: int, step: int, piece: int, channel: int = 0) -> None:
        step = self._first + step
        await self._endpoint.receive(peer, step, piece, channel)
        self._log.received(self.rank, step, self._endpoint.now)

    def add(self, target: int, source: int, size: int) -> None:
        self._memory.add(self.rank, target, source, size)

    def copy(self, target: int, source: int, size: int) -> None:
        self._memory.copy(self.rank, target, source, size)

    async def compute(self, duration_ps: int) -> None:
        if duration_ps:
            await self._endpoint.sleep(duration_ps, COMPUTE)

    async def together(self, *branches: Coroutine[Any, Any, None]) -> None:
        if branches:
            await Together(*branches)


def exposed(waits: Sequence[Wait], computing: Sequence[tuple[int, int]]) -> list[Wait]:
    """Return a rank's waits with what fell into its own computing turned into that: it did not wait then.

    Both are in the order of time, and neither overlaps with itself.
    """
    found: list[Wait] = []
    for wait in waits:
        at = wait.start_ps
        for begin, end in computing:
            low, high = max(at, begin), min(wait.end_ps, end)
            if low < high:
                found += _part(wait, at, low, wait.what) + _part(wait, low, high, COMPUTE)
                at = high
        found += _part(wait, at, wait.end_ps, wait.what)
    return found


def _part(wait: Wait, start_ps: int, end_ps: int, what: str) -> list[Wait]:
    if start_ps >= end_ps:
        return []
    return [Wait(wait.rank, what, wait.step, wait.piece, start_ps, end_ps)]
