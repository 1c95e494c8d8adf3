"""``rocelab run``: carry out a scenario and print what was measured."""

import json
import time
from pathlib import Path

import click

from testbed.cli.clock import RateFactor, factor_for
from testbed.cli.datapath import datapath_option
from testbed.scenario.load import load_scenario


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value, e.g. fabric.link.rate=400Gbps."
)
@click.option("--policy", metavar="NAME|FILE", help="Run a policy: one of 'rocelab policies', or your own .py file.")
@click.option("--controller", metavar="NAME|FILE", help="Run another Ryu application: any .py file with a RyuApp.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="The run directory (default: a new one below runs/)."
)
@click.option(
    "--clock",
    type=click.Choice(["virtual", "live"]),
    default="virtual",
    show_default=True,
    help="Model time as fast as the machine can (virtual), or tied to wall time (live).",
)
@click.option(
    "--rate-factor",
    type=RateFactor(),
    metavar="K|auto",
    help="On the live clock: wall time over model time; auto (the default) measures what the machine can hold.",
)
@datapath_option
@click.option("--json", "as_json", is_flag=True, help="Print summary.json, and nothing else, on standard output.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--watch", is_flag=True, help="Show the fabric live while it runs; in a pipe, a line now and then.")
@click.pass_context
def run(
    context: click.Context,
    file: Path,
    overrides: tuple[str, ...],
    policy: str | None,
    controller: str | None,
    out: Path | None,
    clock: str,
    rate_factor: int | None,
    datapath: str,
    as_json: bool,
    quiet: bool,
    watch: bool,
) -> None:
    """Run the scenario FILE and print its results.

    Exit status: 0 when all went as expected; 1 when an expectation or an invariant fails, or the testbed does; 2 when
    the scenario is wrong; 3 when the machine lacks something.
    """
    started = time.monotonic()
    factor = factor_for(clock, rate_factor)
    scenario = load_scenario(file, (*choices(policy, controller), *overrides))

    from testbed.cli.inside import in_sandbox
    from testbed.outside.kernel_datapath import require_datapath
    from testbed.outside.machine import require_machine
    from testbed.outside.run_directory import make_run_directory
    from testbed.outside.shared_screen import SharedScreen

    require_machine()
    require_datapath(datapath)
    directory = make_run_directory(out, file.stem)
    screen = SharedScreen() if watch else None

    def inside() -> int:
        from testbed.cli.running import Output, carry_out

        output = Output(directory.inside, shown=directory.path, as_json=as_json, quiet=quiet, screen=screen)
        return carry_out(scenario, overrides, output, started, factor, datapath)

    try:
        context.exit(in_sandbox(inside, screen))
    finally:
        directory.close()


def choices(policy: str | None, controller: str | None) -> list[str]:
    """Return what --policy and --controller stand for, as overrides; --set comes after them and can set options."""
    chosen = []
    if controller is not None:
        chosen.append(f"controller.app={json.dumps(controller)}")
    if policy is not None:
        chosen.append(f"controller.policy={{kind: {json.dumps(policy)}}}")
    return chosen
