"""summary.json: every number of a run in one documented, stable file (docs/summary.md describes each key).

Equal scenario and seed give equal bytes on every machine, but for the block `wall`: what depends on the machine, the
fences that were needed to prove drops among it, is there and nowhere else. Fractions are rounded: Gb/s and seconds to
three decimals, a rate of packet-hops to a whole number. All else is a whole number.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from testbed.engine.reasons import (
    EGRESS_THRESHOLD,
    FAULT,
    HEADROOM_FULL,
    ICRC,
    INGRESS_THRESHOLD,
    LINK_DOWN,
    OPENFLOW,
    PFC_WATCHDOG,
    SHARED_FULL,
    WRED,
)
from testbed.measurement.records import Measurements, OvsRecord, PortRecord, WallRecord
from testbed.report.flow_control import blocks, nic_block, port_blocks, totals
from testbed.report.flow_groups import MOST_FLOWS, flow_groups_block
from testbed.report.history import history_block
from testbed.report.live import live_block
from testbed.report.replays import replay_block
from testbed.report.story import lost
from testbed.report.trace_blocks import trace_block
from testbed.scenario.expectations import evaluate
from testbed.scenario.limits import ELEMENT_BYTES
from traffic.nvlink import NvlinkStatistics
from traffic.results import CollectiveResult, FlowResult, ReplayResult, TraceResult

SUMMARY_FILE = "summary.json"
_DECIMALS = 3
_DATA_TYPE = "float32"
"""What the collectives of a scenario move."""

_USUAL_REASONS = (FAULT, ICRC, LINK_DOWN, OPENFLOW, SHARED_FULL)
"""Always in ``drops.by_reason``, so that a scenario can expect 0 of them."""

_REASONS_OF_CLASSES = (EGRESS_THRESHOLD, HEADROOM_FULL, INGRESS_THRESHOLD, PFC_WATCHDOG, WRED)
"""The same where switches have traffic classes."""

Summary = dict[str, Any]


def summary(measurements: Measurements, overrides: Sequence[str] = ()) -> Summary:
    """Return all results of a run as JSON values, expectations judged; `overrides` are the run's ``--set`` texts."""
    found = so_far(measurements)
    expect = measurements.scenario.expect
    expectations = [asdict(expectation) for expectation in evaluate(expect, found)]
    invariants = [asdict(invariant) for invariant in measurements.invariants]
    failed = any(_unexpected_failures(found, expect))
    return {
        "ok": not failed and all(item["ok"] for item in (*expectations, *invariants)),
        **found,
        "overrides": list(overrides),
        "expectations": expectations,
        "invariants": invariants,
        "wall": _wall(measurements.wall, measurements.ovs),
    }


def _unexpected_failures(found: Summary, expect: Mapping[str, Any]) -> Iterator[str]:
    """Yield the failures that the scenario does not speak of: neither of that job's, nor of the whole run's."""
    if "failure" in expect:
        return
    for kind in ("collectives", "flows", "traces", "replays"):
        for number, result in enumerate(found.get(kind, ())):
            job = f"{kind}.{number}"
            if result["failed"] and not {f"{job}.failed", f"{job}.failure"} & expect.keys():
                yield job
    for number, group in enumerate(found.get("flow_groups", ())):
        if group["failed"] and f"flow_groups.{number}.failed" not in expect and len(found["flows"]) == MOST_FLOWS:
            yield f"flow_groups.{number}"


def so_far(measurements: Measurements) -> Summary:
    """Return the results of a run without its verdict: what also a run that goes on has."""
    plan, of_ports = measurements.plan, port_blocks(measurements)
    return {
        "title": measurements.scenario.title,
        "seed": measurements.scenario.seed,
        **_clock(measurements),
        "fabric": {
            "topology": plan.topology,
            "hosts": len(plan.hosts),
            "switches": len(plan.switches),
            "links": len(plan.links),
        },
        "duration_ps": measurements.duration_ps,
        "failure": measurements.failure,
        "collectives": [_collective(result) for result in measurements.collectives],
        "flows": [_flow(result) for result in measurements.flows[:MOST_FLOWS]],
        **flow_groups_block(measurements),
        **({"traces": [trace_block(result) for result in measurements.traces]} if measurements.traces else {}),
        **({"replays": [replay_block(result) for result in measurements.replays]} if measurements.replays else {}),
        "drops": _drops(measurements),
        "retransmitted_packets": measurements.retransmitted_packets,
        "totals": totals(measurements, of_ports),
        "nic": {name: {**counters, **nic_block(measurements, name)} for name, counters in measurements.nics.items()},
        "ports": {record.name: {**_port(record), **of_ports[record.name]} for record in measurements.ports},
        "stall": lost(measurements.explanation) if measurements.explanation is not None else None,
        **_nvlink(measurements.nvlink),
        **blocks(measurements),
        **history_block(measurements),
        "ovs": _ovs(measurements.ovs),
        "versions": dict(measurements.versions),
        "scenario": measurements.scenario.model_dump(mode="json"),
    }


def work_results(results: Sequence[CollectiveResult | FlowResult | TraceResult | ReplayResult]) -> Summary:
    """Return the blocks `collectives`, `flows`, `traces` and `replays` of some results."""
    return {
        "collectives": [_collective(result) for result in results if isinstance(result, CollectiveResult)],
        "flows": [_flow(result) for result in results if isinstance(result, FlowResult)],
        "traces": [trace_block(result) for result in results if isinstance(result, TraceResult)],
        "replays": [replay_block(result) for result in results if isinstance(result, ReplayResult)],
    }


def _clock(measurements: Measurements) -> Summary:
    if measurements.live is None:
        return {"clock": "virtual"}
    return {"clock": "live", "live": live_block(measurements.live)}


def _collective(result: CollectiveResult) -> Summary:
    stalls = [result.stall_ps_by_rank[rank] for rank in result.ranks]
    return {
        "name": result.name,
        "kind": result.kind,
        "algorithm": result.algorithm,
        "ranks": len(result.ranks),
        "hosts": list(result.ranks),
        "size_bytes": result.size_bytes,
        "elements": result.size_bytes // ELEMENT_BYTES,
        "data_type": _DATA_TYPE,
        "operation": result.operation,
        "iterations": result.iterations,
        "compute_ps": result.compute_ps,
        "buckets": result.buckets,
        "start_ps": result.start_ps,
        "end_ps": result.end_ps,
        "time_ps": result.time_ps,
        "ideal_ps": result.ideal_ps,
        "algbw_gbps": _rounded(result.algbw_gbps),
        "busbw_gbps": _rounded(result.busbw_gbps),
        "verified": result.verified,
        "wrong_elements": result.wrong_elements,
        "failed": result.failure is not None,
        "failure": result.failure,
        "stall_max_ps": max(stalls),
        "stall_mean_ps": sum(stalls) // len(stalls),
        "stall_ps_by_rank": dict(zip(result.ranks, stalls, strict=True)),
        **_admission(result),
    }


def _nvlink(domains: Sequence[NvlinkStatistics]) -> Summary:
    """What crossed the hosts' NVLink domains, where there are any."""
    if not domains:
        return {}
    blocks = {
        domain.host: {
            "messages": domain.delivered_messages,
            "bytes": domain.delivered_bytes,
            "busiest_port_ps": domain.busiest_port_ps,
        }
        for domain in domains
    }
    return {"nvlink": blocks}


def _admission(result: CollectiveResult | FlowResult) -> Summary:
    """What receiver-driven admission did, where there was any."""
    counts = result.admission
    if counts is None:
        return {}
    return {
        "clear_to_sends_sent": counts.sent,
        "clear_to_sends_received": counts.received,
        "clear_to_sends_peak": counts.peak_outstanding,
        "clear_to_send_wait_ps": counts.wait_ps,
    }


def _flow(result: FlowResult) -> Summary:
    return {
        "source": result.source,
        "destination": result.destination,
        "size_bytes": result.size_bytes,
        "start_ps": result.start_ps,
        "end_ps": result.end_ps,
        "time_ps": result.time_ps,
        "ideal_ps": result.ideal_ps,
        "goodput_gbps": _rounded(result.goodput_gbps),
        "verified": result.verified,
        "wrong_bytes": result.wrong_bytes,
        "failed": result.failure is not None,
        "failure": result.failure,
        **_admission(result),
    }


def _drops(measurements: Measurements) -> Summary:
    drops = measurements.drops
    usual = _USUAL_REASONS if measurements.scenario.fabric.qos is None else (*_USUAL_REASONS, *_REASONS_OF_CLASSES)
    by_reason = Counter(record.reason for record in drops)
    by_port: dict[str, Counter[str]] = {}
    for record in drops:
        by_port.setdefault(record.where, Counter())[record.reason] += 1
    return {
        "total": len(drops),
        "by_reason": {reason: by_reason[reason] for reason in sorted({*usual, *by_reason})},
        "by_port": {where: dict(sorted(counts.items())) for where, counts in sorted(by_port.items())},
        "first": asdict(drops[0]) if drops else None,
    }


def _port(record: PortRecord) -> Summary:
    return {
        "peer": record.peer,
        "rate_bps": record.rate_bps,
        "sent_frames": record.sent_frames,
        "sent_bytes": record.sent_bytes,
        "data_packets": record.data_packets,
        "busy_ps": record.busy_ps,
        "peak_queue_bytes": record.peak_queue_bytes,
        "dropped": sum(record.dropped.values()),
    }


def _ovs(record: OvsRecord) -> Summary:
    """Fences are left out: how many it takes depends on how long the machine kept Open vSwitch waiting."""
    return {
        "frames_in": record.frames_in - record.fences,
        "frames_out": record.frames_out - record.fences,
        "unsolicited": record.unsolicited,
        "flow_mods": record.flow_mods,
        "group_mods": record.group_mods,
        "packet_ins": record.packet_ins,
        "packet_outs": record.packet_outs,
    }


def _wall(record: WallRecord, ovs: OvsRecord) -> Summary:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {
        **{name: _rounded(value) for name, value in values.items()},
        "packet_hops_per_second": round(record.packet_hops_per_second),
        "fences": ovs.fences,
    }


def _rounded(value: object) -> object:
    return round(value, _DECIMALS) if isinstance(value, float) else value


def as_text(result: Summary) -> str:
    """Return the text of summary.json for `result`."""
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"


def write_summary(directory: Path, result: Summary) -> Path:
    """Write summary.json into `directory`, whole or not at all: whoever finds it, finds a finished run."""
    path = directory / SUMMARY_FILE
    unfinished = directory / f".{SUMMARY_FILE}.tmp"
    unfinished.write_text(as_text(result), encoding="utf-8")
    os.replace(unfinished, path)
    return path
