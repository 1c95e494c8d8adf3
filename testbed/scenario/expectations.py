"""What a scenario expects of its run, and whether the run's summary fulfils it.

``expect`` maps a dotted path in summary.json to what must be there:

    drops.total: 0                                   equal to a value
    collectives.0.busbw_gbps: {at_least: 90}         at least, at most, or both
    collectives.0.time_ps: {of: 745us, within: 1%}   no further from a value than a share of it

Where a path ends in ``_ps``, ``_bytes`` or ``_gbps``, or in one of several such values (``stall_ps_by_rank.h0``), a
text is a time, a size or a rate (``800us``, ``4MiB``, ``90Gbps``). The form is checked with the scenario
(`condition`); that the path is there only the run can show, and a path that is not there is an expectation that failed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from testbed.scenario import wording
from testbed.scenario.document import KeyPath
from testbed.scenario.quantities import RATE, SIZE, TIME, Quantity
from testbed.units import format_time

SUMMARY_NAMES = (
    "title",
    "seed",
    "clock",
    "collectives",
    "flows",
    "flow_groups",
    "traces",
    "replays",
    "failure",
    "drops",
    "totals",
    "nic",
    "ports",
    "switches",
    "pauses",
    "congestion",
    "control",
    "retransmitted_packets",
    "ovs",
    "duration_ps",
)
"""The top-level names of summary.json that an expectation may speak of: what a run's model decides."""

BOUND_KEYS = ("at_least", "at_most", "of", "within")

Number = int | float | Fraction

_QUANTITIES: Mapping[str, tuple[Quantity, int]] = {"_ps": (TIME, 1), "_bytes": (SIZE, 1), "_gbps": (RATE, 10**9)}
"""By a path's ending: what a text there is, and how many of the quantity's integers make one of the summary's."""


@dataclass(frozen=True)
class Expectation:
    """What became of one expectation: its path, whether it holds, and what was expected and found."""

    name: str
    ok: bool
    detail: str


class Condition(Protocol):
    """What a value must be. `text` completes "expected ..."."""

    @property
    def text(self) -> str: ...

    def holds(self, value: Any) -> bool: ...


@dataclass(frozen=True)
class Equal:
    """The very value; a truth value is no number."""

    value: Any
    text: str

    def holds(self, value: Any) -> bool:
        return isinstance(value, bool) == isinstance(self.value, bool) and bool(_plain(value) == self.value)


@dataclass(frozen=True)
class Between:
    """A number within limits that belong to it; None: no limit."""

    low: Number | None
    high: Number | None
    text: str

    def holds(self, value: Any) -> bool:
        return (
            _is_number(value) and (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        )


class BadCondition(Exception):  # noqa: N818 - becomes a Mistake
    """A condition that is not one: `where` is the path below the expectation, `text` what is wrong."""

    def __init__(self, where: KeyPath, text: str) -> None:
        super().__init__(text)
        self.where = where
        self.text = text


def evaluate(expect: Mapping[str, Any], summary: Mapping[str, Any]) -> list[Expectation]:
    """Judge each expectation of a checked scenario by `summary`, in the order of the scenario."""
    return [_judge(path, value, summary) for path, value in expect.items()]


def _judge(path: str, value: Any, summary: Mapping[str, Any]) -> Expectation:
    wanted = condition(path, value)
    try:
        actual = value_at(summary, path)
    except LookupError as error:
        return Expectation(path, False, f"expected {wanted.text}, found {error.args[0]}")
    return Expectation(path, wanted.holds(actual), f"expected {wanted.text}, found {_shown(path, actual)}")


def value_at(summary: Mapping[str, Any], path: str) -> Any:
    """Return the value at `path`. Raises LookupError that says what there is instead."""
    value: Any = summary
    parts = path.split(".")
    for index, part in enumerate(parts):
        where = ".".join(parts[:index]) or "the summary"
        names = [str(name) for name in value] if isinstance(value, Mapping) else None
        if names is not None and part in names:
            value = value[part]
        elif isinstance(value, (list, tuple)) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise LookupError(wording.absent_in_summary(part, where, value, names))
    return value


def condition(path: str, value: Any) -> Condition:
    """Return what `value` demands of the number or text at `path`. Raises BadCondition."""
    if not isinstance(value, Mapping):
        return Equal(_plain(_value(path, value, ())), _text(path, value))
    unknown = [key for key in value if key not in BOUND_KEYS]
    if unknown:
        raise BadCondition((unknown[0],), wording.unknown_bound(unknown[0], path, BOUND_KEYS))
    if "of" in value or "within" in value:
        return _share(path, value)
    if not value:
        raise BadCondition((), wording.NO_BOUND)
    low, high = (_number(path, value[key], (key,)) if key in value else None for key in ("at_least", "at_most"))
    if low is not None and high is not None and low > high:
        raise BadCondition(("at_most",), wording.limits_cross(value["at_least"], value["at_most"]))
    texts = [f"{key.replace('_', ' ')} {_text(path, value[key])}" for key in ("at_least", "at_most") if key in value]
    return Between(low, high, " and ".join(texts))


def _share(path: str, value: Mapping[str, Any]) -> Between:
    """``{of: 745us, within: 1%}``"""
    if set(value) != {"of", "within"}:
        raise BadCondition((), wording.OF_NEEDS_WITHIN)
    middle = Fraction(_number(path, value["of"], ("of",)))
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*", str(value["within"]))
    if match is None:
        raise BadCondition(("within",), wording.not_a_share(value["within"]))
    reach = abs(middle) * Fraction(match[1]) / 100
    return Between(middle - reach, middle + reach, f"{_text(path, value['of'])} within {match[0].strip()}")


def _number(path: str, value: Any, where: KeyPath) -> Number:
    number = _value(path, value, where)
    if not _is_number(number):
        raise BadCondition(where, wording.not_a_number(path, value, _example(path)))
    assert isinstance(number, (int, float, Fraction))
    return number


def _value(path: str, value: Any, where: KeyPath) -> Any:
    """Return `value` as the summary would have it: a quantity in text becomes a number."""
    if value is None or value != value:
        raise BadCondition(where, wording.no_value(_example(path)))
    ending = _ending(path)
    if ending is None or not isinstance(value, str):
        return value
    quantity, scale = _QUANTITIES[ending]
    try:
        return Fraction(quantity.parse(value), scale)
    except ValueError:
        raise BadCondition(where, wording.not_a_quantity(path, quantity, value)) from None


def _ending(path: str) -> str | None:
    named = re.sub(r"_by_[a-z]+\.[^.]+$", "", path)  # stall_ps_by_rank.h0
    return next((ending for ending in _QUANTITIES if named.endswith(ending)), None)


def _example(path: str) -> str:
    ending = _ending(path)
    return _QUANTITIES[ending][0].example if ending else "0"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Lists as tuples, so that a list in JSON equals the one in a scenario."""
    return tuple(_plain(item) for item in value) if isinstance(value, (list, tuple)) else value


def _text(path: str, value: Any) -> str:
    """What is expected: a text as it stands in the scenario, a number of picoseconds or bytes with its unit."""
    return value if isinstance(value, str) else _with_unit(path, value) or wording.written(value)


def _shown(path: str, value: Any) -> str:
    """The value found, with its quantity in words where it has one."""
    if _ending(path) == "_gbps" and _is_number(value):
        return f"{value} Gb/s"
    return _with_unit(path, value) or wording.written(value)


def _with_unit(path: str, value: Any) -> str | None:
    """A whole number of picoseconds or bytes with its unit; None for all else."""
    ending = _ending(path)
    if not isinstance(value, int) or isinstance(value, bool) or ending not in ("_ps", "_bytes"):
        return None
    return format_time(value, 12) if ending == "_ps" else SIZE.text(value)
