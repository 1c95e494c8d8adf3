"""How fast is rocelab, and what bounds it?

    python benchmarks/run.py [NAME ...] [--repeat N] [--json] [--write] [--quick]

Benchmarks run one after another, each as often as `--repeat` says, and print medians with their range, beside the
machine and its load before the start. Without names all run; that takes about ten minutes. README.md explains what they
measure, and `--write` puts their tables there.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # instead of this folder: its modules are `benchmarks.*`, and `testbed` is the one beside

from benchmarks import (  # noqa: E402 - finds them by the above
    congested,
    growth,
    lossless,
    measuring,
    ovs_limit,
    peers,
    readme,
    reference,
    report,
    time_profile,
)
from benchmarks.figures import Options, Result  # noqa: E402
from benchmarks.machine import Machine, this_machine  # noqa: E402
from benchmarks.product import BenchmarkError  # noqa: E402
from testbed.report.style import console_for  # noqa: E402

BENCHMARKS: dict[str, Callable[[Options], Result]] = {
    "reference": reference.benchmark,
    "ovs-limit": ovs_limit.benchmark,
    "lossless": lossless.benchmark,
    "measuring": measuring.benchmark,
    "report": report.benchmark,
    "profile": time_profile.benchmark,
    "growth": growth.benchmark,
    "w1-ring": partial(peers.benchmark, peers.W1_RING),
    "w1-flat": partial(peers.benchmark, peers.W1_FLAT),
    "w4-flat": partial(peers.benchmark, peers.W4_FLAT),
    "w2-incast": partial(congested.benchmark, congested.W2),
    "w3-all-to-all": partial(congested.benchmark, congested.W3),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what `arguments` ask for and return the exit status: 1 when a benchmark cannot be carried out."""
    asked = _parse(arguments)
    options = Options(asked.repeat, asked.quick, partial(print, file=sys.stderr, flush=True))
    measured: list[tuple[Result, Machine]] = []
    try:
        for name in asked.names or BENCHMARKS:
            machine = this_machine()
            measured.append((BENCHMARKS[name](options), machine))
            if not asked.json:
                _show(*measured[-1])
    except BenchmarkError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    if asked.json:
        found = {result.name: {"machine": asdict(machine), **result.data} for result, machine in measured}
        print(json.dumps(found, indent=2))
    if asked.write:
        bodies = {found.name: readme.body_of(found, machine, _command(found, options)) for found, machine in measured}
        readme.write(bodies)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="measure each N times (default: 3)")
    parser.add_argument("--json", action="store_true", help="print every single measurement as JSON")
    parser.add_argument("--write", action="store_true", help="replace the tables in benchmarks/README.md")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: to see that all works; no figures to use")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if asked.repeat < 1:
        parser.error(f"--repeat: expected 1 or more, found {asked.repeat}")
    if asked.write and asked.quick:
        parser.error("--write: expected full sizes, found --quick, whose figures say nothing")
    return asked


def _command(result: Result, options: Options) -> str:
    return f"python benchmarks/run.py {result.name} --repeat {options.repeat}"


def _show(result: Result, machine: Machine) -> None:
    console = console_for(sys.stdout)
    for table in result.tables:
        table.show(console)
    for line in (*result.notes, machine.text()):
        console.print(line)
    console.print()


if __name__ == "__main__":
    sys.exit(main())
