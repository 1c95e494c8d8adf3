"""Options of a policy: what a class declares, what a scenario gives, and the exact text of each mistake."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from controllers.policy import Policy, Priority, Rate, Share, Size, Time
from controllers.policy.options import BadPolicy, options_of, read_options, summary_of
from tests.conftest import GoldenCheck

GOLDEN = Path(__file__).parent / "option_errors.txt"


@dataclass
class Example(Policy):
    """Does something.

    And here is why, at length.

    Options:
        priority: the priority that it looks after.
        kmin: where marking starts,
            which may take two lines.
    """

    needed: Time
    priority: Priority = 3
    share: Share = 0.5
    kmin: Size = "50KB"  # type: ignore[assignment] # as a user may write it
    rate: Rate | None = None
    action: Literal["lossy", "raise"] = "lossy"
    on: bool = True
    name: str = "x"
    count: int = 1


RIGHT: dict[str, Any] = {"needed": "5us"}


def test_what_a_class_declares() -> None:
    options = {option.name: option for option in options_of(Example)}
    assert list(options) == ["needed", "priority", "share", "kmin", "rate", "action", "on", "name", "count"]
    assert summary_of(Example) == "Does something."
    assert options["needed"].required
    assert (options["kmin"].default, options["kmin"].text(50_000)) == (50_000, "50kB")
    assert options["kmin"].help == "where marking starts, which may take two lines."
    assert options["rate"].expected.endswith("or null")


def test_values_and_defaults() -> None:
    given = {**RIGHT, "share": 1, "rate": "10Gbps", "action": "raise", "on": False}
    values, mistakes = read_options(Example, "example", given)
    assert mistakes == []
    assert values["needed"] == 5_000_000
    assert (values["kmin"], values["rate"], values["share"], values["on"]) == (50_000, 10**10, 1.0, False)
    assert Example(**values).action == "raise"


WRONG: list[dict[str, Any]] = [
    {"kmni": "3KB"},
    {"colour": "red"},
    {"kmin": 3},
    {"kmin": "3Gbps"},
    {"kmin": None},
    {"priority": 8},
    {"priority": True},
    {"share": 1.5},
    {"action": "drop"},
    {"on": "yes"},
    {"name": 7},
    {"count": 1.5},
]


def test_each_mistake_has_its_text(golden: GoldenCheck) -> None:
    lines = []
    for given in WRONG:
        for mistake in read_options(Example, "example", {**RIGHT, **given})[1]:
            lines.append(f"{given}\n    {mistake.text}\n")
    (missing,) = read_options(Example, "example", {})[1]
    golden(GOLDEN, "".join([*lines, f"{{}}\n    {missing.text}\n"]))
    assert len(lines) == len(WRONG)


def test_all_mistakes_at_once() -> None:
    mistakes = read_options(Example, "example", {"kmni": 1, "share": 2, "count": "x"})[1]
    assert {mistake.name for mistake in mistakes} == {"kmni", "share", "count", None}


def test_types_that_options_cannot_have() -> None:
    @dataclass
    class Wrong(Policy):
        """Has a list."""

        values: list[int] | None = None

    with pytest.raises(BadPolicy, match="expected the option 'values' of Wrong to have one of the types"):
        options_of(Wrong)


def test_a_policy_looks_at_its_options_together_and_may_raise() -> None:
    @dataclass
    class Careful(Policy):
        """Looks."""

        low: int = 1
        high: int = 2

        def check(self) -> str | None:
            if self.low > self.high:
                raise ValueError("expected high of at least low")
            return None

    assert read_options(Careful, "careful", {})[1] == []
    (mistake,) = read_options(Careful, "careful", {"low": 3})[1]
    assert (mistake.name, mistake.text) == (None, "policy careful: expected high of at least low")
    assert [each.name for each in read_options(Careful, "careful", {"low": "x"})[1]] == ["low"]
