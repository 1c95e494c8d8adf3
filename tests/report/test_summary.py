"""summary.json: what is in it, that it is documented, and that nothing of the machine is in it."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from testbed.measurement.records import Invariant, Measurements, WallRecord
from testbed.report.summary import SUMMARY_FILE, as_text, summary, write_summary
from testbed.scenario.model import Scenario
from tests.report import examples, lossless_examples
from tests.traffic.trace_replay.kit import replayed
from tests.traffic.traces.make_traces import TRACES

MANUAL = Path(__file__).parents[2] / "docs" / "summary.md"
KEYED_BY_NAMES = {
    "nvlink", "nic", "ports", "switches", "stall_ps_by_rank", "by_reason", "by_port", "versions",
    "compute_ps_by_rank", "exposed_ps_by_rank", "unknown", "left_out", "stand_ins", "map", "dropped_by_reason",
}  # fmt: skip
"""Mappings whose keys are names of the run: hosts, ports, reasons, programs."""


@cache
def traced() -> Measurements:
    """A run of a trace."""
    return replace(examples.clean(), collectives=(), traces=(replayed(TRACES / "moe", 8),))


def packets_replayed() -> Measurements:
    """Two flows of a capture: one lost a packet."""
    return replace(examples.clean(), collectives=(), replays=(examples.replay(),))


EXAMPLES = {**examples.ALL, **lossless_examples.ALL, "traced": traced, "packets replayed": packets_replayed}


@pytest.fixture(params=EXAMPLES)
def result(request: pytest.FixtureRequest) -> dict[str, Any]:
    return summary(EXAMPLES[request.param]())


def keys_of(value: Any, key: str = "") -> set[str]:
    """Return the documented kind of keys at any depth: not names of the run, not the scenario's own."""
    if isinstance(value, list):
        return set().union(*(keys_of(item, key) for item in value))
    if not isinstance(value, dict) or key == "scenario":
        return set()
    named = key in KEYED_BY_NAMES or all(re.fullmatch("[0-7]|pause", name) for name in value)
    below = [keys_of(item, "" if named else name) for name, item in value.items()]
    return set().union(() if named else {re.sub("prio[0-7]", "prio<p>", name) for name in value}, *below)


def test_every_key_is_documented(result: dict[str, Any]) -> None:
    documented = set(re.findall(r"`([a-z0-9_<>]+)(?:\[\])?`", MANUAL.read_text(encoding="utf-8")))
    assert keys_of(result) <= documented


def test_what_the_manual_names_first_is_there() -> None:
    known = set().union(*(keys_of(summary(example())) for example in EXAMPLES.values()))
    nics = set().union(*(summary(example())["nic"]["h0-eth0"] for example in EXAMPLES.values()))
    rows = re.findall(r"^\| (`.*?) \|", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z0-9_<>]+)(?:\[\])?`", row)}
    assert named - known - nics == set()


def test_it_is_json_with_numbers_that_add_up(result: dict[str, Any]) -> None:
    read = json.loads(as_text(result))
    assert read == result
    drops = read["drops"]
    assert drops["total"] == sum(drops["by_reason"].values())
    assert drops["total"] == sum(sum(counts.values()) for counts in drops["by_port"].values())
    for collective in read["collectives"]:
        stalls = collective["stall_ps_by_rank"]
        assert list(stalls) == collective["hosts"]
        assert collective["stall_max_ps"] == max(stalls.values())
        assert collective["stall_mean_ps"] == sum(stalls.values()) // collective["ranks"]


def test_all_reduce_in_the_terms_of_nccl_tests() -> None:
    (collective,) = summary(examples.clean())["collectives"]
    algbw = 4 * 2**20 * 8 / 745.123456e-6 / 1e9
    assert collective["algbw_gbps"] == round(algbw, 3) == 45.032
    assert collective["busbw_gbps"] == round(algbw * 2 * 15 / 16, 3) == 84.435
    assert (collective["ranks"], collective["elements"], collective["data_type"]) == (16, 2**20, "float32")


def test_usual_reasons_are_there_when_nothing_was_lost() -> None:
    assert summary(examples.clean())["drops"] == {
        "total": 0,
        "by_reason": {"fault": 0, "icrc": 0, "link_down": 0, "openflow": 0, "shared_full": 0},
        "by_port": {},
        "first": None,
    }


def test_drops_by_reason_and_place() -> None:
    drops = summary(examples.lossy())["drops"]
    assert (drops["total"], drops["by_reason"]["fault"], drops["by_reason"]["icrc"]) == (3, 1, 2)
    assert drops["by_port"] == {"h3-eth0": {"fault": 1}, "h4-eth0": {"icrc": 1}, "leaf1-eth1": {"icrc": 1}}
    assert (drops["first"]["time_ps"], drops["first"]["psn"]) == (312_345_678, 7)


def test_the_scenario_in_it_can_be_run_again() -> None:
    measured = examples.lossy()
    written = json.loads(as_text(summary(measured)))["scenario"]
    assert Scenario.model_validate(written) == measured.scenario
    assert written["fabric"]["link"]["rate"] == "100Gbps"


def test_only_wall_knows_the_machine() -> None:
    """Fences are wall time's doing, and Open vSwitch counts them among its frames."""
    one = examples.clean()
    wall = WallRecord(99.0, 9.0, 92_160, 930.9, 2**30)
    more_fences = replace(one.ovs, fences=50, frames_in=one.ovs.frames_in + 42, frames_out=one.ovs.frames_out + 42)
    first, second = summary(one), summary(replace(one, wall=wall, ovs=more_fences))
    assert first.pop("wall") != second.pop("wall")
    assert as_text(first) == as_text(second)


def test_wall_is_rounded() -> None:
    wall = summary(examples.clean())["wall"]
    assert (wall["seconds"], wall["packet_hops_per_second"], wall["fences"]) == (1.235, 74_650, 8)


def test_ok_is_all_expectations_and_all_invariants() -> None:
    measured = examples.clean()
    assert summary(measured)["ok"] is True
    assert summary(examples.lossy())["ok"] is False
    broken = (*measured.invariants, Invariant("delivery", False, "3 wrong elements"))
    assert summary(replace(measured, invariants=broken))["ok"] is False


@pytest.mark.parametrize(
    ("expect", "ok"),
    [({}, False), ({"drops.total": 0}, False), ({"collectives.0.failed": True}, True),
     ({"collectives.0.failed": False}, False)],
)  # fmt: skip
def test_a_failed_workload_is_ok_only_where_the_scenario_expects_it(expect: dict[str, Any], ok: bool) -> None:
    (collective,) = examples.failed().collectives
    measured = examples.measurements(examples.scenario(expect=expect), (collective,), failure=collective.failure)
    assert summary(measured)["ok"] is ok


def test_what_a_failed_collective_has_not_is_null() -> None:
    (collective,) = summary(examples.failed())["collectives"]
    names = ("time_ps", "algbw_gbps", "busbw_gbps", "verified")
    assert [collective[name] for name in names] == [None] * 4
    assert collective["failure"].startswith("QP 17 of h3 is in error")


def test_equal_runs_give_equal_bytes() -> None:
    assert as_text(summary(examples.large())) == as_text(summary(examples.large()))


def test_it_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = summary(examples.clean())
    path = write_summary(tmp_path, result)
    assert [file.name for file in tmp_path.iterdir()] == [SUMMARY_FILE]
    assert path.read_text(encoding="utf-8") == as_text(result)

    def dies(self: Path, text: str, encoding: str) -> int:
        with self.open("w", encoding=encoding) as file:
            file.write(text[:100])
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_text", dies)
    with pytest.raises(OSError, match="no space left"):
        write_summary(tmp_path, summary(examples.lossy()))
    assert path.read_text(encoding="utf-8") == as_text(result)  # the earlier one is still whole


# --- traffic classes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", examples.ALL)
def test_without_traffic_classes_there_are_no_counters_of_them_and_totals_of_zero(name: str) -> None:
    result = summary(examples.ALL[name]())
    assert not {"switches", "pauses", "congestion", "control"} & result.keys()
    assert {"ecn_marked_packets", "pfc_xoff_tx"}.isdisjoint(result["ports"]["h0-eth0"])
    assert set(result["totals"].values()) == {0}


def test_totals_are_sums() -> None:
    result = summary(lossless_examples.marked())
    assert result["totals"] == {
        "ecn_marked_packets": 1940,
        "ecn_marked_received": 1940,
        "cnps_sent": 12,
        "cnps_handled": 12,
        "cnps_ignored": 0,
        "pauses": 40,
        "pfc_xoff_tx": 25 + 3 + 12,
        "pfc_xon_tx": 25 + 3 + 12,
        "pfc_xoff_rx": 25 + 3 + 12,
        "pfc_xon_rx": 25 + 3 + 12,
        "pfc_pause_duration_ps": (525 + 41 + 87) * 10**6 + 1234,
        "pause_storms": 0,
        "watchdog_storms": 0,
        "deadlocks": 0,
        "credit_wait_ps": 0,
        "out_of_sequence": 0,
        "packet_seq_err": 0,
        "local_ack_timeout_err": 0,
    }
    for counter in ("pfc_xoff_tx", "pfc_xoff_rx", "pfc_pause_duration_ps"):
        assert result["totals"][counter] == sum(port[counter] for port in result["ports"].values())


def test_marks_of_rules_count_as_marks_too() -> None:
    assert summary(lossless_examples.tight())["totals"]["ecn_marked_packets"] == 5


def test_storms_and_deadlocks_are_counted() -> None:
    storms, deadlocks = (
        summary(example())["totals"] for example in (lossless_examples.storm, lossless_examples.deadlock)
    )
    assert (storms["pause_storms"], storms["watchdog_storms"], storms["deadlocks"]) == (1, 2, 0)
    assert (deadlocks["pause_storms"], deadlocks["watchdog_storms"], deadlocks["deadlocks"]) == (0, 0, 1)


def test_queues_groups_and_pauses_of_a_port() -> None:
    ports = summary(lossless_examples.marked())["switches"]["leaf0"]["ports"]
    assert list(ports["leaf0-eth1"]["queues"]) == list(ports["leaf0-eth2"]["queues"]) == ["3"]
    queue = ports["leaf0-eth1"]["queues"]["3"]
    assert (queue["peak_bytes"], queue["ecn_marked_packets"], queue["dropped"]) == (421 * 1024, 1940, 0)
    assert ports["leaf0-eth5"]["pauses"]["3"]["out_pfc"] == 25
    group = ports["leaf0-eth5"]["groups"]["3"]
    assert (group["headroom_peak_bytes"], group["headroom_limit_bytes"]) == (24_930, 31_236)


def test_headroom_that_is_needed_is_what_auto_gives() -> None:
    """100 Gb/s, 500 ns of delay, MTU 4096, 500 ns of response: the bytes of 2 delays, a frame, a pause frame and the
    response, as frames without their overhead of 24 bytes on the wire, and the frame that crossed and the one begun."""
    frame = 14 + 20 + 8 + 12 + 16 + 4096 + 4 + 4
    wire = frame + 24
    window = (2 * 500_000 + 500_000) * 100 // 8000 + wire + 84
    needed = window - 24 * -(-window // wire) + 2 * frame
    group = summary(lossless_examples.tight())["switches"]["leaf0"]["ports"]["leaf0-eth2"]["groups"]["3"]
    assert (group["headroom_limit_bytes"], group["by_reason"]) == (8192, {"headroom_full": 30})
    assert abs(group["headroom_needed_bytes"] - needed) <= 2


def test_ethtool_names_of_pfc_and_of_pause() -> None:
    """XON frames are pause frames, too; durations are whole microseconds."""
    by_priority = summary(lossless_examples.marked())["nic"]["h1-eth0"]
    assert {name: value for name, value in by_priority.items() if "pause" in name} == {
        "rx_prio3_pause": 24,
        "rx_prio3_pause_duration": 87,
        "rx_prio3_pause_transition": 12,
        "tx_prio3_pause": 0,
    }
    of_link = summary(lossless_examples.tight())["nic"]["h1-eth0"]
    assert {name: value for name, value in of_link.items() if "pause" in name} == {
        "rx_global_pause": 10,
        "rx_global_pause_duration": 1000,
        "rx_global_pause_transition": 5,
        "tx_global_pause": 0,
    }


def test_pause_stops_all_priorities_at_once_and_counts_once() -> None:
    assert summary(lossless_examples.tight())["ports"]["h1-eth0"]["pfc_pause_duration_ps"] == 10**9


def test_the_tree_of_pauses_has_the_whole_chain() -> None:
    (found,) = summary(lossless_examples.marked())["pauses"]["roots"]
    assert (found["port"], found["kind"], found["pauses"]) == ("leaf0-eth1", "congestion", 40)
    assert found["paused_ports"] == ["h1-eth0", "leaf1-eth5", "spine0-eth1"]
    assert found["branches"][0]["branches"][0]["paused"] == "leaf1-eth5"


def test_reasons_of_classes_are_there_when_nothing_was_lost() -> None:
    reasons = summary(lossless_examples.quiet())["drops"]["by_reason"]
    of_classes = {"egress_threshold", "headroom_full", "ingress_threshold", "pfc_watchdog", "wred"}
    assert of_classes <= reasons.keys()
    assert set(reasons.values()) == {0}
    assert of_classes.isdisjoint(summary(examples.clean())["drops"]["by_reason"])


def test_congestion_control_of_each_queue_pair() -> None:
    found = summary(lossless_examples.marked())["congestion"]
    assert (found["kind"], found["lowest"]) == ("dcqcn", {"rate_bps": 5 * 10**9})
    assert found["queue_pairs"][0]["at_end"] == {"rate_bps": 8 * 10**10, "target_bps": 9 * 10**10, "alpha": 0.333333}
