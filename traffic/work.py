"""Starts a scenario's workload on the NICs of a fabric: one job for each collective and each flow.

The workload has been checked with its scenario (`testbed.scenario.semantics`), so nothing is refused here.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from testbed.engine.loop import EventLoop
from testbed.fabric.plan import FabricPlan
from testbed.scenario.collectives import Collective
from testbed.scenario.model import Flow, Flows, TransportOptions, Work
from testbed.scenario.placement import ranks_of
from testbed.scenario.replay import PacketReplay
from testbed.scenario.semantics_replay import hosts_by_address
from testbed.scenario.semantics_traces import trace_options
from testbed.scenario.traces import TraceReplay
from traffic.collectives import collective_job
from traffic.collectives.admission import Gate
from traffic.collectives.collective_job import CollectiveJob
from traffic.collectives.communicator import Wiring
from traffic.collectives.flow_patterns import flows_of
from traffic.collectives.flows import FlowJob, needed_bytes
from traffic.collectives.job import Job, Setting, SourcePorts
from traffic.nic import Nic
from traffic.nvlink import NvlinkDomain
from traffic.trace_replay.job import TraceJob, script_of
from traffic.trace_replay.memory import Numbers as TraceNumbers
from traffic.traces.matching import Matching
from traffic.traces.model import Trace

Verifiable = Collective | Flows | TraceReplay

__all__ = ["Job", "memory_needed", "start_workload"]


def start_workload(
    workload: Sequence[Work],
    plan: FabricPlan,
    nics: Mapping[str, Nic],
    loop: EventLoop,
    seed: int,
    transport: TransportOptions,
    domains: Mapping[str, NvlinkDomain] | None = None,
) -> list[Job]:
    """Connect queue pairs and start all processes; packets flow when `loop` runs.

    `nics` are by the names of the plan; `domains` are the NVLink domains of hosts, by the hosts' names.
    """
    setting = Setting(plan, loop, Wiring(transport, SourcePorts(seed), domains=domains or {}), seed)
    jobs: list[Job] = []
    for index, work in enumerate(workload):
        if isinstance(work, Collective):
            jobs.append(_start_collective(work, index, setting, nics, len(jobs)))
        elif isinstance(work, TraceReplay):
            jobs.append(_start_trace(work, index, setting, nics, len(jobs)))
        elif isinstance(work, PacketReplay):
            jobs.append(_start_replay(work, index, setting, nics))
        else:
            jobs += _start_flows(work, index, setting, nics, len(jobs))
    return jobs


def memory_needed(workload: Sequence[Work], plan: FabricPlan, seed: int = 1) -> int:
    """Return the bytes of memory that the data of `workload` takes at most: what works with ``verify: true`` carry."""
    return sum(_needed_bytes(work, index, plan, seed) for index, work in enumerate(workload) if _carries_data(work))


def _needed_bytes(work: Verifiable, index: int, plan: FabricPlan, seed: int) -> int:
    if isinstance(work, Collective):
        return collective_job.needed_bytes(work, ranks_of(work.ranks, plan, seed), seed)
    if isinstance(work, TraceReplay):
        trace, matching = _read(work)
        ranks = ranks_of(work.ranks, plan, seed)[: len(trace.ranks)]
        return TraceNumbers.needed_bytes(script_of(trace, matching, ranks, trace_options(work)))
    return needed_bytes(flows_of(work, plan, seed, index))


def _start_collective(
    work: Collective, index: int, setting: Setting, nics: Mapping[str, Nic], number: int
) -> CollectiveJob:
    ranks = ranks_of(work.ranks, setting.plan, setting.seed)
    members = [(rank, nics[rank.nic(setting.plan).name]) for rank in ranks]
    name = work.name or f"{work.algorithm} {work.kind} (workload.{index})"
    own = setting.for_work(work, _data_seed(setting.seed, number))
    return CollectiveJob(name, work, members, own, setting.seed)


def _read(work: TraceReplay) -> tuple[Trace, Matching]:
    from traffic.traces.reading import read_trace  # protobuf is slow to import, and few scenarios have a trace

    return read_trace(work.files, work.iterations)


def _start_trace(work: TraceReplay, index: int, setting: Setting, nics: Mapping[str, Nic], number: int) -> TraceJob:
    trace, matching = _read(work)
    ranks = ranks_of(work.ranks, setting.plan, setting.seed)[: len(trace.ranks)]
    members = [(rank, nics[rank.nic(setting.plan).name]) for rank in ranks]
    name = work.name or f"trace (workload.{index})"
    own = setting.for_work(work, _data_seed(setting.seed, number))
    return TraceJob(name, work, trace, matching, members, trace_options(work), own)


def _carries_data(work: Work) -> TypeGuard[Verifiable]:
    """Whether the work's data is in memory, to be compared."""
    return not isinstance(work, PacketReplay) and work.verify


def _start_replay(work: PacketReplay, index: int, setting: Setting, nics: Mapping[str, Nic]) -> Job:
    from traffic.replay.capture import survey_capture  # scapy is slow to import, and few scenarios have a capture
    from traffic.replay.job import ReplayJob

    found = survey_capture(Path(work.file))
    hosts = hosts_by_address(work, found, setting.plan)
    nics_of_hosts = {host.name: nics[host.nics[0].name] for host in setting.plan.hosts}
    return ReplayJob(work.name or f"replay (workload.{index})", work, found, hosts, nics_of_hosts, setting)


def _start_flows(work: Flows, index: int, setting: Setting, nics: Mapping[str, Nic], first: int) -> list[FlowJob]:
    jobs = []
    gates: dict[str, Gate] = {}
    for number, flow in enumerate(flows_of(work, setting.plan, setting.seed, index), start=first):
        source, destination = (nics[setting.plan.host_by_name[host].nics[0].name] for host in _ends(flow))
        gate = gates.setdefault(destination.name, Gate(work.admission.outstanding)) if work.admission else None
        own = setting.for_work(work, _data_seed(setting.seed, number))
        later = flow.model_copy(update={"start": work.start + flow.start})
        jobs.append(FlowJob(later, source, destination, work.verify, own, gate, work=index, name=work.name))
    return jobs


def _ends(flow: Flow) -> tuple[str, str]:
    return flow.source, flow.destination


def _data_seed(seed: int, job: int) -> int:
    """Return the seed of a job's data: no two jobs carry the same."""
    return seed << 20 | job
