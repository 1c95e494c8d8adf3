"""``queue``: what a port's queues hold now, and have done so far."""

from collections.abc import Sequence

from rich.table import Column

from testbed.report.style import plain_table
from testbed.shell.command import Bench, Command, Outcome, arguments, commands
from testbed.units import format_size


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """``queue leaf0-eth1``."""
    (name,) = arguments(words, 1, 1, command)
    statistics = bench.running.fabric.ports[bench.port(name)].statistics()
    columns = [
        Column(each, justify="right") for each in ("priority", "now", "peak", "packets", "CE marks", "drops", "state")
    ]
    rows = [
        (
            str(queue.priority),
            format_size(queue.queue_bytes),
            format_size(queue.peak_bytes),
            f"{queue.out_packets:,}",
            f"{queue.ecn_marked_packets:,}",
            f"{sum(queue.dropped.values()):,}",
            "paused" if queue.paused else "",
        )
        for queue in statistics.queues
        if queue.peak_bytes or queue.dropped or len(statistics.queues) == 1
    ]
    if not rows:
        return f"{name}: nothing has entered a queue yet"
    table = plain_table(*columns)
    for row in rows:
        table.add_row(*row)
    return table


command = Command("queue PORT", "what the queues of a port hold: queue leaf0-eth1", run)
commands.register("queue")(command)
