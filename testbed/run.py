"""One run: from a checked scenario to a run directory. Everything else is a stage that this file calls in its order.

A run is a function of scenario and seed: it has no other state, and all that it leaves is its directory.
"""

import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.control.control import Control
from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.fabric import ModelFabric
from testbed.engine.faults import WireFaults
from testbed.engine.loop import EventLoop
from testbed.errors import TestbedError
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan, Port
from testbed.lab import Lab, fabric_up
from testbed.live.calibrate import Trial, calibrated
from testbed.live.host_nic import HostNic
from testbed.live.live import Live, packet_ps
from testbed.measurement.capture import PortCapture
from testbed.measurement.causes.collect import TransitCollector
from testbed.measurement.causes.explain import explained
from testbed.measurement.causes.model import Explanation
from testbed.measurement.history import History
from testbed.measurement.invariants import invariants
from testbed.measurement.pauses import pause_report
from testbed.measurement.recorder import DropRecorder
from testbed.measurement.records import Measurements, OvsRecord, PortRecord, WallRecord
from testbed.measurement.versions import versions
from testbed.outside import openvswitch
from testbed.outside.kernel_datapath import USER
from testbed.outside.memory import require_memory
from testbed.scenario.model import ControllerOptions, Scenario, Work
from traffic.nic import Nic
from traffic.nic.congestion import CongestionSample, CongestionStatistics
from traffic.nvlink import nvlink_domains
from traffic.results import CollectiveResult, FlowResult, ReplayResult, TraceResult
from traffic.work import Job, memory_needed, start_workload

_EVENTS_A_TURN = 20_000
"""Events between two looks at the processes a run depends on, and at the progress bar."""

_WALL_A_TURN_NS = 100_000_000
"""The same on the live clock: wall time."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out, apart from what it runs.

    `directory` is where a capture goes; `started` the wall time (time.monotonic) at which the user's command began;
    `progress` is called now and then with the run as it stands. `rate_factor`: on the live clock, wall time over model
    time, or 0 for one that the machine can hold; None: on the virtual clock. `datapath` is Open vSwitch's, ``user`` or
    ``kernel``.
    """

    directory: Path
    started: float
    progress: Callable[["Running"], None]
    rate_factor: int | None = None
    datapath: str = USER


class Running:
    """A run under way: the model with real switches beneath it; with a `rate_factor` on the live clock, `live`."""

    def __init__(self, scenario: Scenario, plan: FabricPlan, lab: Lab, rate_factor: int | None = None) -> None:
        self.scenario = scenario
        self.plan = plan
        self.loop = EventLoop()
        self.recorder = DropRecorder(plan, self.loop)
        qos = scenario.fabric.qos
        self.nics = {
            nic.name: (Nic if rate_factor is None else HostNic)(
                nic,
                self.loop,
                ip_version=plan.ip_version,
                on_drop=self.recorder.on_drop,
                priority_by_traffic_class=priority_by_traffic_class(qos.dscp) if qos is not None else bytes(256),
            )
            for nic in plan.nics
        }
        if scenario.measure.rates:
            for nic in self.nics.values():
                nic.congestion_samples = []
        self.control = Control(scenario, plan, self.loop, any_policy=rate_factor is not None)
        forwarders, endpoints = self.control.forwarders(lab.forwarders), self.control.endpoints(self.nics)
        self.fabric = ModelFabric(
            plan,
            self.loop,
            forwarders,
            endpoints,
            self.recorder.on_drop,
            qos,
            mtu=scenario.transport.mtu,
            seed=scenario.seed,
        )
        self.control.attach(self.fabric, lab.controller, lab.datapath, lab.maintenance)
        self.causes: TransitCollector | None = None
        if scenario.measure.causes and rate_factor is None:
            self.causes = TransitCollector.watching(self.nics.values(), self.fabric)
        self.faults = WireFaults(plan, self.fabric.transmitters, scenario.seed)
        self.faults.add(scenario.faults)
        self.fabric.storm(scenario.faults)
        self.domains = nvlink_domains(scenario.fabric.nvlink, plan.host_by_name, self.loop)
        self.jobs: list[Job] = []
        self.live = (
            None if rate_factor is None else Live(plan, self.loop, rate_factor, self.nics, lab, scenario.transport.mtu)
        )
        self._data_packets = 0
        self._lab = lab

    def start(self) -> None:
        """Start the workload: the first packets go out when the clock runs."""
        self.add(self.scenario.workload)
        self.control.start(self._all_done)

    def start_control(self) -> None:
        """Let the policy, if there is one, look at a fabric that has no workload yet."""
        self.control.start(lambda: False)

    def add(self, workload: Sequence[Work]) -> list[Job]:
        """Start checked `workload` now, beside what runs already; return its jobs."""
        scenario = self.scenario
        jobs = start_workload(
            workload, self.plan, self.nics, self.loop, scenario.seed, scenario.transport, self.domains
        )
        self.jobs += jobs
        self._data_packets += sum(job.data_packets for job in jobs)
        return jobs

    def share_done(self) -> float:
        """Return how much of the workload's data has been sent, retransmissions aside; 0 to 1."""
        if not self._data_packets:  # everything goes by NVLink
            return float(self._all_done())
        counters = [nic.counters for nic in self.nics.values()]
        return sum(each.sent_data_packets - each.retransmitted_packets for each in counters) / self._data_packets

    def finish(self, progress: Callable[["Running"], None]) -> None:
        """Run until every job is done and every frame has arrived, or nothing can move any more (a deadlock): then the
        jobs fail of that. Raises TestbedError when the model stops short for no such reason."""
        while self._advance():
            self._lab.check()
            progress(self)
            if self.fabric.stopped(work_left=any(not job.done for job in self.jobs)):
                break
        waiting = [job for job in self.jobs if not job.done]
        if self.fabric.halted is not None:
            for job in waiting:
                job.give_up(self.fabric.halted)
        elif waiting:
            raise TestbedError(
                "the model came to a stop with work left: " + "; ".join(job.waiting_for() for job in waiting)
            )
        progress(self)

    def _advance(self) -> bool:
        """Go on for a turn; return whether there is more to come."""
        if self.live is not None and self.live.advance(_WALL_A_TURN_NS, self._all_done):
            return True
        return self.loop.run_events(_EVENTS_A_TURN)

    def _all_done(self) -> bool:
        return all(job.done for job in self.jobs)


def run(scenario: Scenario, options: RunOptions) -> Measurements:
    """Carry out `scenario` and return what was measured. Call inside the sandbox."""
    plan = build_plan(scenario.fabric)
    require_memory(memory_needed(scenario.workload, plan, scenario.seed))
    log = options.directory / "openflow.log" if scenario.measure.openflow_log else None
    kernels = options.rate_factor is not None
    with fabric_up(plan, scenario.controller, openflow_log=log, kernels=kernels, datapath=options.datapath) as lab:
        wanted = options.rate_factor
        factor = None if wanted is None else rate_factor_for(scenario, plan, lab, wanted)
        return _run_on(lab, scenario, plan, options, factor)


@contextmanager
def one_fabric(scenarios: Sequence[Scenario]) -> Iterator[Callable[[Scenario, RunOptions], Measurements]]:
    """Yield what carries out one of `scenarios` after the other, as `run` does, but on a fabric brought up once.

    The scenarios differ in their workloads alone, and the clock is virtual; model time begins afresh with each. A
    controller that may keep something of what it has seen (a policy, a learning switch) would let one workload change
    the next one's result, so then each gets a fabric of its own after all. Call inside the sandbox.
    """
    first = scenarios[0]
    if not _own_rules(first.controller):
        yield run
        return
    plan = build_plan(first.fabric)
    require_memory(max(memory_needed(scenario.workload, plan, scenario.seed) for scenario in scenarios))
    with fabric_up(plan, first.controller) as lab:

        def run_next(scenario: Scenario, options: RunOptions) -> Measurements:
            lab.datapath.settle()
            return _run_on(lab, scenario, plan, options)

        yield run_next


def _run_on(
    lab: Lab, scenario: Scenario, plan: FabricPlan, options: RunOptions, rate_factor: int | None = None
) -> Measurements:
    """Carry out `scenario` on a fabric that is up."""
    running = Running(scenario, plan, lab, rate_factor)
    running.start()
    history = History(running.fabric, running.nics, running.loop) if scenario.measure.series else None
    captured = _captured_ports(scenario, plan)
    with PortCapture.of(running.fabric, options.directory / "capture.pcapng", captured):
        first_packet = time.monotonic()
        running.finish(options.progress)
        finished = time.monotonic()
    return _measurements(running, history, lab, options.started, first_packet, finished)


def rate_factor_for(scenario: Scenario, plan: FabricPlan, lab: Lab, wanted: int) -> int:
    """Return the live clock's factor; 0 is replaced by what trials of the scenario, without its policy, show."""
    if wanted != 0:
        return wanted
    without_policy = scenario.controller.model_copy(update={"policy": None})

    def trial() -> Trial:
        lab.datapath.settle()
        running = Running(scenario.model_copy(update={"controller": without_policy}), plan, lab)
        running.start()
        nics = running.nics.values()
        return Trial(running.loop, lambda: sum(nic.counters.sent_data_packets for nic in nics))

    factor = calibrated(trial, packet_ps(plan, scenario.transport.mtu), len(plan.nics))
    lab.datapath.settle()
    return factor


def _captured_ports(scenario: Scenario, plan: FabricPlan) -> tuple[str, ...]:
    capture = scenario.measure.capture
    return tuple(port.name for port in plan.ports()) if capture == "all" else capture


def _measurements(
    running: Running, history: History | None, lab: Lab, started: float, first_packet: float, finished: float
) -> Measurements:
    everything = [job.result() for job in running.jobs]
    replays = tuple(result for result in everything if isinstance(result, ReplayResult))
    results = [result for result in everything if not isinstance(result, ReplayResult)]
    nics = {name: dict(nic.statistics()) for name, nic in running.nics.items()}
    fabric, drops = running.fabric, tuple(running.recorder.records)
    duration_ps = max(result.end_ps for result in everything)
    ovs, pauses = _ovs_record(lab), pause_report(fabric)
    nvlink = tuple(domain.statistics() for domain in running.domains.values())
    series = None if history is None else history.series(duration_ps, drops)
    explanation = None if running.causes is None else explained(running.causes, fabric, drops, pauses, results)
    return Measurements(
        scenario=running.scenario,
        plan=running.plan,
        versions=versions(open_vswitch=openvswitch.version(), controller=lab.controller_version),
        duration_ps=duration_ps,
        collectives=tuple(result for result in results if isinstance(result, CollectiveResult)),
        flows=tuple(result for result in results if isinstance(result, FlowResult)),
        traces=tuple(result for result in results if isinstance(result, TraceResult)),
        replays=replays,
        failure=next((result.failure for result in everything if result.failure), None),
        drops=drops,
        ports=tuple(_port_record(running, port) for port in running.plan.ports()),
        nics=nics,
        retransmitted_packets=sum(counters["retransmitted_packets"] for counters in nics.values()),
        ovs=ovs,
        invariants=(
            *invariants(
                fabric,
                nics,
                drops,
                running.jobs,
                results,
                lab.counter_differences(),
                ovs.unsolicited,
                copied_data_packets=running.control.copied_data_packets,
                openflow_marked_packets=running.control.openflow_marked_packets,
                own_rules=_own_rules(running.scenario.controller),
                explanation=explanation,
                series=series,
                nvlink=nvlink,
                replays=replays,
            ),
            running.control.on_model_time(lab.controller.status(), duration_ps),
        ),
        wall=_wall_record(fabric, lab, started, first_packet, finished),
        control=running.control.measured(),
        switches={name: switch.statistics() for name, switch in fabric.switches.items()},
        pauses=pauses,
        congestion=tuple(_congestion(running.nics.values())),
        congestion_samples=_samples(running.nics.values()),
        live=running.live.record() if running.live else None,
        explanation=explanation if isinstance(explanation, Explanation) else None,
        nvlink=nvlink,
        series=series,
        events=None if history is None else history.events(duration_ps, drops, pauses, running.scenario.faults),
    )


def snapshot(running: Running, lab: Lab) -> Measurements:
    """Return what has been measured of a run that goes on: counters and records, but no results and no judgement."""
    nics = {name: dict(nic.statistics()) for name, nic in running.nics.items()}
    now = time.monotonic()
    return Measurements(
        scenario=running.scenario,
        plan=running.plan,
        versions={},
        duration_ps=running.loop.now,
        collectives=(),
        flows=(),
        failure=None,
        drops=tuple(running.recorder.records),
        ports=tuple(_port_record(running, port) for port in running.plan.ports()),
        nics=nics,
        retransmitted_packets=sum(counters["retransmitted_packets"] for counters in nics.values()),
        ovs=_ovs_record(lab),
        invariants=(),
        wall=_wall_record(running.fabric, lab, now, now, now + 1),
        control=running.control.measured(),
        switches={name: switch.statistics() for name, switch in running.fabric.switches.items()},
        pauses=pause_report(running.fabric),
        congestion=tuple(_congestion(running.nics.values())),
        live=running.live.record() if running.live else None,
    )


def _own_rules(options: ControllerOptions) -> bool:
    """Whether the switches follow the project's own application, and nothing else changes its rules."""
    return options.policy is None and options.app == ControllerOptions().app


def _congestion(nics: Iterable[Nic]) -> Iterator[CongestionStatistics]:
    """Yield the congestion control of every queue pair that has sent something."""
    for nic in nics:
        for each in nic.congestion_statistics():
            if nic.queue_pairs[each.queue_pair].requester.end_sequence:
                yield each


def _samples(nics: Iterable[Nic]) -> tuple[CongestionSample, ...]:
    """Return what was sampled at all NICs, in the order of time; nothing unless it was asked for."""
    samples = [sample for nic in nics for sample in nic.congestion_samples or ()]
    return tuple(sorted(samples, key=lambda sample: sample.time_ps))


def _ovs_record(lab: Lab) -> OvsRecord:
    switches = lab.datapath.switches.values()
    counts = lab.controller.status()
    return OvsRecord(
        frames_in=sum(sum(switch.frames_in.values()) for switch in switches),
        frames_out=sum(sum(switch.frames_out.values()) for switch in switches),
        fences=lab.datapath.fences,
        unsolicited=lab.datapath.unsolicited,
        flow_mods=counts.flow_mods,
        group_mods=counts.group_mods,
        packet_ins=counts.packet_ins,
        packet_outs=counts.packet_outs,
    )


def _port_record(running: Running, port: Port) -> PortRecord:
    wire = running.fabric.transmitters[port.name]
    switch_port = running.fabric.ports.get(port.name)
    dropped = dict(wire.lost)
    if switch_port is not None:
        for reason, frames in (*switch_port.queue.dropped.items(), *switch_port.dropped.items()):
            dropped[reason] = dropped.get(reason, 0) + frames
    return PortRecord(
        name=port.name,
        node=port.node,
        peer=running.plan.far_end(port.name).node,
        rate_bps=wire.rate_bps,
        sent_frames=wire.sent_frames,
        sent_bytes=wire.sent_bytes,
        data_packets=wire.data_hops,
        busy_ps=wire.busy_ps,
        peak_queue_bytes=switch_port.queue.peak_bytes if switch_port else 0,
        dropped=dropped,
        credit_wait_ps=_credit_wait_ps(running.fabric, port.name),
    )


def _credit_wait_ps(fabric: ModelFabric, port: str) -> int | None:
    control = fabric.credit_control
    return None if control is None else sum(lane.credit_wait_ps for lane in control.statistics(port))


def _wall_record(fabric: ModelFabric, lab: Lab, started: float, first_packet: float, finished: float) -> WallRecord:
    seconds = finished - first_packet
    return WallRecord(
        seconds=seconds,
        startup_seconds=first_packet - started,
        packet_hops=fabric.data_hops,
        packet_hops_per_second=fabric.data_hops / seconds,
        peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        datapath=lab.where,
    )
