"""``rocelab bench`` on the real thing: its rows are what `run` gives, size by size; and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import LOSSY, Start
from tests.lab.marked import processes, wait_for
from tests.lab.runs import ROOT, rocelab, run, skip_without_lab, write

ROCE = ROOT / "scenarios" / "50-all-reduce-and-incast-roce.yaml"
SMALL: dict[str, Any] = {
    "title": "Two hosts on a switch",
    "fabric": {"topology": {"kind": "single-switch", "hosts": 2}},
    "workload": [{"kind": "all-reduce", "size": "4KiB"}],
}


def bench(*arguments: str | Path) -> list[dict[str, Any]]:
    done = rocelab("bench", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("scenario", "sizes"),
    [(ROCE, (262144, 65536)), (LOSSY, (65536, 131072, 65536))],
    ids=["pauses and marks", "losses"],
)
def test_a_row_is_what_a_run_with_that_size_gives(tmp_path: Path, scenario: Any, sizes: tuple[int, ...]) -> None:
    """To the picosecond, though one fabric carries all sizes, the largest first."""
    skip_without_lab()
    file = scenario if isinstance(scenario, Path) else write(tmp_path, scenario)
    rows = bench("all-reduce", "--on", file, "--sizes", ",".join(map(str, sizes)))
    assert [row["size_bytes"] for row in rows] == list(sizes)
    for size, row in {row["size_bytes"]: row for row in reversed(rows)}.items():
        folder = tmp_path / str(size)
        folder.mkdir()
        found = run(folder, file, "--set", f"workload.0.size={size}B", "--set", "expect={}").summary
        whole = found["collectives"][0]
        names = ("time_ps", "ideal_ps", "algbw_gbps", "busbw_gbps", "wrong_elements")
        assert {name: row[name] for name in names} == {name: whole[name] for name in names}
        assert row["retransmitted_packets"] == found["retransmitted_packets"]
        assert row["dropped_frames"] == found["drops"]["total"]
    alike = [row for row in rows if row["size_bytes"] == sizes[-1]]
    assert all(row == alike[0] for row in alike)


def test_with_a_policy_no_size_knows_of_the_one_before() -> None:
    skip_without_lab()
    options = ("--policy", "adaptive-ecn", "--sizes", "65536,65536")
    first, second = bench("all-reduce", "--on", ROCE, *options)
    assert first == second


def test_another_collective_takes_the_place_of_the_workload(tmp_path: Path) -> None:
    skip_without_lab()
    rows = bench("all-gather", "--on", write(tmp_path, SMALL), "--sizes", "4K:16K:4", "--iterations", "2")
    assert [(row["collective"], row["count"], row["iterations"]) for row in rows] == [
        ("all-gather", 512, 2),
        ("all-gather", 2048, 2),
    ]


def test_what_reads_nccl_tests_reads_the_table(tmp_path: Path) -> None:
    """Lines without ``#`` are numbers, in nccl-tests' columns."""
    skip_without_lab()
    done = rocelab("bench", "all-reduce", "--on", write(tmp_path, SMALL), "--sizes", "4K:8K:2")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [text.split() for text in done.stdout.splitlines() if not text.startswith("#")]
    assert [(row[0], row[1], row[2], row[3], row[4], row[8]) for row in rows] == [
        ("4096", "1024", "float", "sum", "-1", "0"),
        ("8192", "2048", "float", "sum", "-1", "0"),
    ]
    average = sum(float(row[7]) for row in rows) / len(rows)
    (told,) = [text for text in done.stdout.splitlines() if text.startswith("# Avg bus bandwidth")]
    assert float(told.split(":")[1]) == pytest.approx(average, abs=0.01)


def test_1_when_a_workload_fails_and_the_other_rows_are_there(tmp_path: Path) -> None:
    skip_without_lab()
    cut = {
        **SMALL,
        "transport": {"timeout": 1, "retry_count": 0, "mtu": 1024},
        "faults": [{"kind": "drop", "port": "h0-eth0", "nth": 5}],
    }
    done = rocelab("bench", "all-reduce", "--on", write(tmp_path, cut), "--sizes", "2K,16K,2K")
    assert done.returncode == 1
    assert done.stderr.startswith("rocelab: 16KiB: the workload failed: ")
    rows = [text.split() for text in done.stdout.splitlines() if not text.startswith("#")]
    assert [row[5] == "N/A" for row in rows] == [False, True, False]
    assert rows[0] == rows[2]


def test_2_when_the_collective_is_unknown(tmp_path: Path) -> None:
    done = rocelab("bench", "all-redcue", "--on", write(tmp_path, SMALL))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rocelab: 'all-redcue' is not a collective; did you mean 'all-reduce'?\n"


@pytest.mark.parametrize("user", ["ordinary user"], indirect=True)
def test_ctrl_c_ends_it_with_the_rows_so_far(start: Start, mark: str) -> None:
    """A terminal sends SIGINT to every process of the command's group."""
    command = start(
        "bench", "all-reduce", "--on", "scenarios/01-ring-all-reduce.yaml", "--sizes", "4K,1G", "--set",
        "workload.0.verify=false", start_new_session=True,
    )  # fmt: skip
    assert command.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1].startswith("#"):
        lines.append(command.stdout.readline())
    os.killpg(command.pid, signal.SIGINT)
    output, errors = command.communicate(timeout=60)
    assert (command.returncode, output, errors) == (130, "", "rocelab: interrupted\n")
    assert lines[-1].split()[0] == "4096"
    wait_for(lambda: not processes(mark), 30, "the end of all processes")


def test_a_reader_that_has_seen_enough_ends_it() -> None:
    skip_without_lab()
    script = f"{sys.executable} -m testbed bench all-reduce --on {ROCE} --sizes 4K,8K | head -n 1"
    done = subprocess.run(["sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("# An All-Reduce beside an incast")
    assert done.stderr == ""


def test_ranks_that_only_talk_by_nvlink_have_a_row(tmp_path: Path) -> None:
    """No packet is ever sent."""
    skip_without_lab()
    within = {**SMALL, "fabric": {**SMALL["fabric"], "nvlink": {}}}
    within["workload"] = [{"kind": "all-reduce", "size": "4KiB", "ranks": ["h0", "h0.1"]}]
    (row,) = bench("all-reduce", "--on", write(tmp_path, within), "--sizes", "4K")
    assert (row["ranks"], row["wrong_elements"]) == (2, 0)
