"""The ``rocelab`` command: finds the command that was asked for, and turns errors into messages and exit statuses."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from types import FrameType, TracebackType
from typing import NoReturn

import click

from testbed.cli.complaint import complain
from testbed.cli.pipe import open_closed_streams, stop_writing
from testbed.errors import RocelabError, ScenarioError

COMMANDS = (
    "run",
    "bench",
    "live",
    "compare",
    "explain",
    "report",
    "counters",
    "check",
    "show",
    "scenarios",
    "policies",
    "trace",
    "lab",
    "doctor",
    "test",
)
"""Every command, in the order of the help; each is a file of this folder."""

_INTERRUPTED = 130
"""The exit status that a shell gives to a program that SIGINT ended."""


class _Commands(click.Group):
    """A group that imports a command's file only when it needs it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"testbed.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            near = " or ".join(repr(name) for name in get_close_matches(args[0], COMMANDS, n=2))
            remedy = f"did you mean {near}?" if near else f"the commands are {', '.join(COMMANDS)}"
            raise ScenarioError(f"rocelab: {args[0]!r} is not a command; {remedy}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def rocelab(context: click.Context) -> None:
    """Packet-level emulation of the Ethernet fabrics that AI training runs on.

    A first run: rocelab run scenarios/01-ring-all-reduce.yaml
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run ``rocelab`` with `arguments` (default: those of the process) and exit.

    Exit status: that of the command; 2 for wrong input; that of the RocelabError that ended it.
    """
    open_closed_streams()
    try:
        status = _status_of(arguments)
        sys.stdout.flush()
    except OSError as error:
        status = stop_writing(error)
    sys.exit(status)


class _Interrupts:
    """While this is entered, Ctrl-C is remembered as well as raised: libraries may turn what is raised into an error
    of their own (pydantic, while it builds a model)."""

    def __enter__(self) -> _Interrupts:
        self.came = False
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.default_int_handler(number, frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if signal.getsignal(signal.SIGINT) == self._note:
            signal.signal(signal.SIGINT, self._before)


def _status_of(arguments: Sequence[str] | None) -> int:
    with _Interrupts() as interrupts:
        try:
            return _carry_out(arguments)
        except Exception:
            if not interrupts.came:
                raise
            click.echo("rocelab: interrupted", err=True)
            return _INTERRUPTED


def _carry_out(arguments: Sequence[str] | None) -> int:
    try:
        status = rocelab.main(args=arguments, prog_name="rocelab", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except RocelabError as error:
        return complain(error)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("rocelab: interrupted", err=True)
        return _INTERRUPTED
