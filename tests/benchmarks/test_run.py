"""The tool from end to end, at a size that takes no time, and what it says of wrong input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import congested, product, run
from benchmarks.product import ROOT, BenchmarkError
from testbed.errors import MachineError
from testbed.outside.machine import require_machine


@pytest.fixture
def lab() -> None:
    """Skip, with the reason, on a machine that cannot run the real thing."""
    try:
        require_machine()
    except MachineError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("lab")
def test_all_layers_at_a_tiny_size(tmp_path: Path) -> None:
    """One benchmark of each kind: the product's own figures, the pump, the sampler, a workload of the peers'."""
    names = ["reference", "ovs-limit", "profile", "w1-flat", "w2-incast"]
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), *names, "--quick", "--repeat", "1", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found) == names
    assert all(item["machine"]["cores"] >= 1 for item in found.values())
    assert found["reference"]["wall"][0]["packet_hops"] > 0
    (pumped,) = found["ovs-limit"]["pumped"]
    assert [(item["frame_bytes"], item["outstanding"]) for item in pumped] == [
        (size, under_way) for size in (4154, 62) for under_way in (8, 32, 128, 320)
    ]
    assert all(item["frames"] > 0 for item in pumped)
    assert sum(found["profile"]["parts"][0].values()) > 0
    assert set(found["w1-flat"]["wall"]) == {"ack_every_16", "ack_every_1"}
    assert set(found["w2-incast"]["model"]) == {variant.name for variant in congested.W2.variants}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["refrence"], "no benchmark refrence; there are reference, ovs-limit, "),
        (["--repeat", "0"], "--repeat: expected 1 or more, found 0"),
        (["--write", "--quick"], "--write: expected full sizes, found --quick"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run.main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_a_run_that_fails_is_quoted() -> None:
    with pytest.raises(BenchmarkError, match=r"exit status 2\n.*no-such\.yaml: expected a scenario file"):
        product.run_product("no-such.yaml")


def test_runs_of_one_scenario_must_be_equal() -> None:
    one = {"duration_ps": 1, "drops": 0, "wall": {"seconds": 1.0}}
    assert product.same_results([one, {**one, "wall": {"seconds": 2.0}}]) == {"duration_ps": 1, "drops": 0}
    with pytest.raises(BenchmarkError, match="differ in duration_ps"):
        product.same_results([one, {**one, "duration_ps": 2}])
