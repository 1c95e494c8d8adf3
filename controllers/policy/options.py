"""A policy's options are the fields of its dataclass: name, type, default, and a line in its docstring.

    @dataclass
    class AdaptiveEcn(Policy):
        '''Moves the marking thresholds with the load.

        Options:
            priority: the priority that it looks after.
            kmin: where marking starts at first.
        '''

        priority: int = 3
        kmin: Size = 50 * KB

Types are ``bool``, ``int``, ``float``, ``str``, a choice (``Literal["lossy", "raise"]``), numbers within limits
(``Priority``, ``Share``, or ``Annotated[int, Range(1, 100)]``) and the quantities ``Size``, ``Time`` and ``Rate``, each
also with ``| None``. A quantity is text with a unit in a scenario (``50KB``) and an integer in the policy (bytes,
picoseconds, bit/s); a default may be either.
"""

import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from inspect import cleandoc
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from controllers.policy.base import Policy
from testbed.scenario.quantities import RATE, SIZE, TIME, Quantity


@dataclass(frozen=True, slots=True)
class Range:
    """The limits of a number, both of them allowed values."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"


Size = Annotated[int, SIZE]
Time = Annotated[int, TIME]
Rate = Annotated[int, RATE]
Priority = Annotated[int, Range(0, 7)]
Share = Annotated[float, Range(0, 1)]
Dscp = Annotated[int, Range(0, 63)]

KB, MB = 10**3, 10**6
GBPS = 10**9

_PLAIN: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


class BadPolicy(Exception):  # noqa: N818 - becomes a ScenarioError that names the policy
    """A policy's class is not one, or an option of it has a type that options cannot have."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `kind` is its type without ``| None``; `default` is a value, or MISSING where it must be given."""

    name: str
    kind: Any
    optional: bool
    default: Any
    help: str

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def quantity(self) -> Quantity | None:
        """The quantity that it is, if it is one."""
        return next((note for note in self._notes if isinstance(note, Quantity)), None)

    @property
    def range(self) -> Range | None:
        """Its limits, if it has some."""
        return next((note for note in self._notes if isinstance(note, Range)), None)

    @property
    def plain(self) -> Any:
        """Its type without notes: ``int`` for a size."""
        return get_args(self.kind)[0] if get_origin(self.kind) is Annotated else self.kind

    @property
    def _notes(self) -> tuple[Any, ...]:
        return get_args(self.kind)[1:] if get_origin(self.kind) is Annotated else ()

    def text(self, value: Any) -> str:
        """Return `value` as it would stand in a scenario."""
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        return self.quantity.text(value) if self.quantity and isinstance(value, int) else str(value)

    @property
    def expected(self) -> str:
        """Say in words what its value may be."""
        if self.quantity is not None:
            words = f"a {self.quantity.name} with its unit ({', '.join(self.quantity.units)})"
        elif get_origin(self.kind) is Literal:
            words = f"one of {', '.join(map(str, get_args(self.kind)))}"
        else:
            words = _PLAIN[self.plain] + (f" {self.range}" if self.range else "")
        return f"{words} or null" if self.optional else words

    @property
    def example(self) -> str:
        """A right value, as text."""
        if not self.required and self.default is not None:
            return self.text(self.default)
        if self.quantity is not None:
            return self.quantity.example
        return str(get_args(self.kind)[0]) if get_origin(self.kind) is Literal else {bool: "true"}.get(self.plain, "1")


def options_of(policy: type[Policy]) -> tuple[Option, ...]:
    """Return the options of a policy in their order. Raises BadPolicy for a type that options cannot have."""
    if not is_dataclass(policy):
        raise BadPolicy(f"expected the class {policy.__name__} to be a dataclass; write @dataclass above it")
    try:
        hints = get_type_hints(policy, include_extras=True)
    except NameError as error:
        raise BadPolicy(f"the type of an option of {policy.__name__} is not known: {error}") from None
    lines = _help_lines(policy.__doc__ or "")
    return tuple(_option(policy, item, hints[item.name], lines) for item in fields(policy) if item.init)


def _option(policy: type[Policy], item: Any, hint: Any, lines: Mapping[str, str]) -> Option:
    kind, optional = _without_none(hint)
    default = item.default
    if default is MISSING and item.default_factory is not MISSING:
        default = item.default_factory()
    option = Option(item.name, kind, optional, default, lines.get(item.name, ""))
    if option.plain not in _PLAIN and get_origin(kind) is not Literal:
        kinds = "bool, int, float, str, Literal[...], Size, Time, Rate, Priority and Share"
        raise BadPolicy(f"expected the option {item.name!r} of {policy.__name__} to have one of the types {kinds}")
    if isinstance(default, str) and option.quantity is not None:
        option = Option(item.name, kind, optional, option.quantity.parse(default), option.help)
    return option


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        rest = [kind for kind in get_args(hint) if kind is not type(None)]
        return (rest[0] if len(rest) == 1 else hint), type(None) in get_args(hint)
    return hint, False


def summary_of(policy: type[Policy]) -> str:
    """Return the first line of the policy's docstring; a dataclass without one has none worth showing."""
    text = policy.__dict__.get("__doc__") or ""
    return "" if text.startswith(f"{policy.__name__}(") else cleandoc(text).partition("\n")[0]


def _help_lines(text: str) -> dict[str, str]:
    """Return what the section ``Options:`` of a docstring says of each option."""
    found: dict[str, str] = {}
    name = None
    for line in cleandoc(text).partition("Options:\n")[2].splitlines():
        match = re.fullmatch(r"    (\w+): (.*)", line)
        if match:
            name = match[1]
            found[name] = match[2]
        elif name and line.startswith("     "):
            found[name] += f" {line.strip()}"
        elif line.strip():
            break
    return found


# --- given values ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BadOption:
    """A mistake in what was given: `name` is the key, `text` says what was expected and found."""

    name: str | None
    text: str


def read_options(policy: type[Policy], name: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[BadOption]]:
    """Return the values of all options of the policy `name`, defaults filled in, and every mistake in `given`."""
    options = {option.name: option for option in options_of(policy)}
    mistakes = [BadOption(key, _unknown(key, name, options)) for key in given if key not in options]
    values: dict[str, Any] = {}
    for option in options.values():
        if option.name in given:
            value, mistake = _read(option, given[option.name])
            mistakes += [mistake] if mistake else []
            values[option.name] = value
        elif option.required:
            example = f"{option.name}: {option.example}"
            text = f"expected the option {option.name!r} of policy {name}, found none; for example {example!r}"
            mistakes.append(BadOption(None, text))
        else:
            values[option.name] = option.default
    wrong = None if mistakes else _check(policy, values)
    return values, mistakes if wrong is None else [BadOption(None, f"policy {name}: {wrong}")]


def _check(policy: type[Policy], values: Mapping[str, Any]) -> str | None:
    """Ask the policy itself, if it has something to say, about its options together."""
    if policy.check is Policy.check:
        return None
    try:
        return policy(**values).check()
    except ValueError as error:
        return str(error)


def sizes_cross(policy: Policy, low: str, high: str) -> str | None:
    """Say that the size `low` of a policy is above its size `high`, both names of options; None if it is not."""
    low_bytes, high_bytes = getattr(policy, low), getattr(policy, high)
    if low_bytes <= high_bytes:
        return None
    return f"expected {high} of at least {low}, {SIZE.text(low_bytes)}, found {SIZE.text(high_bytes)}"


def _unknown(key: str, name: str, options: Mapping[str, Option]) -> str:
    near = get_close_matches(key, options, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"its options are {', '.join(options)}"
    return f"{key!r} is not an option of policy {name}; {hint if options else 'it has none'}"


def _read(option: Option, value: Any) -> tuple[Any, BadOption | None]:
    for reading in _readings(option, value):
        return reading, None
    found = "nothing" if value is None else repr(value) if isinstance(value, str) else str(value)
    return None, BadOption(option.name, f"expected {option.expected}, found {found}; for example {option.example}")


def _readings(option: Option, value: Any) -> Iterator[Any]:
    """Yield the value that `value` stands for; nothing where it is wrong."""
    kind = option.kind
    if value is None:
        if option.optional:
            yield None
    elif option.quantity is not None:
        if isinstance(value, str):
            try:
                yield option.quantity.parse(value)
            except ValueError:
                return
    elif get_origin(kind) is Literal:
        yield from (choice for choice in get_args(kind) if choice == value and type(choice) is type(value))
    elif _is_a(value, option.plain) and (option.range is None or option.range.low <= value <= option.range.high):
        yield option.plain(value)


def _is_a(value: Any, kind: Any) -> bool:
    return type(value) is kind or (kind is float and type(value) is int)
