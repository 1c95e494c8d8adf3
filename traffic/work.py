"""Starts a scenario's workload on the NICs of a fabric: one job for each collective and each flow.

The workload has been checked with its scenario (`testbed.scenario.semantics`), so nothing is refused here.
"""

from collections.abc import Mapping, Sequence

from testbed.engine.loop import EventLoop
from testbed.fabric.plan import FabricPlan
from testbed.scenario.limits import ELEMENT_BYTES
from testbed.scenario.model import Flows, RingAllReduce, TransportOptions, Work
from traffic.collectives.all_reduce import AllReduceJob
from traffic.collectives.flows import FlowJob, flows_of, needed_bytes
from traffic.collectives.job import Job, Setting, SourcePorts
from traffic.collectives.ring_buffers import RealBuffers
from traffic.nic import Nic

__all__ = ["Job", "memory_needed", "start_workload"]


def start_workload(
    workload: Sequence[Work],
    plan: FabricPlan,
    nics: Mapping[str, Nic],
    loop: EventLoop,
    seed: int,
    transport: TransportOptions,
) -> list[Job]:
    """Connect queue pairs and start all processes; packets flow when `loop` runs.

    `nics` are by the names of the plan; a rank uses its host's first NIC.
    """
    source_port = SourcePorts(seed)
    jobs: list[Job] = []
    for index, work in enumerate(workload):
        if isinstance(work, RingAllReduce):
            setting = Setting(plan, loop, transport, _data_seed(seed, len(jobs)), source_port)
            members = [(host, _nic(host, plan, nics)) for host in _ranks(work, plan)]
            jobs.append(AllReduceJob(f"ring all-reduce (workload.{index})", work, members, setting))
        else:
            jobs += _start_flows(work, Setting(plan, loop, transport, seed, source_port), nics, len(jobs))
    return jobs


def memory_needed(workload: Sequence[Work], plan: FabricPlan) -> int:
    """Return the bytes of memory that the data of `workload` takes at most: what works with ``verify: true`` carry."""
    return sum(_needed_bytes(work, plan) for work in workload if work.verify)


def _needed_bytes(work: Work, plan: FabricPlan) -> int:
    if isinstance(work, RingAllReduce):
        return RealBuffers.needed_bytes(len(_ranks(work, plan)), work.size // ELEMENT_BYTES, work.iterations)
    return needed_bytes(flows_of(work, plan))


def _start_flows(work: Flows, setting: Setting, nics: Mapping[str, Nic], first: int) -> list[FlowJob]:
    jobs = []
    for number, flow in enumerate(flows_of(work, setting.plan), start=first):
        source, destination = (_nic(host, setting.plan, nics) for host in (flow.source, flow.destination))
        seed = _data_seed(setting.seed, number)
        own = Setting(setting.plan, setting.loop, setting.transport, seed, setting.source_port)
        jobs.append(FlowJob(flow, source, destination, work.verify, own))
    return jobs


def _ranks(work: RingAllReduce, plan: FabricPlan) -> tuple[str, ...]:
    return tuple(host.name for host in plan.hosts) if work.ranks == "all" else work.ranks


def _nic(host: str, plan: FabricPlan, nics: Mapping[str, Nic]) -> Nic:
    return nics[plan.host_by_name[host].nics[0].name]


def _data_seed(seed: int, job: int) -> int:
    """Return the seed of a job's data: no two jobs carry the same."""
    return seed << 20 | job
