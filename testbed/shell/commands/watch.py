"""``watch``: the busiest ports, again and again, until Ctrl-C."""

from collections.abc import Sequence

from rich.console import Group
from rich.table import Column

from testbed.report.style import plain_table
from testbed.shell.command import Bench, Command, Outcome, arguments, commands
from testbed.shell.commands.status import lines
from testbed.units import SECOND, format_rate, format_size

_MOST_PORTS = 12


class _Rates:
    """Bytes that each port had sent at the last look, to know what it has sent since."""

    def __init__(self) -> None:
        self.at_ps = 0
        self.sent: dict[str, int] = {}


_rates = _Rates()


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """Print the ports that sent most since the last look: rate, share of the link, what waits, pauses."""
    arguments(words, 0, 0, command)
    fabric, now = bench.running.fabric, bench.running.loop.now
    since_ps = max(now - _rates.at_ps, 1)
    sent = {name: wire.sent_bytes for name, wire in fabric.transmitters.items()}
    rates = {name: (total - _rates.sent.get(name, 0)) * 8 * SECOND // since_ps for name, total in sent.items()}
    _rates.at_ps, _rates.sent = now, sent
    table = plain_table(*(Column(name, justify="right") for name in ("port", "rate", "of link", "queued", "paused")))
    for name in sorted(rates, key=lambda name: (-rates[name], name))[:_MOST_PORTS]:
        wire, port = fabric.transmitters[name], fabric.ports.get(name)
        table.add_row(
            name,
            format_rate(rates[name], 1),
            f"{rates[name] / wire.rate_bps:.0%}",
            format_size(port.queue.bytes) if port else "",
            "paused" if wire.paused_mask else "",
        )
    return Group(*lines(bench), table)


command = Command("watch", "the busiest ports, twice a second, until Ctrl-C", run, repeats=True)
commands.register("watch")(command)
