"""The all-reduce job: a ring All-Reduce over RDMA, its check, and its comparison with the contention-free run."""

from __future__ import annotations

from collections.abc import Sequence

from testbed.engine.loop import EventLoop
from testbed.scenario.limits import ELEMENT_BYTES
from testbed.scenario.model import RingAllReduce
from traffic.collectives.communicator import Member
from traffic.collectives.contention_free import IdealFabric
from traffic.collectives.ideal_path import path_timing
from traffic.collectives.job import Job, Setting
from traffic.collectives.process import Process
from traffic.collectives.ring_all_reduce import Ring, ring_all_reduce
from traffic.collectives.ring_buffers import Layout, RealBuffers
from traffic.collectives.step_log import StepLog
from traffic.nic import Nic
from traffic.nic.segmentation import packet_count
from traffic.results import CollectiveResult, Wait, data_wait_ps, gbps

PHASES = ("reduce-scatter", "all-gather")


def ring_of(work: RingAllReduce, ranks: int) -> Ring:
    """Return the shape of the ring for a checked `work`: pieces are of its chunk, or else whole parts."""
    elements = work.size // ELEMENT_BYTES
    part = -(-elements // ranks)
    return Ring(ranks, elements, min(work.chunk // ELEMENT_BYTES, part) if work.chunk else part)


class AllReduceJob(Job):
    """A ring All-Reduce of `work` over hosts, given by name and NIC in ring order."""

    def __init__(self, name: str, work: RingAllReduce, hosts: Sequence[tuple[str, Nic]], setting: Setting) -> None:
        self._work = work
        self._ring = ring = ring_of(work, len(hosts))
        self._real = RealBuffers(ring.ranks, ring.elements, work.iterations, setting.seed) if work.verify else None
        self._buffers = self._real or Layout(ring.elements, work.iterations)
        self._log = StepLog()
        members = [
            Member(host, nic, self._real.memory(rank) if self._real else None) for rank, (host, nic) in enumerate(hosts)
        ]
        super().__init__(name, setting, members, self._buffers.buffer_bytes)
        for rank in range(ring.ranks):
            self._communicator.connect(rank, (rank + 1) % ring.ranks)
        for endpoint in self._communicator.endpoints:
            program = ring_all_reduce(endpoint, ring, self._buffers, self._log, work.iterations, work.compute)
            self._run(endpoint.name, program)

    @property
    def data_packets(self) -> int:
        ring, mtu = self._ring, self._setting.transport.mtu
        of_part = [sum(packet_count(size, mtu) for _, _, size in ring.pieces(part)) for part in range(ring.ranks)]
        return sum(of_part) * ring.steps * self._work.iterations  # in each step every part is sent by one rank

    def result(self) -> CollectiveResult:
        names = tuple(member.name for member in self._members)
        waits = tuple(wait for process in self._processes for wait in process.waits)
        ideal_end_ps, ideal_waits = self._contention_free()
        stall = {
            process.name: max(0, data_wait_ps(process.waits) - data_wait_ps(ideal))
            for process, ideal in zip(self._processes, ideal_waits, strict=True)
        }
        time_ps = None if self.failure else self._iteration_ps(self.end_ps - self.start_ps)
        algbw = gbps(self._work.size, time_ps) if time_ps else None
        ranks = self._ring.ranks
        return CollectiveResult(
            kind=self._work.kind,
            algorithm=self._work.algorithm,
            ranks=names,
            size_bytes=self._work.size,
            iterations=self._work.iterations,
            start_ps=self.start_ps,
            end_ps=self.end_ps,
            time_ps=time_ps,
            ideal_ps=self._iteration_ps(ideal_end_ps),
            algbw_gbps=algbw,
            busbw_gbps=algbw * 2 * (ranks - 1) / ranks if algbw else None,
            verified=self._verified(),
            wrong_elements=self._real.wrong_elements if self._real else 0,
            stall_ps_by_rank=stall,
            steps=self._log.records(names, self._ring.steps, waits, PHASES),
            waits=waits,
            failure=self.failure,
        )

    def _iteration_ps(self, whole_ps: int) -> int:
        """Return the mean time of an iteration, its compute phase not counted."""
        return whole_ps // self._work.iterations - self._work.compute

    def _verified(self) -> bool | None:
        """Whether every rank's result of every iteration was compared, and right; None when a failure came before."""
        if self._real is None:
            return None
        if self._real.wrong_elements:
            return False
        all_compared = self._real.checked == self._ring.ranks * self._work.iterations
        return None if self.failure and not all_compared else all_compared

    def _contention_free(self) -> tuple[int, list[list[Wait]]]:
        """Run the same algorithm over the ideal fabric; return its end and each rank's waits."""
        loop = EventLoop()
        ring, work, setting = self._ring, self._work, self._setting
        nics = [member.nic for member in self._members]
        paths = {}
        for rank in range(ring.ranks):
            right = (rank + 1) % ring.ranks
            paths[rank, right] = path_timing(setting.plan, nics[rank].name, nics[right].name)
        fabric = IdealFabric(loop, ring.ranks, paths, setting.transport, setting.plan.ip_version)
        ends: list[int] = []
        layout = Layout(ring.elements, work.iterations)
        processes = []
        for endpoint, member in zip(fabric.endpoints, self._members, strict=True):
            program = ring_all_reduce(endpoint, ring, layout, StepLog(), work.iterations, work.compute)
            processes.append(Process(loop, member.name, program, lambda: ends.append(loop.now)))
            processes[-1].start()
        loop.run()
        return max(ends), [process.waits for process in processes]
