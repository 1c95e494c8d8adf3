"""What a command of the live shell is, what it works on, and the registry that finds it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from io import StringIO
from pathlib import Path

from rich.console import Console, RenderableType

from testbed.errors import RocelabError, ScenarioError
from testbed.lab import Lab
from testbed.measurement.capture import PortCapture
from testbed.running import Running
from testbed.scenario.load import load_scenario
from testbed.scenario.model import Scenario
from testbed.shell.line import Request
from traffic.plugins import Registry


class CommandError(RocelabError):
    """What the user asked for cannot be done: what was expected, what was found, an example."""


@dataclass
class Bench:
    """What commands work on: a live run of the scenario in `file` (with `overrides`), and what they have put on it.

    `columns`: the width of the user's terminal.
    """

    running: Running
    lab: Lab
    file: Path
    overrides: tuple[str, ...]
    captures: dict[str, PortCapture] = field(default_factory=dict)
    columns: int = 80

    def scenario_with(self, override: str) -> Scenario:
        """Return the scenario with one more override, checked whole. Raises CommandError that says what is wrong."""
        try:
            return load_scenario(self.file, (*self.overrides, override))
        except ScenarioError as error:
            raise CommandError(str(error)) from None

    def port(self, name: str) -> str:
        """Return the name of a switch's port. Raises CommandError for any other."""
        return one_of(name, list(self.running.fabric.ports), "a port of a switch")

    def link(self, words: Sequence[str]) -> str:
        """Return the link that ``leaf0 spine1`` or ``leaf0-spine1`` means."""
        names = [link.name for link in self.running.plan.links]
        for wanted in ("-".join(words), "-".join(reversed(words))):
            if wanted in names:
                return wanted
        return one_of("-".join(words), names, "a link")


@dataclass(frozen=True, slots=True)
class Later:
    """An answer that is not there yet: `done` says when it is, `result` makes it, `cancel` gives it up."""

    done: Callable[[], bool]
    result: Callable[[], RenderableType]
    cancel: Callable[[], None]


Outcome = RenderableType | Later


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its `usage`, one line of `help`, and what it does with its arguments.

    `run` returns what to print, or `Later`; it raises CommandError. `repeats`: the shell asks again and again, and
    draws the answers in one place, until the user types Ctrl-C.
    """

    usage: str
    help: str
    run: Callable[[Bench, Sequence[str]], Outcome]
    repeats: bool = False


commands: Registry[Command] = Registry("command", "testbed.shell.commands")


def one_of(name: str, names: Sequence[str], noun: str) -> str:
    """Return `name` if it is one of `names`. Raises CommandError that gives near names, or some of them."""
    if name in names:
        return name
    near = get_close_matches(name, names, n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else f"for example {', '.join(names[:3])}"
    raise CommandError(f"expected {noun}, found {name!r}; {hint}")


def arguments(words: Sequence[str], at_least: int, at_most: int, command: Command) -> Sequence[str]:
    """Return `words` if there are as many as there may be. Raises CommandError with the usage."""
    if not at_least <= len(words) <= at_most:
        raise CommandError(f"usage: {command.usage}")
    return words


def fields(words: Sequence[str]) -> str:
    """Return ``a=1 b=2`` as the inside of a YAML mapping. Raises CommandError for a word without ``=``."""
    for word in words:
        if "=" not in word[1:]:
            raise CommandError(f"expected name=value, found {word!r}; for example nth=1")
    return "".join(f", {name}: {value}" for name, _, value in (word.partition("=") for word in words))


def rendered(text: RenderableType, request: Request) -> str:
    """Return what `text` looks like on the user's terminal."""
    file = StringIO()
    console = Console(
        file=file,
        width=request.columns,
        force_terminal=request.colour,
        no_color=not request.colour,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(text)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())
