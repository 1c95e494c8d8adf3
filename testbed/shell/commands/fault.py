"""``fault``: break something, as a scenario's ``faults:`` do, from now on."""

from collections.abc import Sequence

from rich.text import Text

from testbed.scenario.model import PauseStorm
from testbed.shell.command import Bench, Command, CommandError, Outcome, commands, fields

_DEFAULTS = {"drop": ", nth: 1", "loss": ", probability: 0.01", "corrupt": ", probability: 0.01"}


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """``fault drop leaf0-eth3``, ``fault loss leaf0-spine1 probability=0.1``, ``fault clear``, ``fault``."""
    running = bench.running
    if not words:
        present = running.faults.present()
        return Text("\n".join(f"{each.kind} {_place(each)}" for each in present) or "there are none")
    if words[0] == "clear":
        running.faults.remove(running.faults.present())
        return Text("all wires are as new")
    if len(words) < 2:
        raise CommandError(f"usage: {command.usage}")
    kind, place, *rest = words
    given = fields(rest) or _DEFAULTS.get(kind, "")
    faults = [
        fault
        for port in _ports(bench, place)
        for fault in bench.scenario_with(f"faults=[{{kind: {kind}, port: {port}{given}}}]").faults
    ]
    if any(isinstance(fault, PauseStorm) for fault in faults):
        running.fabric.storm(faults)
    running.faults.add(faults)
    return Text("\n".join(f"{each.kind} {_place(each)}" for each in faults))


def _ports(bench: Bench, place: str) -> list[str]:
    """Return the ports that `place` means: itself, or both ends of a link."""
    of_link = {link.name: [link.a.name, link.b.name] for link in bench.running.plan.links}
    return of_link.get(place, [place])


def _place(fault: object) -> str:
    return str(getattr(fault, "port", None) or getattr(fault, "link", ""))


command = Command(
    "fault KIND PORT|LINK [name=value ...] | fault clear | fault",
    "break a wire: fault drop leaf0-spine1 nth=10; fault loss h3-eth0 probability=0.1; list, or clear, all",
    run,
)
commands.register("fault")(command)
