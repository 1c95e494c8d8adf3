"""What faults do to a run, from the wire to the report: named drops, recovery, and the end when there is none."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.lab.runs import LEAF_SPINE, ROOT, Run, Scenario, good, plain_environment, run, skip_without_lab, write

MICROSECOND = 1_000_000
NIC_DROPS = ("rx_icrc_encapsulated", "rx_malformed", "rx_wrong_address", "rx_unknown_qp", "rx_qp_not_ready")


# --- one lost packet -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_lost(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The scenario of one lost packet: as it is, and without the loss."""
    skip_without_lab()
    file = ROOT / "scenarios" / "02-one-lost-packet.yaml"
    whole = ("--set", "faults=[]", "--set", "expect={}")
    return {
        "lost": good(run(tmp_path_factory.mktemp("lost"), file)),
        "whole": good(run(tmp_path_factory.mktemp("whole"), file, *whole)),
    }


def test_the_lost_packet_is_named(one_lost: dict[str, Run]) -> None:
    drops = one_lost["lost"].summary["drops"]
    assert drops["total"] == drops["by_reason"]["fault"] == sum(drops["by_reason"].values()) == 1
    assert drops["by_port"] == {"h0-eth0": {"fault": 1}}
    first = drops["first"]
    assert (first["where"], first["reason"], first["kind"], first["source"], first["destination"]) == (
        "h0-eth0", "fault", "data", "h0", "h1",
    )  # fmt: skip
    assert first["psn"] == 63  # the 64th packet, from PSN 0
    (row,) = rows(one_lost["lost"], "drops")
    assert row == first


def test_one_lost_packet_stalls_every_rank_for_the_timeout(one_lost: dict[str, Run]) -> None:
    lost, whole = (one_lost[name].summary["collectives"][0] for name in ("lost", "whole"))
    timeout_ps = 4_096_000 << 20
    for rank, stall in lost["stall_ps_by_rank"].items():
        assert stall - whole["stall_ps_by_rank"][rank] == pytest.approx(timeout_ps, rel=0.001)
    assert lost["time_ps"] - whole["time_ps"] == pytest.approx(timeout_ps, rel=0.001)
    assert lost["ideal_ps"] == whole["ideal_ps"]
    assert lost["verified"]


def test_only_the_sender_of_the_lost_packet_sends_again(one_lost: dict[str, Run]) -> None:
    """From the last acknowledged packet on: one in 16 asks for an acknowledgement, so the 49th to the 64th."""
    nics = one_lost["lost"].summary["nic"]
    assert {name: counters["retransmitted_packets"] for name, counters in nics.items() if name != "h0-eth0"} == {
        "h1-eth0": 0, "h2-eth0": 0, "h3-eth0": 0,
    }  # fmt: skip
    assert nics["h0-eth0"]["retransmitted_packets"] == 16
    assert nics["h0-eth0"]["local_ack_timeout_err"] == 1
    assert nics["h1-eth0"]["duplicate_request"] == 15
    assert nics["h1-eth0"]["out_of_sequence"] == 0


def test_without_the_loss_nobody_waits(one_lost: dict[str, Run]) -> None:
    whole = one_lost["whole"].summary
    assert (whole["drops"]["total"], whole["drops"]["first"], whole["retransmitted_packets"]) == (0, None, 0)
    assert max(whole["collectives"][0]["stall_ps_by_rank"].values()) < MICROSECOND


# --- random loss and corruption --------------------------------------------------------------------------------------


def test_every_drop_is_counted_once_and_where_it_was(lossy: Run) -> None:
    """Three accounts of the same: the list of drops, the counters of the places, and the sums in the summary."""
    drops = lossy.summary["drops"]
    listed = Counter((row["where"], row["reason"]) for row in rows(lossy, "drops"))
    assert listed == Counter(
        {(where, reason): frames for where, counts in drops["by_port"].items() for reason, frames in counts.items()}
    )
    assert drops["total"] == listed.total() == sum(drops["by_reason"].values())
    assert drops["by_reason"] == {"icrc": 0, "fault": 0, "link_down": 0, "openflow": 0, "shared_full": 0} | Counter(
        row["reason"] for row in rows(lossy, "drops")
    )
    assert listed["h1-eth0", "fault"] == lossy.summary["ports"]["h1-eth0"]["dropped"] > 0


def test_a_corrupted_frame_dies_of_its_icrc_at_the_nic_that_it_reaches(lossy: Run) -> None:
    """Corrupted on its first link or its last, it crosses the switches, which do not look at an ICRC."""
    at_nics = {
        name: counters["rx_icrc_encapsulated"]
        for name, counters in lossy.summary["nic"].items()
        if counters["rx_icrc_encapsulated"]
    }
    by_port = lossy.summary["drops"]["by_port"]
    assert {where: counts["icrc"] for where, counts in by_port.items() if "icrc" in counts} == at_nics
    assert lossy.summary["drops"]["by_reason"]["icrc"] == sum(at_nics.values()) > 0
    # h0 sends data to h1 and acknowledgements to h3; leaf1-eth1 leads to h2
    assert set(at_nics) == {"h1-eth0", "h2-eth0", "h3-eth0"}


def test_nothing_but_what_was_lost_is_missing(lossy: Run) -> None:
    nics = lossy.summary["nic"].values()
    sent, received, again = (
        sum(counters[name] for counters in nics)
        for name in ("sent_data_packets", "received_data_packets", "retransmitted_packets")
    )
    lost = sum(row["kind"] == "data" for row in rows(lossy, "drops"))
    assert sent == received + lost
    assert again == lossy.summary["retransmitted_packets"] > 0
    assert all(item["ok"] for item in lossy.summary["invariants"])


def rows(done: Run, table: str) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = pyarrow.parquet.read_table(done.directory / f"{table}.parquet").to_pylist()
    return read


# --- a link that stays down ------------------------------------------------------------------------------------------

CUT: Scenario = {
    "title": "A host's cable is cut for good",
    "fabric": {"topology": LEAF_SPINE},
    "transport": {"timeout": 3, "retry_count": 3},
    "workload": [{"kind": "all-reduce", "size": "256KiB"}],
    "faults": [{"kind": "link-down", "link": "h2-leaf1", "at": "20us"}],
}


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Run:
    skip_without_lab()
    return run(tmp_path_factory.mktemp("cut"), CUT, "--json")


def test_a_queue_pair_that_runs_out_of_retries_is_reported(cut: Run) -> None:
    """With its collective, rank, queue pair and time: four timeouts of 4.096 us x 2^3 after the last acknowledgement,
    each from when a part's last packet (16 of 4 KiB take 5.4 us) has asked for one again.
    """
    (collective,) = cut.summary["collectives"]
    failure, end_ps = collective["failure"], collective["end_ps"]
    assert cut.status == 1
    assert failure == (
        f"ring all-reduce (workload.0) died at {end_ps / MICROSECOND:.6f}".rstrip("0") + "us of model time: "
        "rank 2 (h2), QP 18 sending step 1, piece 0 to rank 3 (h3): RETRY_EXC_ERR"
    )
    assert (cut.summary["failure"], cut.summary["duration_ps"]) == (failure, end_ps)
    assert (collective["failed"], collective["time_ps"], collective["busbw_gbps"]) == (True, None, None)
    assert (collective["verified"], collective["wrong_elements"]) == (None, 0)  # there is no result to compare
    timeout_ps = 4_096_000 << 3
    assert 4 * timeout_ps + 3 * 5 * MICROSECOND < end_ps < 20 * MICROSECOND + 4 * timeout_ps + 3 * 6 * MICROSECOND


def test_a_failed_run_leaves_its_results_too(cut: Run) -> None:
    assert not cut.summary["ok"]
    drops = cut.summary["drops"]
    assert drops["by_reason"]["link_down"] == drops["total"] > 0
    assert set(drops["by_port"]) == {"h2-eth0", "leaf1-eth1"}
    sender = cut.summary["nic"]["h2-eth0"]
    assert (sender["local_ack_timeout_err"], sender["req_cqe_error"]) == (CUT["transport"]["retry_count"], 1)
    assert all(item["ok"] for item in cut.summary["invariants"])
    assert {"drops.parquet", "ports.parquet", "steps.parquet", "waits.parquet"} <= {
        path.name for path in cut.directory.iterdir()
    }


def test_json_is_all_that_stands_on_standard_output(cut: Run) -> None:
    assert json.loads(cut.output) == cut.summary
    assert cut.output == cut.text
    assert cut.errors == ""


# --- a switch without a route ----------------------------------------------------------------------------------------


def tampered(tampering: str, folder: Path, scenario: Scenario) -> Run:
    """Run a scenario on a fabric that is tampered with, see `tests.lab.tampered`."""
    skip_without_lab()
    command = [sys.executable, "-m", "tests.lab.tampered", tampering, str(write(folder, scenario)), str(folder / "run")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=plain_environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return Run(done.returncode, done.stdout, done.stderr, folder / "run")


NO_ROUTE: Scenario = {
    "title": "One flow whose last switch has no route, and one that has",
    "fabric": {"topology": LEAF_SPINE},
    "transport": {"timeout": 1, "retry_count": 1, "mtu": 1024},
    "workload": [
        {
            "kind": "flows",
            "flows": [
                {"source": "h0", "destination": "h3", "size": "40KiB"},
                {"source": "h1", "destination": "h2", "size": "40KiB"},
            ],
        }
    ],
    "expect": {"flows.0.failed": True, "flows.1.verified": True},
}


def test_a_frame_without_a_route_is_proved_dropped_and_named(tmp_path: Path) -> None:
    """All 40 packets, and all again after each timeout: what is dropped is not what is slow, and vice versa."""
    done = good(tampered("without-route", tmp_path, NO_ROUTE))
    drops, (lost, whole) = done.summary["drops"], done.summary["flows"]
    assert drops["by_reason"]["openflow"] == drops["total"] == 2 * 40
    assert drops["by_port"] == {"leaf1": {"openflow": 80}}
    assert (drops["first"]["source"], drops["first"]["destination"]) == ("h0", "h3")
    assert lost["failure"].endswith("RETRY_EXC_ERR")
    assert (whole["failed"], whole["verified"]) == (False, True)
    assert done.summary["wall"]["fences"] > 0
    assert done.summary["ovs"]["frames_in"] - done.summary["ovs"]["frames_out"] == 80


def test_a_frame_that_nobody_sent_breaks_an_invariant(tmp_path: Path) -> None:
    done = tampered("stray-frame", tmp_path, {**NO_ROUTE, "expect": {}})
    assert done.status == 1
    broken = {item["name"]: item["detail"] for item in done.summary["invariants"] if not item["ok"]}
    assert broken["unsolicited"] == "1 frames that nobody sent in"
    assert "✗ invariant unsolicited: 1 frames that nobody sent in" in done.errors
