"""One run: from a checked scenario to a run directory. Everything else is a stage that this file calls in its order.

A run is a function of scenario and seed: it has no other state, and all that it leaves is its directory.
"""

import resource
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.control.control import Control
from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.fabric import ModelFabric
from testbed.engine.faults import impair
from testbed.engine.loop import EventLoop
from testbed.errors import TestbedError
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan, Port
from testbed.lab import MAINTENANCE, Lab, fabric_up
from testbed.measurement.capture import PortCapture
from testbed.measurement.invariants import invariants
from testbed.measurement.pauses import pause_report
from testbed.measurement.recorder import DropRecorder
from testbed.measurement.records import Measurements, OvsRecord, PortRecord, WallRecord
from testbed.measurement.versions import versions
from testbed.outside import openvswitch
from testbed.outside.memory import require_memory
from testbed.scenario.model import ControllerOptions, Scenario
from traffic.nic import Nic
from traffic.nic.congestion import CongestionSample, CongestionStatistics
from traffic.results import CollectiveResult, FlowResult
from traffic.work import Job, memory_needed, start_workload

_EVENTS_A_TURN = 20_000
"""Events between two looks at the processes a run depends on, and at the progress bar."""


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out, apart from what it runs.

    `directory` is where a capture goes; `started` the wall time (time.monotonic) at which the user's command began;
    `progress` is called now and then with the run as it stands.
    """

    directory: Path
    started: float
    progress: Callable[["Running"], None]


class Running:
    """A run under way: the model with real switches beneath it."""

    def __init__(self, scenario: Scenario, plan: FabricPlan, lab: Lab) -> None:
        self.scenario = scenario
        self.plan = plan
        self.loop = EventLoop()
        self.recorder = DropRecorder(plan, self.loop)
        qos = scenario.fabric.qos
        self.nics = {
            nic.name: Nic(
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
        self.control = Control(scenario, plan, self.loop)
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
        self.control.attach(self.fabric, lab.controller, lab.datapath, MAINTENANCE)
        impair(plan, self.fabric.transmitters, scenario.faults, scenario.seed)
        self.fabric.storm(scenario.faults)
        self.jobs: list[Job] = []
        self._data_packets = 0
        self._lab = lab

    def start(self) -> None:
        """Start the workload: the first packets go out when the clock runs."""
        self.jobs = start_workload(
            self.scenario.workload, self.plan, self.nics, self.loop, self.scenario.seed, self.scenario.transport
        )
        self._data_packets = sum(job.data_packets for job in self.jobs)
        self.control.start(lambda: all(job.done for job in self.jobs))

    def share_done(self) -> float:
        """Return how much of the workload's data has been sent, retransmissions aside; 0 to 1."""
        counters = [nic.counters for nic in self.nics.values()]
        return sum(each.sent_data_packets - each.retransmitted_packets for each in counters) / self._data_packets

    def finish(self, progress: Callable[["Running"], None]) -> None:
        """Run until every job is done and every frame has arrived, or nothing can move any more (a deadlock): then the
        jobs fail of that. Raises TestbedError when the model stops short for no such reason."""
        while self.loop.run_events(_EVENTS_A_TURN):
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


def run(scenario: Scenario, options: RunOptions) -> Measurements:
    """Carry out `scenario` and return what was measured. Call inside the sandbox."""
    plan = build_plan(scenario.fabric)
    require_memory(memory_needed(scenario.workload, plan))
    log = options.directory / "openflow.log" if scenario.measure.openflow_log else None
    with fabric_up(plan, scenario.controller, openflow_log=log) as lab:
        running = Running(scenario, plan, lab)
        running.start()
        captured = _captured_ports(scenario, plan)
        with PortCapture.of(running.fabric, options.directory / "capture.pcapng", captured):
            first_packet = time.monotonic()
            running.finish(options.progress)
            finished = time.monotonic()
        return _measurements(running, lab, options.started, first_packet, finished)


def _captured_ports(scenario: Scenario, plan: FabricPlan) -> tuple[str, ...]:
    capture = scenario.measure.capture
    return tuple(port.name for port in plan.ports()) if capture == "all" else capture


def _measurements(running: Running, lab: Lab, started: float, first_packet: float, finished: float) -> Measurements:
    results = [job.result() for job in running.jobs]
    nics = {name: dict(nic.statistics()) for name, nic in running.nics.items()}
    fabric, drops = running.fabric, tuple(running.recorder.records)
    duration_ps = max(result.end_ps for result in results)
    ovs = _ovs_record(lab)
    return Measurements(
        scenario=running.scenario,
        plan=running.plan,
        versions=versions(open_vswitch=openvswitch.version(), controller=lab.controller_version),
        duration_ps=duration_ps,
        collectives=tuple(result for result in results if isinstance(result, CollectiveResult)),
        flows=tuple(result for result in results if isinstance(result, FlowResult)),
        failure=next((result.failure for result in results if result.failure), None),
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
            ),
            running.control.on_model_time(lab.controller.status(), duration_ps),
        ),
        wall=_wall_record(fabric, started, first_packet, finished),
        control=running.control.measured(),
        switches={name: switch.statistics() for name, switch in fabric.switches.items()},
        pauses=pause_report(fabric),
        congestion=tuple(_congestion(running.nics.values())),
        congestion_samples=_samples(running.nics.values()),
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


def _wall_record(fabric: ModelFabric, started: float, first_packet: float, finished: float) -> WallRecord:
    seconds = finished - first_packet
    return WallRecord(
        seconds=seconds,
        startup_seconds=first_packet - started,
        packet_hops=fabric.data_hops,
        packet_hops_per_second=fabric.data_hops / seconds,
        peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
