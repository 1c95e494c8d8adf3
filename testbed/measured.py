"""What was measured of a run: collected from its models, jobs and switches when it is over, or as it stands."""

import resource
import time
from collections.abc import Iterable, Iterator

from testbed.engine.fabric import ModelFabric
from testbed.fabric.plan import Port
from testbed.lab import Lab
from testbed.measurement.causes.explain import explained
from testbed.measurement.causes.model import Explanation
from testbed.measurement.history import History
from testbed.measurement.invariants import invariants
from testbed.measurement.pauses import pause_report
from testbed.measurement.records import Measurements, OvsRecord, PortRecord, WallRecord
from testbed.measurement.versions import versions
from testbed.outside import openvswitch
from testbed.running import Running
from testbed.scenario.model import ControllerOptions
from traffic.nic import Nic
from traffic.nic.congestion import CongestionSample, CongestionStatistics
from traffic.results import CollectiveResult, FlowResult, ReplayResult, TraceResult


def measurements(
    running: Running, history: History | None, lab: Lab, started: float, first_packet: float, finished: float
) -> Measurements:
    """Return everything that was measured of a run that is over, its invariants judged. Wall times: time.monotonic."""
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
                own_rules=own_rules(running.scenario.controller),
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


def own_rules(options: ControllerOptions) -> bool:
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
