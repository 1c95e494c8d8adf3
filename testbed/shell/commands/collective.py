"""``collective``: run one collective of the modelled NICs now, beside whatever else the fabric carries."""

import re
from collections.abc import Sequence

from testbed.shell.command import Bench, Command, Outcome, commands, fields
from testbed.shell.work import start_later

_SHORT_SIZE = re.compile(r"(\d+)([KMG])")


def run(bench: Bench, words: Sequence[str]) -> Outcome:
    """Start the collective, and answer when it is done."""
    kind, size, *rest = (*words, "4MiB") if len(words) == 1 else (words or ("all-reduce", "4MiB"))
    short = _SHORT_SIZE.fullmatch(size)
    size = f"{short[1]}{short[2]}iB" if short else size
    override = f"workload=[{{kind: {kind}, size: {size}{fields(rest)}}}]"
    return start_later(bench, bench.scenario_with(override).workload)


commands.register("collective")(
    Command(
        "collective [KIND [SIZE [name=value ...]]]",
        "run a collective and print its result: collective all-reduce 4M chunk=64KiB",
        run,
    )
)
