"""``status``: how far the clock is, whether it keeps up, and what runs."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from testbed.report.live import live_block, live_lines
from testbed.shell.command import Bench, Command, Outcome, arguments, commands
from testbed.units import format_time


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """Print the state of the clock, and a line for each piece of work that is not done."""
    arguments(words, 0, 0, command)
    return Group(*lines(bench))


def lines(bench: Bench) -> list[RenderableType]:
    """Return the lines of `status`."""
    running = bench.running
    assert running.live is not None, "the shell is of a live run"
    record = running.live.record()
    time = Text(f"{format_time(running.loop.now)} of model time in {record.wall_ns / 1e9:.1f} s")
    work = [Text(job.waiting_for()) for job in running.jobs if not job.done]
    return [time, *live_lines({"live": live_block(record)}), *work]


command = Command("status", "the clock, its verdict so far, and what runs", run)
commands.register("status")(command)
