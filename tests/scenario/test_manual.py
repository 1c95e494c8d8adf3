"""The manual of the YAML, docs/scenarios.md: it has every key and default, and its examples are right."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.errors import ScenarioError
from testbed.scenario.expectations import SUMMARY_NAMES
from testbed.scenario.load import load_scenario
from testbed.scenario.schema import Slot, scenario_slot
from testbed.scenario.wording import written

MANUAL = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text("utf-8")
CODE = set(re.findall(r"`([^`\n]+)`", MANUAL))
BLOCKS = re.findall(r"```(?:yaml)?\n(.*?)```", MANUAL, flags=re.DOTALL)


def slots(slot: Slot) -> Iterator[Slot]:
    """All slots below one, itself first."""
    yield slot
    for inner in (*slot.fields.values(), *slot.forms.values(), *([slot.element] if slot.element else [])):
        yield from slots(inner)


SLOTS = list(slots(scenario_slot()))
KEYS = sorted({name for slot in SLOTS for name in slot.fields})


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_explained(key: str) -> None:
    assert key in CODE


@pytest.mark.parametrize("kind", sorted({form for slot in SLOTS if slot.by_kind for form in slot.forms}))
def test_every_kind_is_explained(kind: str) -> None:
    assert {kind, f"kind: {kind}"} & CODE


def plain_defaults() -> Iterator[tuple[str, str]]:
    for section in SLOTS:
        for name, slot in section.fields.items():
            if slot.required or slot.fields or slot.default in (None, "", (), {}):
                continue
            yield name, slot.quantity.text(slot.default) if slot.quantity else written(slot.default)


@pytest.mark.parametrize(("key", "default"), sorted(set(plain_defaults())))
def test_every_default_is_given(key: str, default: str) -> None:
    near = [line for line in MANUAL.splitlines() if f"`{key}`" in line]
    assert any(f"`{default}`" in line for line in near)


def limits() -> Iterator[tuple[str, str]]:
    for section in SLOTS:
        for name, slot in section.fields.items():
            low, high = slot.limit("ge"), slot.limit("le") or (slot.limit("lt") or 0) - 1
            if slot.kind is int and low is not None and high > 0:
                yield name, f"{low} to {high}"


@pytest.mark.parametrize(("key", "limit"), sorted(set(limits())))
def test_every_range_is_given(key: str, limit: str) -> None:
    assert any(limit in line for line in MANUAL.splitlines() if f"`{key}`" in line)


def test_summary_names_are_given() -> None:
    assert set(SUMMARY_NAMES) <= CODE


def test_examples_are_right(tmp_path: Path) -> None:
    file = tmp_path / "manual.yaml"
    whole, expect = BLOCKS[0], BLOCKS[1]
    file.write_text(whole.partition("expect:")[0] + expect, encoding="utf-8")
    assert len(load_scenario(file).expect) == 4
    file.write_text(whole, encoding="utf-8")
    overrides = re.findall(r"--set (?:'([^']+)'|([^\s`=]+=[^\s`]+))`", MANUAL.replace("`--set PATH=VALUE`", ""))
    for quoted, plain in overrides:
        load_scenario(file, [quoted or plain])
    assert len(overrides) == 4


def test_shown_mistakes_are_what_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.yaml").write_text(
        "title: A broken scenario\nfabric:\n"
        "  topology: {kind: leaf-spine, leafs: 2, spines: 2, hosts_per_leaf: 2}\nworkload:\n"
        "  - {kind: all-reduce, size: 1001B}\n"
    )
    with pytest.raises(ScenarioError) as caught:
        load_scenario(Path("ring.yaml"), ["fabric.link.rate=400"])
    assert BLOCKS[-1] == f"{caught.value}\n"
