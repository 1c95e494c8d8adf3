"""The scenarios of a benchmark: what is measured, what runs beside it, and what cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest

from testbed.bench.series import Choice, Series, collectives, make_series
from testbed.errors import ScenarioError
from testbed.scenario.collectives import AllReduce, Counted

K = 2**10
FLOWS = {"kind": "flows", "pattern": "ring", "size": "64KiB"}
ALL_REDUCE = {"kind": "all-reduce", "size": "1MiB", "ranks": ["h0", "h3"], "chunk": "8KiB"}


def series(folder: Path, workload: list[dict[str, Any]], choice: Choice, *overrides: str) -> Series:
    file = folder / "scenario.yaml"
    scenario = {
        "title": "A bench",
        "fabric": {"topology": {"kind": "single-switch", "hosts": 4}},
        "workload": workload,
        "expect": {"drops.total": 0},
        "measure": {"capture": "all"},
    }
    file.write_text(json.dumps(scenario))
    return make_series(file, overrides, choice)


def test_the_kinds_are_those_that_have_an_algorithm() -> None:
    assert {"all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all"} <= set(collectives())


def test_the_scenarios_own_collective_is_measured_with_its_options_and_the_rest_beside_it(tmp_path: Path) -> None:
    made = series(tmp_path, [FLOWS, ALL_REDUCE], Choice("all-reduce", [4 * K, 8 * K]), "seed=5")
    assert (made.position, made.replaced, made.beside) == (0, False, 1)
    assert made.context == "beside 1 other work of the scenario"
    works = [scenario.workload[1] for scenario in made.scenarios]
    assert all(isinstance(work, AllReduce) and work.ranks == ("h0", "h3") and work.chunk == 8 * K for work in works)
    assert [work.size for work in works if isinstance(work, AllReduce)] == [4 * K, 8 * K]
    assert {scenario.seed for scenario in made.scenarios} == {5}
    assert made.scenarios[0].expect == {}
    assert made.scenarios[0].measure.capture == ()


def test_the_position_counts_collectives_only(tmp_path: Path) -> None:
    gather = {"kind": "all-gather", "size": "64KiB"}
    made = series(tmp_path, [gather, FLOWS, ALL_REDUCE], Choice("all-reduce", [4 * K]))
    assert made.position == 1
    assert made.work.kind == "all-reduce"
    assert made.context == "beside 2 other works of the scenario"


@pytest.mark.parametrize("ranks", [("h0", "h3"), Counted(count=3, skip=1)])
def test_another_kind_takes_the_place_of_the_workload_among_the_same_ranks(
    tmp_path: Path, ranks: tuple[str, ...] | Counted
) -> None:
    written = ranks.model_dump(exclude_defaults=True) if isinstance(ranks, Counted) else ranks
    made = series(tmp_path, [FLOWS, {**ALL_REDUCE, "ranks": written}], Choice("all-gather", [4 * K], "ring", 3, "1KiB"))
    assert made.context == "in place of the scenario's workload"
    (work,) = made.scenarios[0].workload
    assert (made.work, made.position) == (work, 0)
    assert (made.work.kind, made.work.algorithm, made.work.iterations, made.work.chunk) == ("all-gather", "ring", 3, K)
    assert made.work.ranks == ranks


def test_without_any_collective_all_hosts_take_part(tmp_path: Path) -> None:
    made = series(tmp_path, [FLOWS], Choice("all-reduce", [4 * K]))
    assert made.work.ranks == "all"


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        (Choice("allreduce", [K]), "rocelab: 'allreduce' is not a collective; did you mean 'all-reduce'?"),
        (Choice("xyz", [K]), "rocelab: 'xyz' is not a collective; there are all-gather, all-reduce, "),
        (Choice("all-reduce", [K], "rnig"), "--algorithm: 'rnig' is not an algorithm for all-reduce; did you mean 'ri"),
        (Choice("all-reduce", [K], chunk="3"), "--set workload.0.chunk=3: workload.0.chunk: expected a size"),
        (Choice("all-reduce", [K], chunk="0B"), "--set workload.0.chunk=0B: workload.0.chunk: expected a size"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_runs(tmp_path: Path, choice: Choice, text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        series(tmp_path, [ALL_REDUCE], choice)
    assert str(caught.value).startswith(text)


def test_a_scenario_without_hosts_enough_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="workload"):
        series(
            tmp_path,
            [{"kind": "all-reduce", "size": "4KiB"}],
            Choice("all-reduce", [K]),
            "fabric.topology={kind: leaf-spine, leaves: 1, spines: 1, hosts_per_leaf: 1}",
        )
