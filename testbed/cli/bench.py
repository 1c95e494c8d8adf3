"""``rocelab bench``: one collective at many sizes on one fabric, with the table of nccl-tests."""

import time
from pathlib import Path

import click

from testbed.cli.run import choices


@click.command()
@click.argument("collective")
@click.option(
    "--on", "file", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The scenario of the fabric."
)
@click.option(
    "--sizes",
    default="1M:16M:2",
    show_default=True,
    metavar="MIN:MAX:FACTOR",
    help="Bytes, or K, M, G (binary); also MIN:MAX:+STEP, and lists with commas.",
)
@click.option("--algorithm", metavar="NAME", help="The algorithm (default: the scenario's, or the kind's own).")
@click.option("--iterations", type=click.IntRange(1), metavar="N", help="Rounds of each size; the time is their mean.")
@click.option("--chunk", metavar="SIZE", help="The longest message, such as 64KiB.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value of the scenario.")
@click.option("--policy", metavar="NAME|FILE", help="Run a policy: one of 'rocelab policies', or your own .py file.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object a size, and nothing else.")
@click.pass_context
def bench(
    context: click.Context,
    collective: str,
    file: Path,
    sizes: str,
    algorithm: str | None,
    iterations: int | None,
    chunk: str | None,
    overrides: tuple[str, ...],
    policy: str | None,
    as_json: bool,
) -> None:
    """Measure COLLECTIVE (all-reduce, all-gather, all-to-all ...) at many sizes on one fabric.

    \b
    rocelab bench all-reduce --on scenarios/01-ring-all-reduce.yaml --sizes 1M:64M:2

    Prints the table of nccl-tests. The scenario's own collective of that kind is measured, with all its options and
    with the rest of the workload beside it; if it has none, one takes the place of its workload. A row is what 'run'
    gives for that size.

    Exit status: 0; 1 when a sum or an invariant is wrong, or a workload failed; 2 for wrong input.
    """
    started = time.monotonic()
    from testbed.bench.series import Choice, make_series
    from testbed.bench.sizes import parse_sizes
    from testbed.cli.inside import in_sandbox

    choice = Choice(collective, parse_sizes(sizes), algorithm, iterations, chunk)
    series = make_series(file, (*choices(policy, None), *overrides), choice)

    def inside() -> int:
        from testbed.cli.bench_running import measure_all

        return measure_all(series, started, as_json=as_json)

    context.exit(in_sandbox(inside))
