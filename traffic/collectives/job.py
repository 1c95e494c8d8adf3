"""A job: one collective or one flow under way, with its processes, its communicator and its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace

from testbed.engine.loop import EventLoop
from testbed.fabric.plan import FabricPlan
from testbed.scenario.collectives import JobOptions
from testbed.scenario.model import TransportOptions
from traffic.collectives.admission import Gate
from traffic.collectives.algorithm import Connection
from traffic.collectives.communicator import Communicator, Member, Wiring
from traffic.collectives.contention_free import IdealLink, NvlinkPath, RdmaPath
from traffic.collectives.ideal_path import path_timing
from traffic.collectives.process import Pause, Process
from traffic.nic import Nic, udp_source_port
from traffic.results import AdmissionCounts, CollectiveResult, FlowResult, ReplayResult, TraceResult


class SourcePorts:
    """Gives each QP of a run its UDP source port: those of one pair of NICs are all different."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._used: dict[tuple[str, str], int] = {}

    def __call__(self, source: Nic, destination: Nic) -> int:
        pair = source.name, destination.name
        index = self._used.get(pair, 0)
        self._used[pair] = index + 1
        return udp_source_port(self._seed, *pair, index)


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a job runs: the fabric, its clock, how its messages travel, the seed of its data."""

    plan: FabricPlan
    loop: EventLoop
    wiring: Wiring
    seed: int

    @property
    def transport(self) -> TransportOptions:
        """How its NICs are set."""
        return self.wiring.transport

    def for_work(self, work: JobOptions, seed: int) -> Setting:
        """Return the setting of one work: with what it says of its own, and the seed of its data."""
        own = {"qps_per_connection": work.qps_per_connection, "traffic_class": work.traffic_class}
        transport = self.transport.model_copy(update={key: value for key, value in own.items() if value is not None})
        wiring = replace(self.wiring, transport=transport, spread=work.spread, admission=work.admission)
        return replace(self, wiring=wiring, seed=seed)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a rank is in its job: data received, of that which it is going to receive, both in bytes.

    `waits_for`: in words (``data from h3``), since `since_ps`; None, and 0, when it waits for nothing.
    """

    rank: str
    received_bytes: int
    expected_bytes: int
    waits_for: str | None
    since_ps: int


class Job(ABC):
    """One piece of a workload.

    Attributes:
        name: for messages. done: nothing more will happen: all data has arrived and is acknowledged, or the job failed.
        failure: why it failed, None when it did not. start_ps, end_ps: from the first process's start to the arrival
            of the last data (acknowledgements not counted), or to the failure.
    """

    def __init__(
        self,
        name: str,
        setting: Setting,
        members: Sequence[Member],
        buffer_bytes: int,
        gates: Mapping[int, Gate] | None = None,
    ) -> None:
        self.name = name
        self.done = False
        self.failure: str | None = None
        self.start_ps = self.end_ps = setting.loop.now
        self._setting = setting
        self._members = members
        self._processes: list[Process] = []
        self._arrived = False
        self._communicator = Communicator(name, members, buffer_bytes, setting.loop, setting.wiring, gates)
        self._communicator.on_failure = self._fail
        self._communicator.on_settled = self._look_for_end

    def _run(self, name: str, program: Coroutine[Pause, None, None]) -> None:
        process = Process(self._setting.loop, name, program, self._process_done)
        self._processes.append(process)
        process.start()

    def _process_done(self) -> None:
        if all(process.done for process in self._processes):
            self._arrived = True
            self.end_ps = self._setting.loop.now
            self._look_for_end()

    def _look_for_end(self) -> None:
        self.done = self.done or (self._arrived and not self._communicator.outstanding)

    def give_up(self, reason: str) -> None:
        """End the job where it is, failed for `reason`: the fabric will not carry its data any more."""
        self._communicator.close()
        self._fail(reason)

    def _fail(self, reason: str) -> None:
        """A QP failed. After the last data this still is a failure: the sender never learnt that it had arrived."""
        self.failure = reason
        if not self._arrived:
            self.end_ps = self._setting.loop.now
        for process in self._processes:
            process.stop()
        self.done = True

    def waiting_for(self) -> str:
        """Return what the job's processes wait for, in words."""
        waiting = [process.waiting_for() for process in self._processes if not process.done]
        if not waiting:
            waiting = [f"{self._communicator.outstanding} messages not acknowledged"]
        return f"{self.name}: {'; '.join(waiting)}"

    def standings(self) -> list[Standing]:
        """Return where each rank is now: what a watcher of the run wants to know."""
        return [
            Standing(endpoint.name, endpoint.received_bytes, expected, *self._pause_of(rank))
            for rank, (endpoint, expected) in enumerate(
                zip(self._communicator.endpoints, self.expected_bytes, strict=True)
            )
        ]

    def _pause_of(self, rank: int) -> tuple[str | None, int]:
        """Return what a rank waits for, in words, and since when."""
        pause = self._processes[rank].pause
        return (None, 0) if pause is None else (pause[0].what, pause[1])

    @property
    @abstractmethod
    def expected_bytes(self) -> Sequence[int]:
        """How many bytes of data each rank is going to receive, by rank."""

    def _by_nic(self, source: int, destination: int) -> bool:
        """Whether two ranks talk through their NICs, and not over NVLink."""
        return self._setting.wiring.domain_of(self._members[source], self._members[destination]) is None

    def _ideal_link(self, connection: Connection) -> IdealLink:
        """Return what a connection is without contention."""
        here, there = self._members[connection.source], self._members[connection.destination]
        wiring, plan = self._setting.wiring, self._setting.plan
        domain = wiring.domain_of(here, there)
        if domain is not None:
            return NvlinkPath(domain.options, (f"{here.host}.{here.local}", f"{there.host}.{there.local}"))
        timing = path_timing(plan, here.nic.name, there.nic.name)
        return RdmaPath(timing, (here.nic.name, there.nic.name), wiring.transport, plan.ip_version, wiring.spread)

    def _admission(self) -> AdmissionCounts | None:
        """What admission did; None without."""
        if self._setting.wiring.admission is None:
            return None
        peak = max((gate.peak for gate in self._communicator.gates.values()), default=0)
        return self._communicator.log.admission(peak)

    @property
    @abstractmethod
    def data_packets(self) -> int:
        """How many data packets the job takes when none is sent twice."""

    @abstractmethod
    def result(self) -> CollectiveResult | FlowResult | TraceResult | ReplayResult:
        """Return the result, once the job is done."""
