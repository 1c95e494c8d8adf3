"""What a run keeps beside its counters, on the real thing: a congested run that also loses a packet."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from tests.lab.runs import Run, good, run, skip_without_lab
from tests.report import trace_events

SCENARIO: dict[str, Any] = {
    "title": "Three to one, with marks, notifications and pauses; a packet is lost, and a link fails for a moment",
    "seed": 3,
    "fabric": {
        "topology": {"kind": "dumbbell", "left": 4, "right": 1, "core": {"rate": "100Gbps"}},
        "switch": {"buffer": "1MiB"},
        "qos": {"pfc": {}, "ecn": {3: {"kmin": "20KB", "kmax": "60KB", "pmax": 0.5}}},
    },
    "transport": {"congestion": {"kind": "dcqcn"}},
    "workload": [
        {
            "kind": "flows",
            "flows": [{"source": f"h{n}", "destination": "h4", "size": "1MiB"} for n in range(4)],
        }
    ],
    "faults": [{"kind": "drop", "port": "h1-eth0", "nth": 40}],
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    skip_without_lab()
    return good(run(tmp_path_factory.mktemp("timeline"), SCENARIO))


def rows(done: Run, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(done.directory / f"{name}.parquet").to_pylist()
    return found


def test_events_are_as_many_as_the_counters_say(done: Run) -> None:
    kinds = Counter(event["kind"] for event in rows(done, "events"))
    nics = done.summary["nic"].values()
    assert dict(kinds) == done.summary["events"]["by_kind"]
    assert kinds["drop"] == done.summary["drops"]["total"] == 1
    counted = {
        "cnp_sent": "np_cnp_sent", "cnp_handled": "rp_cnp_handled",
        "nak": "packet_seq_err", "timeout": "local_ack_timeout_err", "rnr_nak": "rnr_nak_retry_err",
    }  # fmt: skip
    assert {kind: kinds[kind] for kind in counted} == {
        kind: sum(nic[counter] for nic in nics) for kind, counter in counted.items()
    }
    assert kinds["mark"] == done.summary["totals"]["ecn_marked_packets"] > 0
    assert kinds["cnp_sent"] > 0
    assert kinds["nak"] >= 1


def test_events_are_in_the_order_of_time_and_the_lost_packet_is_told(done: Run) -> None:
    events = rows(done, "events")
    assert [event["time_ps"] for event in events] == sorted(event["time_ps"] for event in events)
    (lost,) = [event for event in events if event["kind"] == "drop"]
    assert (lost["where"], lost["source"], lost["destination"]) == ("h1-eth0", "h1", "h4")
    nak = next(event for event in events if event["kind"] == "nak")
    assert (nak["where"], nak["psn"]) == ("h1-eth0", lost["psn"])


def test_series_add_up_to_the_ports_bytes(done: Run) -> None:
    sent: Counter[str] = Counter()
    for row in rows(done, "series"):
        if row["what"] == "sent_bytes":
            sent[row["object"]] += row["value"]
            assert row["time_ps"] % done.summary["series"]["interval_ps"] == 0
    assert dict(sent) == {name: port["sent_bytes"] for name, port in done.summary["ports"].items()}


def test_packets_of_queue_pairs_add_up_to_the_nics(done: Run) -> None:
    packets: Counter[str] = Counter()
    for row in rows(done, "series"):
        if row["what"] == "sent_packets":
            packets[row["object"].partition("/")[0]] += row["value"]
    nics = done.summary["nic"].items()
    assert dict(packets) == {name: nic["sent_data_packets"] for name, nic in nics if nic["sent_data_packets"]}


def test_rates_are_there_where_congestion_control_is(done: Run) -> None:
    rates = [row["value"] for row in rows(done, "series") if row["what"] == "rate_bps"]
    assert min(rates) < max(rates) <= 100 * 10**9


def test_the_timeline_keeps_the_rules_of_its_format(done: Run) -> None:
    text = (done.directory / "timeline.json").read_text(encoding="utf-8")
    assert trace_events.problems(text) == []
    phases = Counter(event["ph"] for event in json.loads(text)["traceEvents"])
    assert phases["s"] == phases["f"] == 4


def test_all_of_it_can_be_switched_off(tmp_path: Path) -> None:
    skip_without_lab()
    plain = good(run(tmp_path, {**SCENARIO, "measure": {"series": False}}))
    names = {path.name for path in plain.directory.iterdir()}
    assert not names & {"series.parquet", "events.parquet", "timeline.json"}
    assert not plain.summary.keys() & {"series", "events"}


def test_equal_runs_give_equal_bytes(done: Run, tmp_path: Path) -> None:
    again = good(run(tmp_path, SCENARIO))
    for name in ("series.parquet", "events.parquet", "messages.parquet", "timeline.json"):
        assert (again.directory / name).read_bytes() == (done.directory / name).read_bytes(), name
