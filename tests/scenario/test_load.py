"""Loading: what a right file gives, how overrides apply, and that mistakes neither hide nor breed others."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from testbed.cli.scenarios import FOLDER
from testbed.errors import ScenarioError
from testbed.scenario.collectives import AllReduce
from testbed.scenario.load import load_scenario
from testbed.scenario.model import DropNth, LeafSpine, Scenario

RIGHT = """\
title: A right scenario
fabric:
  topology: {kind: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2}
workload:
  - {kind: all-reduce, size: 1MiB}
"""


def load(folder: Path, text: str, *overrides: str) -> Scenario:
    file = folder / "case.yaml"
    file.write_text(text, encoding="utf-8")
    return load_scenario(file, overrides)


def mistakes(folder: Path, text: str, *overrides: str) -> list[str]:
    """The lines of the report, without the folder."""
    with pytest.raises(ScenarioError) as caught:
        load(folder, text, *overrides)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def test_values_become_integers(tmp_path: Path) -> None:
    scenario = load(tmp_path, RIGHT + "faults:\n  - {kind: drop, port: leaf1-eth3, nth: 20}\n")
    assert scenario.fabric.topology == LeafSpine(kind="leaf-spine")
    assert scenario.fabric.link.rate == 100 * 10**9
    assert isinstance(scenario.workload[0], AllReduce)
    assert scenario.workload[0].size == 2**20
    assert scenario.faults == (DropNth(kind="drop", port="leaf1-eth3", nth=20),)


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_built_in_scenarios_are_right(file: Path) -> None:
    scenario = load_scenario(file)
    assert scenario.message, "a scenario says what one will see"
    assert scenario.expect, "a scenario checks itself"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_a_resolved_scenario_is_a_scenario(file: Path, tmp_path: Path) -> None:
    """What summary.json holds, put into a file, is the same scenario."""
    scenario = load_scenario(file)
    copy = tmp_path / "copy.yaml"
    for folder in ("traces", "captures"):  # files that a scenario names are relative to it
        (tmp_path / folder).symlink_to(FOLDER / folder)
    YAML(typ="safe").dump(scenario.model_dump(mode="json"), copy)
    assert load_scenario(copy).model_dump(mode="json") == scenario.model_dump(mode="json")


def test_anchors_and_merge_keys(tmp_path: Path) -> None:
    text = RIGHT.replace(
        "  - {kind: all-reduce, size: 1MiB}", "  - &a {kind: all-reduce, size: 1MiB}\n  - {<<: *a, size: 2MiB}"
    )
    first, second = load(tmp_path, text).workload
    assert isinstance(first, AllReduce)
    assert isinstance(second, AllReduce)
    assert (first.size, second.size) == (2**20, 2**21)


# --- overrides


@pytest.mark.parametrize(
    ("override", "path", "expected"),
    [
        ("fabric.link.rate=400Gbps", ("fabric", "link", "rate"), 400 * 10**9),
        ("fabric.topology.uplink.delay=2us", ("fabric", "topology", "uplink", "delay"), 2 * 10**6),
        ("seed=7", ("seed",), 7),
        ("faults=[]", ("faults",), ()),
        ("workload.0.size=4MiB", ("workload", 0, "size"), 4 * 2**20),
        ("workload.0.ranks=[h1, h0]", ("workload", 0, "ranks"), ("h1", "h0")),
        ("expect.drops.total=1", ("expect",), {"drops.total": 1}),
        ("expect.drops.total.at_most=1", ("expect",), {"drops.total": {"at_most": 1}}),
        ("title=a=b", ("title",), "a=b"),
    ],
)
def test_override(override: str, path: tuple[Any, ...], expected: Any, tmp_path: Path) -> None:
    value: Any = load(tmp_path, RIGHT, override)
    for part in path:
        value = value[part] if isinstance(part, int) else getattr(value, part)
    assert value == expected


def test_the_last_override_wins(tmp_path: Path) -> None:
    assert load(tmp_path, RIGHT, "seed=7", "seed=8").seed == 8


def test_an_override_can_mend_a_file(tmp_path: Path) -> None:
    assert load(tmp_path, RIGHT.replace("1MiB", "1001B"), "workload.0.size=1000B").seed == 1


def test_an_override_of_a_whole_section(tmp_path: Path) -> None:
    scenario = load(tmp_path, RIGHT, "fabric.topology={kind: dumbbell, left: 3}")
    assert scenario.fabric.topology.kind == "dumbbell"


def test_a_mistake_in_an_overridden_section_is_the_overrides(tmp_path: Path) -> None:
    assert mistakes(tmp_path, RIGHT, "fabric.topology={kind: dumbbell, left: 0}") == [
        "--set fabric.topology={kind: dumbbell, left: 0}: fabric.topology.left: "
        "expected a whole number from 1 to 256, found 0; for example 2"
    ]


# --- mistakes


def test_a_missing_file_names_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none\.yaml: .*No such file or directory; 'rocelab scenarios' lists"):
        load_scenario(tmp_path / "none.yaml")


def test_a_folder_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="Is a directory"):
        load_scenario(tmp_path)


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_bytes(b"title: \xff\n")
    with pytest.raises(ScenarioError, match="expected UTF-8 text, found the byte 0xff at offset 7"):
        load_scenario(tmp_path / "case.yaml")


def test_a_misspelt_key_is_checked_as_what_was_meant(tmp_path: Path) -> None:
    """The value counts: no follow-up about h3, which exists only because of `hosts_per_lief`."""
    text = RIGHT.replace("hosts_per_leaf: 2", "hosts_per_lief: 4").replace("size: 1MiB", "size: 1MiB, ranks: [h0, h7]")
    assert [line.split(": ")[1] for line in mistakes(tmp_path, text)] == ["fabric.topology.hosts_per_lief"]


def test_an_unknown_fabric_gives_no_unknown_names(tmp_path: Path) -> None:
    text = RIGHT.replace("kind: leaf-spine", "kind: torus").replace("size: 1MiB", "size: 1MiB, ranks: [h0, h77]")
    assert [line.split(": ")[1] for line in mistakes(tmp_path, text)] == ["fabric.topology.kind"]


def test_a_broken_rate_hides_no_unknown_name(tmp_path: Path) -> None:
    text = RIGHT.replace("workload", "  link: {rate: fast}\nworkload").replace("1MiB", "1MiB, ranks: [h0, h77]")
    assert [line.split(": ")[1] for line in mistakes(tmp_path, text)] == ["fabric.link.rate", "workload.0.ranks.1"]


def test_a_stand_in_breeds_no_mistake(tmp_path: Path) -> None:
    """The number 5 is a mistake, and no second ``h0``."""
    text = RIGHT.replace("1MiB", "1MiB, ranks: [5, h0]")
    assert [line.split(": ")[1] for line in mistakes(tmp_path, text)] == ["workload.0.ranks.0"]


def test_mistakes_are_in_the_order_of_their_places_and_overrides_last(tmp_path: Path) -> None:
    text = "seed: x\n" + RIGHT.replace("1MiB", "3B")
    found = mistakes(tmp_path, text, "measure.capture=[h9-eth0]", "transport.mtu=9")
    assert [line.split(": ")[0] for line in found] == [
        "case.yaml:1:7",
        "case.yaml:6:30",
        "--set measure.capture=[h9-eth0]",
        "--set transport.mtu=9",
    ]


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 300),
    st.floats(-1, 2),
    st.sampled_from(["", "all", "h0", "h9", "4MiB", "1us", "100Gbps", "ring", "leaf0-spine0", "x", "1%"]),
)
_SECTIONS = ["title", "fabric", "topology", "link", "workload", "flows", "faults", "expect", "measure", "transport"]
_FIELDS = ["kind", "leaves", "leafs", "rate", "size", "ranks", "source", "port", "nth", "at", "until", "capture"]
_KEYS = st.sampled_from([*_SECTIONS, *_FIELDS, "drops.total", "at_least", "of", "within"])
_VALUES = st.recursive(
    st.one_of(_SCALARS, st.sampled_from(["leaf-spine", "dumbbell", "all-reduce", "flows", "drop", "link-down"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=12,
)


def report(file: Path, *overrides: str) -> list[str]:
    """The lines of the report about a file; none when it is right."""
    try:
        load_scenario(file, overrides)
    except ScenarioError as error:
        return str(error).splitlines()
    return []


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, max_size=7))
def test_whatever_a_file_holds_it_is_judged(tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any]) -> None:
    """No input makes the checker itself fail, and no line stands twice."""
    file = tmp_path_factory.mktemp("any") / "case.yaml"
    YAML(typ="safe").dump(values, file)
    lines = report(file)
    assert len(set(lines)) == len(lines)
    assert all(line.startswith(f"{file}:") for line in lines)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["fabric", "transport", "workload.0", "faults", "expect", "measure.capture", "title"]), _VALUES)
def test_whatever_is_set_it_is_judged(tmp_path_factory: pytest.TempPathFactory, path: str, value: Any) -> None:
    file = tmp_path_factory.mktemp("any") / "case.yaml"
    file.write_text(RIGHT, encoding="utf-8")
    assert all(line.startswith("--set ") for line in report(file, f"{path}={json.dumps(value)}"))
