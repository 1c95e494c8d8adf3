"""``counters``: the counters of NICs and switches so far, as ``rocelab counters`` prints those of a finished run."""

from collections.abc import Sequence

from rich.console import Group

from testbed.measured import snapshot
from testbed.report.counters import counter_tables, nodes
from testbed.report.summary import so_far
from testbed.shell.command import Bench, Command, Outcome, arguments, commands, one_of


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """``counters``, ``counters leaf0``, ``counters h3-eth0``."""
    arguments(words, 0, 1, command)
    summary = so_far(snapshot(bench.running, bench.lab))
    node = one_of(words[0], nodes(summary), "a host, NIC, switch or port") if words else None
    tables = counter_tables(summary, node, bench.columns)
    return Group(*tables) if tables else "all counters are 0"


command = Command("counters [NODE]", "counters that are not 0, of all or one: counters leaf0", run)
commands.register("counters")(command)
