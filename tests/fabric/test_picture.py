"""Pictures of fabrics: golden files for those a reader meets first, properties for all."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from testbed.fabric.build import build_plan
from testbed.fabric.canvas import UNICODE_CHARACTERS, to_ascii
from testbed.fabric.picture import draw
from testbed.scenario.model import FabricOptions
from tests.conftest import GoldenCheck
from tests.fabric.strategies import fabric, fabrics

PICTURES = Path(__file__).parent / "pictures"
SHOWN = {
    "leaf-spine-16": fabric("leaf-spine", leaves=4, spines=2, hosts_per_leaf=4),
    "leaf-spine-128": fabric("leaf-spine", leaves=16, spines=8, hosts_per_leaf=8, uplink={"rate": "400Gbps"}),
    "fat-tree-4": fabric("fat-tree", k=4),
    "fat-tree-8": fabric("fat-tree", k=8),
    "dumbbell-two-nics": fabric("dumbbell", nics_per_host=2, left=3, right=2, core={"rate": "25Gbps", "delay": "5us"}),
    "single-switch-8": fabric("single-switch", hosts=8),
    "ring-5": fabric("ring", switches=5, hosts_per_switch=2),
    "ring-12": fabric("ring", switches=12, hosts_per_switch=1),
}


@pytest.mark.parametrize("name", SHOWN)
def test_picture(name: str, golden: GoldenCheck) -> None:
    golden(PICTURES / f"{name}.txt", draw(build_plan(SHOWN[name])) + "\n")


@pytest.mark.parametrize(
    "options",
    [*SHOWN.values(), fabric("fat-tree", k=16), fabric("leaf-spine", leaves=64, spines=64, hosts_per_leaf=128)],
    ids=[*SHOWN, "fat-tree-16", "leaf-spine-8192"],
)
def test_fits_in_100_columns(options: FabricOptions) -> None:
    lines = draw(build_plan(options)).splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 70


@settings(max_examples=40, deadline=None)
@given(fabrics())
def test_any_fabric_can_be_drawn(options: FabricOptions) -> None:
    plan = build_plan(options)
    picture = draw(plan)
    assert max(map(len, picture.splitlines())) <= 100
    assert set(picture) - set(UNICODE_CHARACTERS) <= set(map(chr, range(32, 127))) | {"\n"}
    assert to_ascii(picture).isascii()
    assert f" {plan.switches[0].name} " in picture
    assert f"{len(plan.links)} link" in picture


def test_every_node_of_a_small_fabric_is_in_its_picture() -> None:
    plan = build_plan(SHOWN["leaf-spine-16"])
    words = set(re.findall(r"[\w.:-]+", draw(plan)))
    assert {*plan.host_by_name, *plan.switch_by_name} <= words
    assert {nic.ipv4 for nic in plan.nics} <= words
