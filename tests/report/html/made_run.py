"""Directories of runs that never were: the tables as docs/timeline.md and docs/summary.md have them, of any size."""

import json
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions

INTERVAL_PS = 1_000_000
COUNTERS = (
    "cnps_sent",
    "credit_wait_ps",
    "deadlocks",
    "ecn_marked_packets",
    "local_ack_timeout_err",
    "packet_seq_err",
    "pauses",
    "pfc_pause_duration_ps",
    "watchdog_storms",
)


def made_run(
    directory: Path, leaves: int = 2, hosts_per_leaf: int = 2, intervals: int = 50, title: str = "A run"
) -> Path:
    """Write a run of an All-Reduce in which port ``leaf0-eth1`` has the deepest queue, in interval 30."""
    directory.mkdir(parents=True)
    topology = {"kind": "leaf-spine", "leaves": leaves, "spines": 2, "hosts_per_leaf": hosts_per_leaf}
    qos = {"ecn": {"3": {"kmin": "100KiB", "kmax": "400KiB"}}, "pfc": {}}
    fabric = {"topology": topology, "link": {"rate": "100Gbps", "delay": "500ns"}, "qos": qos}
    plan = build_plan(FabricOptions.model_validate(fabric))
    hosts = [host.name for host in plan.hosts]
    series: list[tuple[Any, ...]] = []
    for number, port in enumerate(plan.ports()):
        for at in range(intervals):
            series.append((port.name, None, "sent_bytes", at * INTERVAL_PS, 100 * (number + 1) + at))
        series.append((port.name, 3, "queue_bytes", number % intervals * INTERVAL_PS, 4096 + number))
    series.append(("leaf0-eth1", 3, "queue_bytes", 30 * INTERVAL_PS, 300_000))
    series += [(f"{host}-eth0/17", None, "rate_bps", at * INTERVAL_PS, 10**10) for host in hosts for at in range(5)]
    end_ps = intervals * INTERVAL_PS
    _table(directory, "series", ("object", "priority", "what", "time_ps", "value"), series)
    events = [
        (31 * INTERVAL_PS, "mark", "leaf0-eth1", "first"),
        (32 * INTERVAL_PS, "drop", "leaf0-eth1", "<b>full</b>"),
    ]
    _table(directory, "events", ("time_ps", "kind", "where", "detail"), events)
    waits = [(host, "data", n * INTERVAL_PS, end_ps) for n, host in enumerate(hosts)]
    waits += [(host, "compute", 0, 0 + n * INTERVAL_PS) for n, host in enumerate(hosts)]
    _table(directory, "waits", ("rank", "what", "start_ps", "end_ps"), waits)
    messages = [(host, 0, None, end_ps // 2) for host in hosts]
    _table(directory, "messages", ("source", "posted_ps", "granted_ps", "arrived_ps"), messages)
    ports = [(port.name, port.node, 100 * (n + 1)) for n, port in enumerate(plan.ports())]
    _table(directory, "ports", ("port", "node", "sent_bytes"), ports)
    times = 10 * INTERVAL_PS, 12 * INTERVAL_PS
    causes = [(None, host, "queue", "leaf0-eth1", None, 1000 * (n + 1), *times) for n, host in enumerate(hosts)]
    names = ("flow", "rank", "cause", "origin", "reason", "duration_ps", "first_ps", "last_ps")
    _table(directory, "causes", names, causes)
    (directory / "explanation.json").write_text(json.dumps({"chapters": [_chapter()]}))
    (directory / "summary.json").write_text(json.dumps(_summary(title, fabric, hosts, intervals)))
    return directory


def summary_of(directory: Path) -> Any:
    return json.loads((directory / "summary.json").read_text())


def _table(directory: Path, name: str, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    table = pyarrow.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
    parquet.write_table(table, directory / f"{name}.parquet")


def _chapter() -> dict[str, Any]:
    times = {"ranks_ps": 5000, "flows_ps": 0, "share": 1.0, "first_ps": 10 * INTERVAL_PS, "last_ps": 12 * INTERVAL_PS}
    return {
        "kind": "queue",
        "origin": "leaf0-eth1",
        "reason": None,
        "title": "queue at leaf0-eth1",
        "sentences": ["Behind <i>others</i>."],
        **times,
    }


def _summary(title: str, fabric: dict[str, Any], hosts: list[str], intervals: int) -> dict[str, Any]:
    collective = {
        "name": "ring all-reduce",
        "kind": "all-reduce",
        "ranks": len(hosts),
        "hosts": hosts,
        "size_bytes": 4 * 2**20,
        "time_ps": intervals * INTERVAL_PS,
        "ideal_ps": intervals * INTERVAL_PS // 2,
        "algbw_gbps": 10.0,
        "busbw_gbps": 20.0,
        "verified": True,
        "failed": False,
        "stall_max_ps": 1000 * len(hosts),
        "stall_mean_ps": 500,
        "stall_ps_by_rank": {host: 1000 * (n + 1) for n, host in enumerate(hosts)},
    }
    return {
        "ok": True,
        "title": title,
        "seed": 1,
        "fabric": {"topology": "leaf-spine", "hosts": len(hosts), "switches": 4, "links": 1},
        "duration_ps": intervals * INTERVAL_PS,
        "failure": None,
        "collectives": [collective],
        "flows": [],
        "drops": {"total": 1},
        "retransmitted_packets": 0,
        "totals": dict.fromkeys(COUNTERS, 0),
        "ports": {"leaf0-eth1": {"peak_queue_bytes": 300_000}},
        "series": {"interval_ps": INTERVAL_PS, "intervals": intervals},
        "stall": {"most": {"title": "queue at leaf0-eth1", "share": 1.0}},
        "expectations": [{"name": "drops.total", "ok": True, "detail": "as expected"}],
        "invariants": [],
        "scenario": {"message": "About <it>.", "fabric": fabric, "transport": {"mtu": 4096}},
        "versions": {"rocelab": "0"},
        "wall": {"seconds": 1.0},
    }


def made_trace_run(directory: Path) -> Path:
    """Write a run like the above, of a trace instead of a collective: its ranks compute, too."""
    made_run(directory, title="A trace")
    summary = summary_of(directory)
    (collective,) = summary["collectives"]
    hosts, stalls = collective["hosts"], collective["stall_ps_by_rank"]
    trace = {
        **{key: collective[key] for key in ("ranks", "hosts", "time_ps", "ideal_ps", "verified", "failed")},
        "name": "trace (workload.0)",
        "format": "Chakra",
        "iterations": 2,
        "critical_path_ps": collective["ideal_ps"] // 2,
        "exposed_max_ps": 7000 * len(hosts),
        "stall_max_ps": 1000 * len(hosts),
        "stall_mean_ps": 500,
        "compute_ps_by_rank": dict.fromkeys(hosts, 9000),
        "exposed_ps_by_rank": {host: 7000 * (n + 1) for n, host in enumerate(hosts)},
        "stall_ps_by_rank": stalls,
        "collectives": [{
            "kind": "all-reduce", "algorithm": "ring", "group": "", "ranks": 4, "size_bytes": 2**20, "count": 4,
            "time_ps": 3000, "ideal_ps": 2000, "algbw_gbps": 1.0, "busbw_gbps": 1.5,
        }],
    }  # fmt: skip
    _rewrite(directory, {**summary, "collectives": [], "traces": [trace]})
    return directory


def made_packet_run(directory: Path) -> Path:
    """Write a run of a capture's packets: no rank waits, and nothing has a message."""
    made_run(directory, title="A capture")
    for name in ("waits", "messages", "causes"):
        (directory / f"{name}.parquet").unlink()
    flow = {"source": "h0", "destination": "h1", "qp": 17, "sent": 60, "delivered": 57, "marked": 5}
    replay = {
        "name": "replay (workload.0)", "file": "captures/a.pcap", "start_ps": 0, "end_ps": 9_000_000, "packets": 100,
        "sent": 100, "delivered": 97, "marked": 5, "out_of_order": 2, "dropped": 3, "left_out": {"ARP": 2},
        "left_out_total": 2, "file_span_ps": 8_000_000, "delivery_span_ps": 9_000_000, "stretch": 1.125,
        "latency_p50_ps": 1000, "latency_p95_ps": 2000, "latency_p99_ps": 3000, "latency_max_ps": 4000,
        "failed": False, "failure": None, "flows_total": 2,
        "flows": [{**flow, "marked_before": 0, "out_of_order": 2, "dropped": 3}],
    }  # fmt: skip
    _rewrite(directory, {**summary_of(directory), "collectives": [], "stall": None, "replays": [replay]})
    return directory


def made_flows_run(directory: Path, flows: int = 20) -> Path:
    """Write a run of many flows of two classes of size, of which one in a hundred is slow."""
    made_run(directory, title="Many flows")
    percentiles = {"time_p50_ps": 1000, "time_p95_ps": 2000, "time_p99_ps": 3000, "time_max_ps": 4000}
    slowdowns = {"slowdown_mean": 1.5, "slowdown_p50": 1.2, "slowdown_p95": 2.5, "slowdown_p99": 4.25}
    small = {"from_bytes": 0, "below_bytes": 10_000, "flows": flows - 1, **percentiles, **slowdowns}
    large = {"from_bytes": 1_000_000, "below_bytes": None, "flows": 1, **percentiles, **slowdowns}
    group = {"name": "background", "pattern": "uniform", "flows": flows, "failed": 0, **percentiles, **slowdowns}
    one = {"source": "h0", "destination": "h3", "size_bytes": 4096, "start_ps": 0, "end_ps": 4000, "time_ps": 4000}
    one |= {"ideal_ps": 1000, "goodput_gbps": 8.0, "verified": None, "failed": False}
    found = [{**one, "time_ps": 4000 - number} for number in range(min(flows, 1000))]
    changes = {"flows": found, "flow_groups": [{**group, "by_size": [small, large]}]}
    _rewrite(directory, {**summary_of(directory), "collectives": [], "stall": None, **changes})
    return directory


def _rewrite(directory: Path, summary: dict[str, Any]) -> None:
    (directory / "summary.json").write_text(json.dumps(summary))
