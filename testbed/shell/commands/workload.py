"""``workload``: run what the scenario says, now."""

from collections.abc import Sequence

from testbed.shell.command import Bench, Command, Outcome, arguments, commands
from testbed.shell.work import start_later


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """Start the scenario's workload, and answer when it is done."""
    arguments(words, 0, 0, command)
    return start_later(bench, bench.running.scenario.workload)


command = Command("workload", "run the scenario's workload and print its results", run)
commands.register("workload")(command)
