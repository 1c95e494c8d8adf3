"""How a command does something in the sandbox: the machine is looked at first, and errors inside become messages."""

import signal
import sys
from collections.abc import Callable

import click

from testbed.cli.complaint import complain
from testbed.cli.pipe import stop_writing
from testbed.errors import RocelabError
from testbed.outside.machine import require_machine
from testbed.outside.sandbox import run_in_sandbox
from testbed.outside.shared_screen import SharedScreen


def in_sandbox(inside: Callable[[], int], screen: SharedScreen | None = None) -> int:
    """Run `inside` in a sandbox and return its exit status, or that of the RocelabError that ended it, once printed.

    `screen`: what it draws on, if it takes the terminal's screen.
    """

    def guarded() -> int:
        try:
            status = inside()
            sys.stdout.flush()
            return status
        except RocelabError as error:
            return complain(error)
        except KeyboardInterrupt:
            click.echo("rocelab: interrupted", err=True)
            return 128 + signal.SIGINT
        except OSError as error:
            return stop_writing(error)

    require_machine()
    return run_in_sandbox(guarded, screen)
