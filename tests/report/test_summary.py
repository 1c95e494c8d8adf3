"""summary.json: what is in it, that it is documented, and that nothing of the machine is in it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.measurement.records import Invariant, WallRecord
from testbed.report.summary import SUMMARY_FILE, as_text, summary, write_summary
from testbed.scenario.model import Scenario
from tests.report import examples

MANUAL = Path(__file__).parents[2] / "docs" / "summary.md"
KEYED_BY_NAMES = {"nic", "ports", "stall_ps_by_rank", "by_reason", "by_port", "versions"}
"""Mappings whose keys are names of the run: hosts, ports, reasons, programs."""


@pytest.fixture(params=examples.ALL)
def result(request: pytest.FixtureRequest) -> dict[str, Any]:
    return summary(examples.ALL[request.param]())


def keys_of(value: Any, key: str = "") -> set[str]:
    """Return the documented kind of keys at any depth: not names of the run, not the scenario's own."""
    if isinstance(value, list):
        return set().union(*(keys_of(item, key) for item in value))
    if not isinstance(value, dict) or key == "scenario":
        return set()
    named = key in KEYED_BY_NAMES
    below = [keys_of(item, "" if named else name) for name, item in value.items()]
    return set().union(() if named else set(value), *below)


def test_every_key_is_documented(result: dict[str, Any]) -> None:
    documented = set(re.findall(r"`([a-z_]+)(?:\[\])?`", MANUAL.read_text(encoding="utf-8")))
    assert keys_of(result) <= documented


def test_what_the_manual_names_first_is_there() -> None:
    result = summary(examples.lossy())
    flows = summary(examples.flows())["flows"][0]
    rows = re.findall(r"^\| (`.*?) \|", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert named <= keys_of(result) | set(flows)


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
