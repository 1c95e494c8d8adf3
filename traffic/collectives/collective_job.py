"""A collective under way: its ranks' programs over RDMA and NVLink, its check, and its comparison with the
contention-free run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from testbed.engine.loop import EventLoop
from testbed.scenario.collectives import Collective, SendRecv
from testbed.scenario.limits import ELEMENT_BYTES
from testbed.scenario.placement import Rank
from testbed.scenario.shapes import shapes_of
from traffic.collectives.algorithm import Algorithm, Connection, Shape
from traffic.collectives.algorithms import algorithms
from traffic.collectives.communicator import Member
from traffic.collectives.contention_free import IdealFabric
from traffic.collectives.endpoint import Endpoint
from traffic.collectives.job import Job, Setting
from traffic.collectives.kinds import bus_factor, operation, synchronises
from traffic.collectives.memory import SETS, Layout, Memory, NoNumbers
from traffic.collectives.numbers import Numbers
from traffic.collectives.process import Process
from traffic.collectives.program import Pace, RankProgram, exposed
from traffic.collectives.rehearsal import Part, rehearse
from traffic.collectives.rounds import Rounds
from traffic.collectives.step_log import StepLog
from traffic.nic import Nic
from traffic.results import CollectiveResult, IdealMessage, Wait, data_wait_ps, gbps


@dataclass(frozen=True)
class Ideal:
    """A contention-free run: its end, each rank's waits, by rank, and all messages."""

    end_ps: int
    waits: Sequence[Sequence[Wait]]
    messages: Sequence[IdealMessage]


def algorithms_for(work: Collective, ranks: Sequence[Rank], seed: int) -> list[Algorithm]:
    """Return the algorithm of each bucket of a checked `work`."""
    make = algorithms[f"{work.kind}/{work.algorithm}"]
    return [make(shape) for shape in shapes_of(work, ranks, seed)]


def needed_bytes(work: Collective, ranks: Sequence[Rank], seed: int) -> int:
    """Return the memory that the numbers of a checked, verified `work` take."""
    made = algorithms_for(work, ranks, seed)
    rounds = work.iterations * len(made)
    return Numbers.needed_bytes(Layout(made, rounds), [each.shape for each in made], rounds)


class CollectiveJob(Job):
    """A collective of `work` among ranks, given with their NICs; `seed` is the scenario's."""

    def __init__(
        self, name: str, work: Collective, ranks: Sequence[tuple[Rank, Nic]], setting: Setting, seed: int
    ) -> None:
        self._work = work
        self._rounds = rounds = Rounds(algorithms_for(work, [rank for rank, _ in ranks], seed), work.iterations)
        self._layout = Layout(rounds.algorithms, rounds.count)
        self._real = Numbers(self._layout, self._shapes, rounds.count, setting.seed) if work.verify else None
        self._log = StepLog()
        members = [
            Member(rank.name, nic, self._real.memory(number) if self._real else None, rank.host, rank.local)
            for number, (rank, nic) in enumerate(ranks)
        ]
        super().__init__(name, setting, members, self._layout.buffer_bytes)
        self.start_ps = self.end_ps = setting.loop.now + work.start
        for connection in self._connections:
            self._communicator.connect(*connection)
        if self._tells_readiness:
            self._communicator.tell_readiness(rounds.steps, rounds.count)
        memory: Memory = self._real or NoNumbers(self._layout)
        self._programs = [
            self._program(endpoint, memory, self._log, self._pace(endpoint.name))
            for endpoint in self._communicator.endpoints
        ]
        for endpoint, program in zip(self._communicator.endpoints, self._programs, strict=True):
            self._run(endpoint.name, program.run())

    # --- what is run --------------------------------------------------------------------------------------------------

    @property
    def _shapes(self) -> list[Shape]:
        return [algorithm.shape for algorithm in self._rounds.algorithms]

    @cached_property
    def _connections(self) -> tuple[Connection, ...]:
        connections = (each for algorithm in self._rounds.algorithms for each in algorithm.connections())
        return tuple(dict.fromkeys(connections))

    @property
    def _tells_readiness(self) -> bool:
        return self._rounds.count > SETS and not all(map(synchronises, self._shapes))

    @cached_property
    def _parts(self) -> list[list[Part]]:
        """What each rank does in a round, by bucket."""
        ranks = range(self._shapes[0].ranks)
        return [[rehearse(algorithm, rank) for rank in ranks] for algorithm in self._rounds.algorithms]

    def _program(self, endpoint: Endpoint, memory: Memory, log: StepLog, pace: Pace) -> RankProgram:
        receives = [parts[endpoint.rank].receives for parts in self._parts]
        return RankProgram(endpoint, self._rounds, memory, log, pace, receives)

    def _pace(self, rank: str) -> Pace:
        """When a rank computes; a pipeline's stages do so within the round."""
        work, straggler = self._work, self._work.straggler
        compute_ps = 0 if isinstance(work, SendRecv) else work.compute
        pace = Pace(work.start, work.iterations, compute_ps)
        if straggler is None or straggler.rank != rank:
            return pace
        return replace(pace, extra_ps=straggler.compute, late=straggler.iteration)

    # --- how many packets it takes ------------------------------------------------------------------------------------

    @cached_property
    def data_packets(self) -> int:
        return sum(self._packets_of(parts) * self._work.iterations for parts in self._parts) + self._told_pairs * max(
            0, self._rounds.count - SETS
        )

    @cached_property
    def expected_bytes(self) -> Sequence[int]:
        expected = [0] * len(self._members)
        for parts in self._parts:
            for sent in (sent for part in parts for sent in part.sends):
                expected[sent.peer] += sent.size * self._work.iterations
        return expected

    def _packets_of(self, parts: Sequence[Part]) -> int:
        """The packets of a round: those of all messages that go through NICs, and of what clears them."""
        sizes: Counter[int] = Counter()
        for rank, part in enumerate(parts):
            sizes.update(sent.size for sent in part.sends if self._by_nic(rank, sent.peer))
        return sum(self._setting.wiring.packets(size) * count for size, count in sizes.items())

    @property
    def _told_pairs(self) -> int:
        """How many pairs of ranks tell each other of their readiness through their NICs."""
        if not self._tells_readiness:
            return 0
        pairs = {(source, destination) for source, destination, _ in self._connections}
        return sum(self._by_nic(*pair) for pair in pairs)

    # --- results ------------------------------------------------------------------------------------------------------

    def result(self) -> CollectiveResult:
        work = self._work
        names = tuple(member.name for member in self._members)
        waits_by_rank = [self._waits(number) for number in range(len(names))]
        waits = tuple(wait for waits in waits_by_rank for wait in waits)
        time_ps = None if self.failure else self._iteration_ps(self.end_ps - self.start_ps)
        size_bytes = self._size_bytes
        algbw = gbps(size_bytes, time_ps) if time_ps and self._rounds.buckets == 1 else None
        return CollectiveResult(
            kind=work.kind,
            algorithm=work.algorithm,
            ranks=names,
            size_bytes=size_bytes,
            iterations=work.iterations,
            start_ps=self.start_ps,
            end_ps=self.end_ps,
            time_ps=time_ps,
            ideal_ps=self._iteration_ps(self.ideal.end_ps - work.start),
            algbw_gbps=algbw,
            busbw_gbps=algbw * float(bus_factor(self._shapes[0])) if algbw else None,
            verified=self._verified(),
            wrong_elements=self._real.wrong_elements if self._real else 0,
            stall_ps_by_rank={
                name: max(0, data_wait_ps(real) - data_wait_ps(ideal))
                for name, real, ideal in zip(names, waits_by_rank, self.ideal.waits, strict=True)
            },
            steps=self._log.records(names, self._rounds, waits),
            waits=waits,
            failure=self.failure,
            name=self.name,
            operation=operation(work.kind),
            compute_ps=work.compute,
            buckets=self._rounds.buckets,
            messages=self._communicator.log.records(names),
            ideal_messages=tuple(self.ideal.messages),
            admission=self._admission(),
        )

    def _waits(self, rank: int) -> Sequence[Wait]:
        """A rank's waits: with buckets, what it computes meanwhile is not waited for."""
        waits = self._processes[rank].waits
        return exposed(waits, self._programs[rank].computing) if self._rounds.buckets > 1 else waits

    @property
    def _size_bytes(self) -> int:
        return sum(shape.elements for shape in self._shapes) * ELEMENT_BYTES

    def _iteration_ps(self, whole_ps: int) -> int:
        """Return the mean time of an iteration, its compute phase not counted."""
        return whole_ps // self._work.iterations - self._work.compute

    def _verified(self) -> bool | None:
        """Whether every rank's result of every round was compared, and right; None when a failure came before."""
        if self._real is None:
            return None
        if self._real.wrong_elements:
            return False
        all_compared = self._real.checked == len(self._members) * self._rounds.count
        return None if self.failure and not all_compared else all_compared

    # --- the contention-free run --------------------------------------------------------------------------------------

    @cached_property
    def ideal(self) -> Ideal:
        """The same programs over the ideal fabric; a straggler is none there."""
        loop = EventLoop()
        fabric = IdealFabric(
            loop,
            len(self._members),
            {connection: self._ideal_link(connection) for connection in self._connections},
            steps=self._rounds.steps,
            tells_readiness=self._tells_readiness,
        )
        ends: list[int] = []
        programs = [
            self._program(endpoint, NoNumbers(self._layout), StepLog(), self._pace("")) for endpoint in fabric.endpoints
        ]
        processes = [
            Process(loop, member.name, program.run(), lambda: ends.append(loop.now))
            for member, program in zip(self._members, programs, strict=True)
        ]
        for process in processes:
            process.start()
        loop.run()
        assert len(ends) == len(processes), "a contention-free run came to its end"
        waits = [
            exposed(process.waits, program.computing) if self._rounds.buckets > 1 else process.waits
            for process, program in zip(processes, programs, strict=True)
        ]
        return Ideal(max(fabric.through_ps, *ends), waits, fabric.messages)
