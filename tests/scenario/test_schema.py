"""The tree of slots: it follows the model, and has a message and an example for every place in a scenario."""

from collections.abc import Iterator
from typing import Literal, get_origin

import pytest

from testbed.scenario.model import LeafSpine, Scenario
from testbed.scenario.schema import Slot, locate, scenario_slot
from testbed.scenario.wording import wrong_value


def slots(slot: Slot, path: str = "") -> Iterator[tuple[str, Slot]]:
    """All slots below one, with a path that names them, itself first."""
    yield path, slot
    for name, inner in slot.fields.items():
        yield from slots(inner, f"{path}.{name}")
    for tag, inner in slot.forms.items():
        yield from slots(inner, f"{path}<{tag}>")
    if slot.element:
        yield from slots(slot.element, f"{path}[]")


SLOTS = dict(slots(scenario_slot()))


@pytest.mark.parametrize("path", SLOTS)
def test_a_wrong_value_has_a_message_everywhere(path: str) -> None:
    """A value that is right nowhere: each place says what it expects instead, with an example or all there is."""
    slot = SLOTS[path]
    text = wrong_value(slot, object)
    assert text.startswith("expected ")
    assert ("; for example " in text) != (slot.kind is bool or get_origin(slot.kind) is Literal)


def test_stand_ins_make_a_scenario() -> None:
    whole = scenario_slot().stand_in()
    whole["workload"] = tuple(whole["workload"])
    assert Scenario.model_validate(whole, strict=True).title == whole["title"]


@pytest.mark.parametrize(
    ("location", "path", "name"),
    [
        (("fabric", "topology", "leaf-spine", "leaves"), ("fabric", "topology", "leaves"), "leaves"),
        (("fabric", "topology"), ("fabric", "topology"), "topology"),
        (("workload", 0, "all-reduce", "ranks", "names", 1), ("workload", 0, "ranks", 1), "ranks"),
        (("workload", 0, "all-reduce", "ranks", "all"), ("workload", 0, "ranks"), "ranks"),
        (("faults", 2, "link-down", "until"), ("faults", 2, "until"), "until"),
        (("fabric", "colour"), ("fabric", "colour"), "fabric"),
    ],
)
def test_locate(location: tuple[str | int, ...], path: tuple[str | int, ...], name: str) -> None:
    found, slot = locate(location)
    assert (found, slot.name) == (path, name)


def test_limits_and_quantities_are_seen_through_none_and_annotations() -> None:
    chunk = SLOTS[".workload[]<all-reduce>.chunk"]
    assert chunk.quantity is not None
    assert (chunk.quantity.name, chunk.limit("gt")) == ("size", 0)
    rate = SLOTS[".fabric.topology<leaf-spine>.uplink.rate"]
    assert rate.quantity is not None
    assert (rate.quantity.name, rate.limit("gt"), rate.required) == ("rate", 0, False)
    assert SLOTS[".fabric.topology<leaf-spine>"].kind is LeafSpine
