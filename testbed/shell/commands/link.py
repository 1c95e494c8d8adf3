"""``link``: take a link of the fabric down, and up again: what is on it is lost, as when a cable is pulled."""

from collections.abc import Sequence

from rich.text import Text

from testbed.scenario.model import LinkDown
from testbed.shell.command import Bench, Command, CommandError, Outcome, arguments, commands


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """``link leaf0 spine1 down``."""
    *ends, state = arguments(words, 2, 3, command)
    name = bench.link(ends)
    running = bench.running
    if state == "down":
        running.faults.add([LinkDown.model_construct(kind="link-down", link=name, at=running.loop.now, until=None)])
    elif state == "up":
        if not running.faults.bring_up(name, running.loop.now):
            raise CommandError(f"{name} is not down")
    else:
        raise CommandError(f"expected up or down, found {state!r}; usage: {command.usage}")
    running.control.tell_of_link(name, up=state == "up")
    return Text(f"{name} is {state}")


command = Command("link NODE NODE up|down", "take a link down, or up again: link leaf0 spine1 down", run)
commands.register("link")(command)
