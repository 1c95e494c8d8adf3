"""``rocelab trace info``: golden tables of the scenarios' traces, JSON, and what it says of what is no trace."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from testbed.cli.trace import trace
from testbed.errors import ScenarioError
from tests.conftest import GoldenCheck
from tests.traffic.traces.kit import write_goal
from tests.traffic.traces.make_traces import CHAKRA, TRACES

GOLDEN = Path(__file__).parent / "trace"


def invoke(*arguments: str | Path, columns: int = 100) -> Result:
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(trace, ["info", *(str(each) for each in arguments)])


@pytest.mark.parametrize("name", [*CHAKRA, "param", "halo.goal"])
def test_tables(name: str, golden: GoldenCheck) -> None:
    result = invoke(TRACES / name)
    assert result.exit_code == 0
    golden(GOLDEN / f"{name}.txt", result.output)


def test_json_has_everything() -> None:
    found = json.loads(invoke("--json", TRACES / "moe").output)
    assert (found["format"], len(found["ranks"]), found["unknown"]) == ("Chakra", 8, {"STORAGE_NODE": 8})
    assert found["collectives"][0] == {
        "kind": "all-to-all", "group": "1", "ranks": 4, "size_bytes": 524288, "count": 4,
    }  # fmt: skip
    assert found["groups"] == {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}
    assert found["ranks"][3]["compute_ps"] == 420_000_000
    assert found["mistakes"] == []


def test_a_trace_that_does_not_fit_is_shown_all_the_same(tmp_path: Path) -> None:
    file = write_goal(tmp_path, "num_ranks 2", "rank 0 {", "send 8b to 1", "}", "rank 1 {", "}")
    result = invoke(file, columns=400)
    assert result.exit_code == 1
    assert "Cannot be replayed" in result.output
    assert f"{file}:3:1: rank 0, line 3: expected a receive at rank 1 from rank 0 with tag 0" in result.output
    assert json.loads(invoke("--json", file).output)["critical_path_ps"] is None


def test_what_is_no_trace_is_an_error(tmp_path: Path) -> None:
    result = invoke(tmp_path / "none.et")
    assert isinstance(result.exception, ScenarioError)
    assert "expected a trace or a directory of traces, found nothing there" in str(result.exception)


def test_long_tables_are_cut(tmp_path: Path) -> None:
    lines = ["num_ranks 40", *(line for rank in range(40) for line in (f"rank {rank} {{", "calc 5", "}"))]
    output = invoke(write_goal(tmp_path, *lines)).output
    assert "24 more (--json has all)" in output
