"""A job: one collective or one flow under way, with its processes, its communicator and its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from testbed.engine.loop import EventLoop
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import TransportOptions
from traffic.collectives.communicator import Communicator, Member
from traffic.collectives.process import Pause, Process
from traffic.nic import Nic, udp_source_port
from traffic.results import CollectiveResult, FlowResult


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
    """Where a job runs: the fabric, its clock, how its NICs are set, the seed of its data."""

    plan: FabricPlan
    loop: EventLoop
    transport: TransportOptions
    seed: int
    source_port: Callable[[Nic, Nic], int]


class Job(ABC):
    """One piece of a workload.

    Attributes:
        name: for messages. done: nothing more will happen: all data has arrived and is acknowledged, or the job failed.
        failure: why it failed, None when it did not. start_ps, end_ps: from the first process's start to the arrival
            of the last data (acknowledgements not counted), or to the failure.
    """

    def __init__(self, name: str, setting: Setting, members: Sequence[Member], buffer_bytes: int) -> None:
        self.name = name
        self.done = False
        self.failure: str | None = None
        self.start_ps = self.end_ps = setting.loop.now
        self._setting = setting
        self._members = members
        self._processes: list[Process] = []
        self._arrived = False
        self._communicator = Communicator(
            name, members, buffer_bytes, setting.loop, setting.transport, setting.source_port
        )
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

    @property
    @abstractmethod
    def data_packets(self) -> int:
        """How many data packets the job takes when none is sent twice."""

    @abstractmethod
    def result(self) -> CollectiveResult | FlowResult:
        """Return the result, once the job is done."""
