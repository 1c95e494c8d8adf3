"""``rocelab counters`` on finished runs: golden tables, the choice of a node, and what it says of a wrong directory."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from testbed.cli.counters import counters
from testbed.errors import ScenarioError
from testbed.report.summary import summary, write_summary
from tests.conftest import GoldenCheck
from tests.report import examples, lossless_examples

GOLDEN = Path(__file__).parent / "counters"
EXAMPLES = {**examples.ALL, **lossless_examples.ALL}


def finished(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    write_summary(folder, summary(EXAMPLES[name]()))
    return folder


def invoke(*arguments: str | Path, columns: int = 80) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(counters, [str(each) for each in arguments])


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", ["marked", "storm", "tight", "credited"])
def test_tables(name: str, columns: int, tmp_path: Path, golden: GoldenCheck) -> None:
    golden(GOLDEN / f"{name}-{columns}.txt", invoke(finished(tmp_path, name), columns=columns).output)


def test_a_node_is_a_host_a_nic_a_switch_or_a_port(tmp_path: Path) -> None:
    run = finished(tmp_path, "marked")
    of_host, of_nic = (invoke(run, "--node", node).output for node in ("h0", "h0-eth0"))
    assert of_host == of_nic
    assert "np_cnp_sent" in of_host
    assert "h4-eth0" not in of_host
    of_switch, of_port = (invoke(run, "--node", node).output for node in ("leaf0", "leaf0-eth5"))
    assert "leaf0-eth1 priority 3" in of_switch
    assert "spine0" not in of_switch
    assert "leaf0-eth5 priority 3" in of_port
    assert "leaf0-eth1 " not in of_port


def test_zeros_only_with_all(tmp_path: Path) -> None:
    run = finished(tmp_path, "marked")
    assert "duplicate_request" not in invoke(run, "--node", "h0").output
    assert "duplicate_request" in invoke(run, "--node", "h0", "--all").output
    assert "leaf1-eth1 priority 3" not in invoke(run).output
    assert "leaf1-eth1 priority 3" in invoke(run, "--all").output


def test_nothing_counted_is_said(tmp_path: Path) -> None:
    assert (
        "every counter is 0; see all of them with --all" in invoke(finished(tmp_path, "quiet"), "--node", "h0").output
    )


def test_without_traffic_classes(tmp_path: Path) -> None:
    output = invoke(finished(tmp_path, "large"), "--node", "leaf1").output
    assert "Switch ports" in output
    assert "shared_full" in output
    assert "priority" not in output


def test_json_has_every_counter(tmp_path: Path) -> None:
    found = json.loads(invoke(finished(tmp_path, "storm"), "--json", "--node", "leaf0-eth1").output)
    assert (found["nic"], list(found["switch"])) == ({}, ["leaf0-eth1"])
    assert found["switch"]["leaf0-eth1"]["queues"]["3"]["by_reason"] == {"pfc_watchdog": 3}
    assert found["drops"] == {"leaf0-eth1": {"pfc_watchdog": 3}}


def message(*arguments: str | Path) -> str:
    error = invoke(*arguments).exception
    assert isinstance(error, ScenarioError)
    return str(error)


def test_an_unknown_node_has_near_ones(tmp_path: Path) -> None:
    run = finished(tmp_path, "marked")
    assert message(run, "--node", "leaf9").endswith("none of that name; did you mean leaf1 or leaf0?")
    assert message(run, "--node", "?").endswith("none of that name; such as h0 or spine1-eth2")


def test_a_directory_without_a_finished_run(tmp_path: Path) -> None:
    told = f"{tmp_path}: expected the directory of a finished run, such as runs/01-ring-all-reduce-1, found "
    assert message(tmp_path) == told + "no summary.json in it: the run was interrupted, or is under way"
    assert message(tmp_path / "no").endswith("found nothing there")
    for text in ("not json", "[1]", b"\xff"):
        (tmp_path / "summary.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        assert message(tmp_path) == told + "a file that is not a summary of this version of rocelab"


def test_a_summary_of_another_shape_is_told_by_what_it_lacks(tmp_path: Path) -> None:
    told = f"{tmp_path}: expected the directory of a finished run, such as runs/01-ring-all-reduce-1, found "
    told += "a summary of another version of rocelab: it has no "
    file = finished(tmp_path, "marked") / "summary.json"
    whole = json.loads(file.read_text())
    del whole["totals"]["pauses"], whole["flows"][0]["end_ps"]
    whole["ports"]["h0-eth0"] = 7
    file.write_text(json.dumps(whole))
    assert message(tmp_path) == told + "flows[0].end_ps, totals.pauses, ports.h0-eth0"
    file.write_text('{"ok": true}')
    assert message(tmp_path) == told + "title, failure, collectives and 8 more"
