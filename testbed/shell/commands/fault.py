"""``fault``: break something, as a scenario's ``faults:`` do, from now on."""

from collections.abc import Sequence

from rich.text import Text

from testbed.engine.faults import WireFault
from testbed.scenario.model import Fault, LinkDown, PauseStorm
from testbed.shell.command import Bench, Command, CommandError, Outcome, commands, fields

_DEFAULTS = {"drop": ", nth: 1", "loss": ", probability: 0.01", "corrupt": ", probability: 0.01"}


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """``fault drop leaf0-eth3``, ``fault loss leaf0-spine1 probability=0.1``, ``fault clear``, ``fault``."""
    running = bench.running
    if not words:
        return Text("\n".join(f"{each.kind} {_place(each)}" for each in _present(bench)) or "there are none")
    if words[0] == "clear":
        return _clear(bench)
    if words[0] == "link-down":
        raise CommandError("a cable is pulled by: link leaf0 spine0 down")
    if len(words) < 2:
        raise CommandError(f"usage: {command.usage}")
    kind, place, *rest = words
    given = fields(rest) or _DEFAULTS.get(kind, "")
    faults = [
        fault
        for port in _ports(bench, place)
        for fault in bench.scenario_with(f"faults=[{{kind: {kind}, port: {port}{given}}}]").faults
    ]
    faults = [_from_now_on(fault, running.loop.now) for fault in faults]
    if any(isinstance(fault, PauseStorm) for fault in faults):
        running.fabric.storm(faults)
    running.faults.add(faults)
    return Text("\n".join(f"{each.kind} {_place(each)}" for each in faults))


def _present(bench: Bench) -> list[WireFault]:
    """Return the faults of wires that are not over."""
    now = bench.running.loop.now
    return [each for each in bench.running.faults.present() if not (isinstance(each, LinkDown) and _is_over(each, now))]


def _is_over(fault: LinkDown, now_ps: int) -> bool:
    return fault.until is not None and fault.until <= now_ps


def _clear(bench: Bench) -> Outcome:
    running = bench.running
    links = {each.link for each in _present(bench) if isinstance(each, LinkDown)}
    for link in sorted(links):
        running.faults.bring_up(link, running.loop.now)
        running.control.tell_of_link(link, up=True)
    running.faults.remove(each for each in running.faults.present() if not isinstance(each, LinkDown))
    return Text("all wires are as new; a pause storm goes on until its time")


def _from_now_on(fault: Fault, now_ps: int) -> Fault:
    """Return a pause storm whose times count from now: nothing can begin in the past."""
    if not isinstance(fault, PauseStorm):
        return fault
    until_ps = None if fault.until is None else now_ps + fault.until
    return fault.model_copy(update={"at": now_ps + fault.at, "until": until_ps})


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
