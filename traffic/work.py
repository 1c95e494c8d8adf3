"""Starts a scenario's workload on the NICs of a fabric: one job for each collective and each flow."""

from collections.abc import Mapping, Sequence

from testbed.engine.loop import EventLoop
from testbed.errors import ScenarioError
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import Flows, RingAllReduce, TransportOptions, Work
from traffic.collectives.all_reduce import AllReduceJob
from traffic.collectives.flows import FlowJob, flows_of
from traffic.collectives.job import Job, Setting, SourcePorts
from traffic.nic import Nic

__all__ = ["Job", "start_workload"]


def start_workload(
    workload: Sequence[Work],
    plan: FabricPlan,
    nics: Mapping[str, Nic],
    loop: EventLoop,
    seed: int,
    transport: TransportOptions,
) -> list[Job]:
    """Connect queue pairs and start all processes; packets flow when `loop` runs.

    `nics` are by the names of the plan; a rank uses its host's first NIC. Raises ScenarioError for a work that cannot
    be done (unknown host, size that is no whole number of elements).
    """
    source_port = SourcePorts(seed)
    jobs: list[Job] = []
    for index, work in enumerate(workload):
        where = f"workload.{index}"
        if isinstance(work, RingAllReduce):
            hosts = _ranks(work, plan, where)
            setting = Setting(plan, loop, transport, _data_seed(seed, len(jobs)), source_port)
            members = [(host, _nic(host, plan, nics, where)) for host in hosts]
            jobs.append(AllReduceJob(f"ring all-reduce ({where})", where, work, members, setting))
        else:
            jobs += _start_flows(work, where, Setting(plan, loop, transport, seed, source_port), nics, len(jobs))
    return jobs


def _start_flows(work: Flows, where: str, setting: Setting, nics: Mapping[str, Nic], first: int) -> list[FlowJob]:
    jobs = []
    for number, flow in enumerate(flows_of(work, setting.plan, where)):
        source, destination = (_nic(host, setting.plan, nics, where) for host in (flow.source, flow.destination))
        if source is destination:
            raise ScenarioError(f"{where}.flows.{number}: expected two hosts, found {flow.source} twice")
        seed = _data_seed(setting.seed, first + number)
        own = Setting(setting.plan, setting.loop, setting.transport, seed, setting.source_port)
        jobs.append(FlowJob(flow, source, destination, work.verify, own))
    return jobs


def _ranks(work: RingAllReduce, plan: FabricPlan, where: str) -> tuple[str, ...]:
    hosts = tuple(host.name for host in plan.hosts) if work.ranks == "all" else work.ranks
    if len(set(hosts)) != len(hosts):
        twice = next(host for host in hosts if hosts.count(host) > 1)
        raise ScenarioError(f"{where}.ranks: expected each host once, found {twice} twice")
    return hosts


def _nic(host: str, plan: FabricPlan, nics: Mapping[str, Nic], where: str) -> Nic:
    if host not in plan.host_by_name:
        first, last = plan.hosts[0].name, plan.hosts[-1].name
        raise ScenarioError(f"{where}: expected a host of the fabric ({first} to {last}), found {host}")
    return nics[plan.host_by_name[host].nics[0].name]


def _data_seed(seed: int, job: int) -> int:
    """Return the seed of a job's data: no two jobs carry the same."""
    return seed << 20 | job
