"""The part of summary.json about traffic classes: switches' queues, pauses, congestion control, and totals of all.

What a feature counts is there only where the feature is on; `totals` are always there, so that any scenario can expect
0 of them. Names are those of FBOSS and SONiC for switches, of mlx5's ethtool for NICs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from testbed.engine.statistics import (
    CreditStatistics,
    GroupStatistics,
    PauseStatistics,
    PortStatistics,
    QueueStatistics,
    SwitchStatistics,
)
from testbed.fabric.buffers import headroom_bytes, largest_frame_bytes
from testbed.measurement.pauses import PauseBranch, PauseReport, PauseRoot
from testbed.measurement.records import Measurements
from testbed.units import MICROSECOND
from traffic.nic.congestion import CongestionStatistics

Block = dict[str, Any]

PAUSE = "pause"
"""Where the counts of PAUSE frames, which name no priority, stand among those of priorities."""

_SHARE_DECIMALS = 6


def blocks(measurements: Measurements) -> Block:
    """Return the blocks of the summary that are there because a feature is on."""
    found: Block = {}
    if measurements.scenario.fabric.qos is not None:
        priorities = _priorities(measurements)
        needed = _needed_headroom(measurements)
        found["switches"] = {name: _switch(each, priorities, needed) for name, each in measurements.switches.items()}
    if measurements.pauses is not None:
        found["pauses"] = _pauses(measurements.pauses)
    if measurements.congestion:
        found["congestion"] = _congestion(measurements.congestion)
    if measurements.control:
        found["control"] = dict(measurements.control)
    return found


# --- switches --------------------------------------------------------------------------------------------------------


def _priorities(measurements: Measurements) -> list[int]:
    """Return the priorities that are shown, the same at every port: lossless, marked, or used anywhere."""
    qos = measurements.scenario.fabric.qos
    assert qos is not None
    ports = tuple(_ports_of(measurements.switches.values()))
    queued = {queue.priority for port in ports for queue in port.queues if queue.out_packets or queue.dropped}
    refused = {group.priority for port in ports for group in port.groups if group.dropped}
    return sorted({*qos.lossless, *qos.ecn, *queued, *refused})


def _ports_of(switches: Iterable[SwitchStatistics]) -> Iterator[PortStatistics]:
    for switch in switches:
        yield from switch.ports.values()


def _needed_headroom(measurements: Measurements) -> dict[str, int]:
    """Return, by port, what the link's rate and delay, the MTU and the response time call for; none without PFC."""
    scenario, plan = measurements.scenario, measurements.plan
    if scenario.fabric.qos is None or scenario.fabric.qos.pfc is None:
        return {}
    response, frame = scenario.fabric.qos.pfc.response, largest_frame_bytes(scenario.transport.mtu, plan.ip_version)
    return {name: headroom_bytes(link.rate_bps, link.delay_ps, response, frame) for name, link in plan.link_at.items()}


def _switch(switch: SwitchStatistics, priorities: Sequence[int], needed: Mapping[str, int]) -> Block:
    return {
        "buffer_bytes": switch.buffer_bytes,
        "shared_bytes": switch.shared_bytes,
        "peak_bytes": switch.peak_bytes,
        "used_bytes": switch.used_bytes,
        "ports": {name: _switch_port(port, priorities, needed.get(name)) for name, port in switch.ports.items()},
    }


def _switch_port(port: PortStatistics, priorities: Sequence[int], needed: int | None) -> Block:
    found: Block = {
        "queues": {str(queue.priority): _queue(queue) for queue in port.queues if queue.priority in priorities},
        "groups": {str(group.priority): _group(group, needed) for group in port.groups if group.priority in priorities},
    }
    if port.pauses:
        found["pauses"] = {
            PAUSE if each.priority is None else str(each.priority): _pause_counters(each)
            for each in port.pauses
            if each.priority is None or each.priority in priorities
        }
        found["pfc_storms_detected"] = port.storms_detected
        found["pfc_storms_restored"] = port.storms_restored
    if port.credits:
        found["credits"] = {str(each.priority): _lane(each) for each in port.credits}
    return found


def _lane(lane: CreditStatistics) -> Block:
    return {
        "credit_wait_ps": lane.credit_wait_ps,
        "credit_waits": lane.credit_waits,
        "buffer_blocks": lane.buffer_blocks,
        "peak_blocks": lane.peak_blocks,
        "held_blocks": lane.held_blocks,
    }


def _queue(queue: QueueStatistics) -> Block:
    return {
        "out_packets": queue.out_packets,
        "out_bytes": queue.out_bytes,
        "peak_bytes": queue.peak_bytes,
        "queue_bytes": queue.queue_bytes,
        "ecn_marked_packets": queue.ecn_marked_packets,
        **_dropped(queue.dropped),
    }


def _group(group: GroupStatistics, needed: int | None) -> Block:
    headroom = {
        "headroom_peak_bytes": group.headroom_peak_bytes,
        "headroom_limit_bytes": group.headroom_limit_bytes,
        "headroom_needed_bytes": needed,
    }
    return {
        "lossless": group.lossless,
        "held_bytes": group.held_bytes,
        **(headroom if group.headroom_limit_bytes or group.lossless else {}),
        **_dropped(group.dropped),
    }


def _dropped(by_reason: Mapping[str, int]) -> Block:
    return {"dropped": sum(by_reason.values()), "by_reason": dict(sorted(by_reason.items()))}


def _pause_counters(counters: PauseStatistics) -> Block:
    return {name: value for name, value in asdict(counters).items() if name != "priority"}


# --- ports and NICs --------------------------------------------------------------------------------------------------


def port_blocks(measurements: Measurements) -> dict[str, Block]:
    """Return, by port, the flat counters that there are with traffic classes, flow control or credits."""
    has_classes = measurements.scenario.fabric.qos is not None
    marked = {
        port.name: sum(queue.ecn_marked_packets for queue in port.queues)
        for port in (_ports_of(measurements.switches.values()) if has_classes else ())
    }
    found: dict[str, Block] = {}
    for record in measurements.ports:
        found[record.name] = block = {}
        if record.name in marked:
            block["ecn_marked_packets"] = marked[record.name]
        if measurements.pauses is not None and record.name in measurements.pauses.ports:
            block |= _flat_pauses(measurements, measurements.pauses.ports[record.name])
        if record.credit_wait_ps is not None:
            block["credit_wait_ps"] = record.credit_wait_ps
    return found


def _flat_pauses(measurements: Measurements, pauses: Sequence[PauseStatistics]) -> Block:
    return {
        "pfc_xoff_tx": sum(each.out_pfc for each in pauses),
        "pfc_xon_tx": sum(each.out_pfc_xon for each in pauses),
        "pfc_xoff_rx": sum(each.in_pfc for each in pauses),
        "pfc_xon_rx": sum(each.in_pfc_xon for each in pauses),
        "pfc_pause_duration_ps": _paused_ps(measurements, pauses),
    }


def _paused_ps(measurements: Measurements, pauses: Sequence[PauseStatistics]) -> int:
    """For how long a port was paused: its priorities added up; PAUSE stops them all at once, and counts once."""
    times = [each.rx_pfc_duration_ps for each in pauses]
    return max(times) if _is_global(measurements) else sum(times)


def _is_global(measurements: Measurements) -> bool:
    qos = measurements.scenario.fabric.qos
    return qos is not None and qos.pfc is not None and qos.pfc.kind == "pause"


def nic_block(measurements: Measurements, name: str) -> dict[str, int]:
    """Return a NIC's pause counters as ethtool names them; durations in whole microseconds, as there."""
    report = measurements.pauses
    qos = measurements.scenario.fabric.qos
    if report is None or qos is None or name not in report.ports:
        return {}
    found: dict[str, int] = {}
    for each in report.ports[name]:
        if each.priority is None:
            if _is_global(measurements) or each.in_pfc:
                found |= _ethtool("global_pause", each, report.ports[name][0])
        elif each.priority in qos.lossless and not _is_global(measurements):
            found |= _ethtool(f"prio{each.priority}_pause", each, each)
    return found


def _ethtool(name: str, frames: PauseStatistics, time: PauseStatistics) -> dict[str, int]:
    """XOFF and XON frames count alike; `time` has how long and how often the NIC was paused."""
    return {
        f"rx_{name}": frames.in_pfc + frames.in_pfc_xon,
        f"rx_{name}_duration": time.rx_pfc_duration_ps // MICROSECOND,
        f"rx_{name}_transition": time.rx_pfc_transitions,
        f"tx_{name}": frames.out_pfc + frames.out_pfc_xon,
    }


# --- pauses ----------------------------------------------------------------------------------------------------------


def _pauses(report: PauseReport) -> Block:
    return {
        "count": len(report.pauses),
        "duration_ps": sum(root.duration_ps for root in report.roots),
        "roots": [_root(root) for root in report.roots],
        "storms": [asdict(storm) for storm in report.storms],
        "deadlocks": [
            {
                "since_ps": each.since_ps,
                "found_ps": each.found_ps,
                "text": each.text,
                "held_by": each.held_by,
                "steps": [asdict(step) for step in each.steps],
            }
            for each in report.deadlocks
        ],
    }


def _root(root: PauseRoot) -> Block:
    return {
        "port": root.port,
        "kind": root.kind,
        "pauses": root.pauses,
        "duration_ps": root.duration_ps,
        "paused_ports": list(root.paused_ports),
        "branches": [_branch(branch) for branch in root.branches],
    }


def _branch(branch: PauseBranch) -> Block:
    return {
        "sender": branch.sender,
        "paused": branch.paused,
        "priority": branch.priority,
        "pauses": branch.pauses,
        "refreshes": branch.refreshes,
        "duration_ps": branch.duration_ps,
        "first_ps": branch.first_ps,
        "branches": [_branch(each) for each in branch.branches],
    }


# --- congestion control ----------------------------------------------------------------------------------------------


def _congestion(found: Sequence[CongestionStatistics]) -> Block:
    """What every sending queue pair came to; `lowest` is what any of them was ever limited to."""
    return {
        "kind": found[0].kind,
        "lowest": {next(iter(found[0].values)): min(_whole(each.minimum) for each in found)},
        "queue_pairs": [
            {
                "nic": each.nic,
                "queue_pair": each.queue_pair,
                "cnps_handled": each.cnps,
                "minimum": {next(iter(each.values)): _whole(each.minimum)},
                "at_end": {name: _whole(value) for name, value in each.values.items()},
            }
            for each in found
        ],
    }


def _whole(value: float) -> float:
    """Rates and windows are whole numbers already; shares (alpha) get as many decimals as say something."""
    return round(value, _SHARE_DECIMALS) if isinstance(value, float) else value


# --- totals ----------------------------------------------------------------------------------------------------------


def totals(measurements: Measurements, blocks_of_ports: Mapping[str, Block]) -> dict[str, int]:
    """Return the sums over the whole fabric: always all of them, zeros included. `blocks_of_ports`: `port_blocks`."""
    report, ports = measurements.pauses, blocks_of_ports.values()
    return {
        "ecn_marked_packets": _sum(ports, "ecn_marked_packets")
        + measurements.control.get("openflow_marked_packets", 0),
        "ecn_marked_received": _nics(measurements, "np_ecn_marked_roce_packets"),
        "cnps_sent": _nics(measurements, "np_cnp_sent"),
        "cnps_handled": _nics(measurements, "rp_cnp_handled"),
        "cnps_ignored": _nics(measurements, "rp_cnp_ignored"),
        "pauses": len(report.pauses) if report else 0,
        "pfc_xoff_tx": _sum(ports, "pfc_xoff_tx"),
        "pfc_xon_tx": _sum(ports, "pfc_xon_tx"),
        "pfc_xoff_rx": _sum(ports, "pfc_xoff_rx"),
        "pfc_xon_rx": _sum(ports, "pfc_xon_rx"),
        "pfc_pause_duration_ps": _sum(ports, "pfc_pause_duration_ps"),
        "pause_storms": sum(root.kind == "storm" for root in report.roots) if report else 0,
        "watchdog_storms": len(report.storms) if report else 0,
        "deadlocks": len(report.deadlocks) if report else 0,
        "credit_wait_ps": _sum(ports, "credit_wait_ps"),
        "out_of_sequence": _nics(measurements, "out_of_sequence"),
        "packet_seq_err": _nics(measurements, "packet_seq_err"),
        "local_ack_timeout_err": _nics(measurements, "local_ack_timeout_err"),
    }


def _sum(ports: Iterable[Mapping[str, int]], name: str) -> int:
    return sum(port.get(name, 0) for port in ports)


def _nics(measurements: Measurements, counter: str) -> int:
    return sum(counters[counter] for counters in measurements.nics.values())
