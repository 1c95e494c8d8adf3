"""Every message about a scenario, in one place: what was expected, what was found, an example of a right value.

A message follows ``file:line:col: path: ``. Where a name was meant that exists, the one or two nearest are named.
Messages about sizes are next door, in `wording_sizes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from testbed.scenario.document import KeyPath, Place, path_text
from testbed.scenario.quantities import Quantity
from testbed.scenario.schema import Slot

SELF_REFERENCE = "expected an alias of a finished value, found an anchor that contains itself"
KEY_IS_NOT_A_NAME = "expected a name as key, such as 'seed', found a mapping or a list"
MERGE_NEEDS_MAPPING = "expected a mapping after '<<', such as '<<: *common', found something else"

# --- words ----------------------------------------------------------------------------------------------------------


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the one or two of `names` that a user who wrote `name` may have meant, best first."""
    by_lower = {known.lower(): known for known in names}
    return [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=2, cutoff=0.6)]


def did_you_mean(near: Sequence[str]) -> str:
    """``; did you mean 'leaves'?``, or nothing."""
    return f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""


def found(value: Any) -> str:
    """Say what stands in the file, as YAML would write it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"a mapping with {_listed(map(str, value))}" if value else "an empty mapping"
    if isinstance(value, (list, tuple)):
        return f"a list of {_count(len(value), 'item')}" if value else "an empty list"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else f"{value[:57]}...")
    return str(value)


def written(value: Any) -> str:
    """Write a value as it may stand in a file: the example in a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(written(item) for item in value) + "]"
    return "nothing" if value is None else str(value)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _owner(path: KeyPath) -> str:
    return path_text(path) or "a scenario"


# --- the file --------------------------------------------------------------------------------------------------------


def cannot_read(path: Path, error: OSError) -> str:
    remedy = "'rocelab scenarios' lists those that come with rocelab"
    return f"{path}: expected a scenario file, found none that can be read: {error.strerror}; {remedy}"


def not_utf8(path: Path, error: UnicodeDecodeError) -> str:
    return f"{path}: expected UTF-8 text, found the byte 0x{error.object[error.start]:02x} at offset {error.start}"


def not_a_scenario(root: Any) -> str:
    example = "for example 'title: My scenario'"
    if root is None:
        return f"expected a scenario, found an empty file; it starts with its title, {example}"
    return f"expected a scenario, a mapping with title, fabric and workload, found {found(root)}; {example}"


_YAML_HINTS = {
    "mapping values are not allowed here": "quote a text with ': ' in it, and give keys of one mapping the same indent",
    "expected <block end>": "keys of one mapping need the same indent",
    "expected ',' or": "a bracket or a quote is left open, or a comma is missing",
    "that cannot start any token": "indent with spaces, and quote a text that starts with a special character",
    "but found another document": "a file holds one scenario: no second '---'",
    "found undefined alias": "an alias (*name) needs its anchor (&name) before it",
}


def bad_yaml(context: str | None, problem: str | None) -> str:
    """Keep the YAML parser's own words, and say what usually mends it."""
    words = ", ".join(part for part in (context, problem) if part)
    hint = next((text for key, text in _YAML_HINTS.items() if key in words), None)
    return f"expected YAML, found what its parser cannot read: {words}" + (f" ({hint})" if hint else "")


def bad_character(character: str) -> str:
    return f"expected text, found the control character U+{ord(character):04X}, which YAML does not allow"


def doubled_key(key: str, first: Place) -> str:
    return f"expected each key once, found {key!r} again; it stands first at {first.text}"


def unknown_tag(tag: str) -> str:
    return f"expected plain YAML, found the tag {tag!r}; write the value without it"


# --- keys and kinds --------------------------------------------------------------------------------------------------


def unknown_key(path: KeyPath, keys: Iterable[str], near: Sequence[str], kind: str | None = None) -> str:
    text = f"{path[-1]!r} is not a key of {_owner(path[:-1])}" + (f" of kind {kind}" if kind else "")
    return text + (did_you_mean(near) or f"; its keys are {', '.join(keys)}")


def missing_key(path: KeyPath, slot: Slot) -> str:
    text = f"expected the key {path[-1]!r} in {_owner(path[:-1])}, found none"
    return f"{text}; for example {_key_example(slot)!r}"


def missing_kind(path: KeyPath, slot: Slot) -> str:
    text = f"expected the key 'kind' in {_owner(path)}, one of {', '.join(slot.forms)}, found none"
    return f"{text}; for example 'kind: {next(iter(slot.forms))}'"


def unknown_kind(slot: Slot, value: Any, near: Sequence[str]) -> str:
    kinds = ", ".join(slot.forms)
    if not isinstance(value, str):
        return f"expected a kind of {slot.name}, one of {kinds}, found {found(value)}"
    return f"{value!r} is not a kind of {slot.name}{did_you_mean(near) or f'; its kinds are {kinds}'}"


def _key_example(slot: Slot) -> str:
    return f"{slot.name}: {written(slot.stand_in())}"


def wrong_key(slot: Slot, key: Any) -> str:
    """Say that `key` is not one that the mapping in `slot` may have."""
    assert slot.key is not None
    return f"expected {expected(slot.key)} as key, found {found(key)}; for example {written(slot.stand_in())}"


# --- values ----------------------------------------------------------------------------------------------------------


def wrong_value(slot: Slot, value: Any) -> str:
    """Say that `value` is not what may stand in `slot`."""
    if slot.quantity is not None and isinstance(value, str) and _is_fraction(slot.quantity, value):
        example = slot.quantity.example
        return (
            f"expected a {slot.quantity.name} of whole {slot.quantity.counts}, found {value!r}; for example {example}"
        )
    return f"expected {expected(slot)}, found {found(value)}{_remedy(slot, value)}"


def expected(slot: Slot) -> str:
    """Say in words what may stand in a slot."""
    if slot.quantity is not None:
        return _quantity(slot.quantity, _above(slot))
    if slot.by_kind:
        return f"a mapping with a kind, one of {', '.join(slot.forms)}"
    if slot.forms:
        return " or ".join(expected(form) for form in slot.forms.values())
    if slot.fields:
        return f"a mapping with {'keys among' if len(slot.fields) > 1 else 'the key'} {', '.join(slot.fields)}"
    if slot.element is not None and slot.key is not None:
        return f"a mapping from {expected(slot.key)} to {expected(slot.element)}"
    if slot.element is not None:
        return _list(slot, slot.element)
    if get_origin(slot.kind) is Literal:
        choices = [written(choice) for choice in get_args(slot.kind)]
        return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    return _plain(slot)


def _list(slot: Slot, element: Slot) -> str:
    if element.fields or element.by_kind:
        return f"a list{' of at least one item' if slot.limit('min_length') else ''}, each {expected(element)}"
    return f"a list, each {expected(element)}" if element.kind is int else "a list of names"


def _plain(slot: Slot) -> str:
    if slot.kind is bool:
        return "true or false"
    if slot.kind is int:
        multiple = slot.limit("multiple_of")
        return f"a whole number{_range(slot)}" + (f" that is a multiple of {multiple}" if multiple else "")
    if slot.kind is float:
        return f"a number{_range(slot)}"
    if slot.kind is str:
        return "text that is not empty" if slot.limit("min_length") else "text"
    return "a mapping"


def _range(slot: Slot) -> str:
    low, above = slot.limit("ge"), slot.limit("gt")
    if slot.kind is float and above is not None and slot.limit("lt") is not None:
        return f" above {above} and below {slot.limit('lt')}"
    high = slot.limit("le") if slot.limit("lt") is None else slot.limit("lt") - 1
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if above is not None and high is not None:
        return f" above {above} and at most {high}"
    return f" of at least {low}" if low is not None else _above(slot)


def _above(slot: Slot) -> str:
    return "" if slot.limit("gt") is None else f" above {slot.limit('gt')}"


def _quantity(quantity: Quantity, limits: str = "") -> str:
    return f"a {quantity.name}{limits} with its unit ({', '.join(quantity.units)})"


def _is_fraction(quantity: Quantity, text: str) -> bool:
    """Whether the text is a number with a right unit that does not come out whole (``0.5B``)."""
    match = re.fullmatch(r"\s*[0-9]+\.[0-9]+\s*([A-Za-z]+)\s*", text)
    return match is not None and match[1] in quantity.units and not _parses(quantity, text)


def _parses(quantity: Quantity, text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _remedy(slot: Slot, value: Any) -> str:
    """What mends a wrong value: a near name or unit if there is one, otherwise an example."""
    if isinstance(value, str):
        near = _near_unit(slot.quantity, value) if slot.quantity else _near_choice(slot, value)
        if near:
            return did_you_mean(near)
    example = _example(slot)
    return f"; for example {example}" if example else ""


def _near_unit(quantity: Quantity, text: str) -> list[str]:
    """``100gbps`` -> ``100Gbps``, ``5µs`` -> ``5us``: the same number with the nearest unit."""
    latin = re.sub("[\u00b5\u03bc]s", "us", text)
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)(?:/s)?\s*", latin)
    if match is None or _parses(quantity, text):
        return []
    return [f"{match[1]}{unit}" for unit in near_names(match[2], quantity.units)[:1]]


def _near_choice(slot: Slot, text: str) -> list[str]:
    choices = get_args(slot.kind) if get_origin(slot.kind) is Literal else ()
    return near_names(text, [choice for choice in choices if isinstance(choice, str)])


def _example(slot: Slot) -> str | None:
    """An example of a right value; None where the expectation itself lists them all."""
    if slot.kind is bool or get_origin(slot.kind) is Literal:
        return None
    if slot.key is None and (slot.kind is dict or get_origin(slot.kind) is dict):
        return written(slot.examples[0]) if slot.examples else "{drops.total: 0}"
    if slot.quantity is not None and isinstance(slot.default, int):
        return slot.quantity.text(slot.default)
    if isinstance(slot.default, (bool, int, float)) and not slot.examples:
        return written(slot.default)
    if slot.forms and not slot.by_kind:
        return written(slot.default or list(slot.forms.values())[-1].stand_in())
    return written(slot.stand_in()) if not slot.fields or any(f.required for f in slot.fields.values()) else _pair(slot)


def _pair(slot: Slot) -> str:
    """A mapping of no required keys: show its first one."""
    name, first = next(iter(slot.fields.items()))
    return "{" + f"{name}: {_example(first) or written(first.default)}" + "}"


# --- --set -----------------------------------------------------------------------------------------------------------


def bad_override() -> str:
    return "expected PATH=VALUE, such as --set fabric.link.rate=400Gbps"


def no_such_item(path: KeyPath, length: int, part: str) -> str:
    numbers = {0: "it is empty", 1: "its only item is 0"}.get(length, f"its items are numbered from 0 to {length - 1}")
    return f"{part!r} is not an item of {path_text(path)}; {numbers}"


def nothing_inside(path: KeyPath, value: Any) -> str:
    return f"expected a mapping or a list to set something in, found {found(value)}; set {path_text(path)} itself"


# --- against the fabric ----------------------------------------------------------------------------------------------


def not_in_fabric(noun: str, name: str, names: Sequence[str]) -> str:
    """`name` is no host, port or link: say the nearest ones, and the run of names of its kind (``h0 to h15``)."""
    family = [known for known in names if _family(known) == _family(name)]
    there = f" ({family[0]} to {family[-1]})" if len(family) > 1 else ""
    near = near_names(name, names)
    if there and set(near) <= set(family):
        return f"{name!r} is not a {noun} of this fabric{there}"
    return f"{name!r} is not a {noun} of this fabric{there}" + (did_you_mean(near) or f"; for example {names[0]}")


def _family(name: str) -> str:
    """What the name has in common with its neighbours: all but its last number (``leaf0-eth3`` -> ``leaf0-eth``)."""
    return re.sub(r"\d+$", "", name)


def listed_twice(name: str, first: KeyPath) -> str:
    return f"expected each name once, found {name!r} again; it is {path_text(first)} already"


def too_few_ranks(ranks: int) -> str:
    return f"expected at least 2 ranks, found {ranks}; for example [h0, h1]"


def too_few_hosts(hosts: int) -> str:
    return f"expected a fabric of at least 2 hosts to run this on, found {hosts}; raise the hosts of fabric.topology"


def no_flows() -> str:
    return "expected flows, or a pattern with a size, found neither; for example 'pattern: ring' and 'size: 1MiB'"


def flows_with_pattern(pattern: str) -> str:
    return f"expected no listed flows with 'pattern: {pattern}', found some; drop them, or write 'pattern: listed'"


def size_without_pattern() -> str:
    return "expected no size beside listed flows, as each has its own; drop it, or write 'pattern: ring'"


def pattern_without_size(pattern: str) -> str:
    return f"expected the key 'size' with 'pattern: {pattern}', found none; for example 'size: 1MiB'"


def flow_to_itself(name: str) -> str:
    return f"expected another host than the source, found {name!r}; a flow crosses the fabric"


def not_after(until: str, at: str) -> str:
    return f"expected a time after 'at', {at}, found {until}"


# --- controller ------------------------------------------------------------------------------------------------------


def policy_without_kind(kind: Any) -> str:
    expected_kind = "expected the key 'kind', a policy's name or the path of its .py file"
    return f"{expected_kind}, found {found(kind)}; for example {{kind: static}}"


def policy_needs_app(kind: str, app: str) -> str:
    return f"expected 'app: {app}' with the policy {kind}, which builds on its rules, found another application"


def policy_needs_section(kind: str, section: str) -> str:
    return f"expected {section} with the policy {kind}, found none; for example '{section}: {{}}'"


# --- expectations ----------------------------------------------------------------------------------------------------

NO_BOUND = "expected a value or a bound, found an empty mapping; for example {at_least: 90}"
OF_NEEDS_WITHIN = "expected both 'of' and 'within', and no other bound beside them; for example {of: 745us, within: 1%}"


def unknown_summary_name(path: str, names: Sequence[str]) -> str:
    name = path.partition(".")[0]
    text = f"{name!r} is not a name in summary.json that can be expected"
    return text + (did_you_mean(near_names(name, names)) or f"; these can: {', '.join(names)}")


def unknown_bound(key: str, path: str, bounds: Sequence[str]) -> str:
    near = near_names(key, bounds)
    return f"{key!r} is not a bound" + (
        did_you_mean(near) or f"; bounds are {', '.join(bounds)}; a longer path is written with dots, {path}.{key}"
    )


def no_value(example: str) -> str:
    return f"expected a value or a bound, found nothing; for example {example}"


def not_a_number(path: str, value: Any, example: str) -> str:
    return f"expected a number to bound {path.rpartition('.')[2]} by, found {found(value)}; for example {example}"


def not_a_quantity(path: str, quantity: Quantity, value: str) -> str:
    remedy = did_you_mean(_near_unit(quantity, value)) or f"; for example {quantity.example}"
    return f"expected a number or {_quantity(quantity)} for {path.rpartition('.')[2]}, found {value!r}{remedy}"


def not_a_share(value: Any) -> str:
    return f"expected a share in per cent, found {found(value)}; for example 1%"


def limits_cross(low: Any, high: Any) -> str:
    return f"expected a limit of at least 'at_least', {written(low)}, found {found(high)}"


def absent_in_summary(part: str, where: str, value: Any, names: Sequence[str] | None) -> str:
    """What to say of a path that a summary does not have: the nearest names, or what is there instead."""
    if names is not None:
        remedy = did_you_mean(near_names(part, names)) or (f"; there are {', '.join(names)}" if names else "")
        return f"no {part!r} in {where}{remedy}"
    return f"no {part!r} in {where}, which is {found(value)}"
