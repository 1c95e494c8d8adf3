"""``policy``: put another policy in charge, or none."""

from collections.abc import Sequence

from rich.text import Text

from testbed.shell.command import Bench, Command, CommandError, Outcome, commands, fields


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """``policy adaptive-ecn kmin=50KB``, ``policy mine.py``, ``policy none``, ``policy``."""
    control = bench.running.control
    if not words:
        return Text(control.policy_name or "none")
    kind, *rest = words
    if kind == "none":
        control.use_policy(None)
        return Text("no policy looks at the fabric any more; what it has set stays")
    scenario = bench.scenario_with(f"controller.policy={{kind: {kind}{fields(rest)}}}")
    refusal = control.use_policy(scenario.controller.policy)
    if refusal is not None:
        raise CommandError(refusal)
    return Text(f"{kind} looks at the fabric from now on")


command = Command(
    "policy NAME|FILE [option=value ...] | policy none | policy",
    "put a policy in charge: policy adaptive-ecn kmin=50KB",
    run,
)
commands.register("policy")(command)
