"""``rocelab live``: a fabric to use by hand, on the live clock."""

from pathlib import Path

import click

from testbed.cli.clock import RateFactor
from testbed.cli.datapath import datapath_option
from testbed.scenario.load import load_scenario


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a value of the scenario.")
@click.option(
    "--rate-factor",
    type=RateFactor(),
    default="auto",
    metavar="K|auto",
    help="Wall time over model time; auto (the default) measures what the machine can hold.",
)
@click.option(
    "--exec",
    "script",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="SCRIPT",
    help="Carry out the lines of a file instead of reading them; exit status 1 when a command fails.",
)
@datapath_option
@click.pass_context
def live(
    context: click.Context,
    file: Path,
    overrides: tuple[str, ...],
    rate_factor: int,
    script: Path | None,
    datapath: str,
) -> None:
    """Build the fabric of FILE on the live clock and open a shell on it.

    In the shell are Mininet's commands (h1 ping h2, xterm h1, ...) and the fabric's own (collective, counters, queue,
    link, fault, policy, capture, watch, ...): help lists them. Ctrl-D leaves; nothing is left behind.
    """
    scenario = load_scenario(file, overrides)

    from testbed.cli.inside import in_sandbox
    from testbed.fabric.build import build_plan
    from testbed.outside.containers import containers_of
    from testbed.outside.kernel_datapath import require_datapath
    from testbed.outside.soft_roce import soft_roce_of
    from testbed.outside.terminal import terminal_as_it_was

    require_datapath(datapath)
    plan, kind = build_plan(scenario.fabric), scenario.fabric.host
    with containers_of(plan, kind) as containers, soft_roce_of(plan, kind, scenario.transport.mtu) as soft_roce:

        def inside() -> int:
            from testbed.shell.session import Session, hold

            return hold(Session(scenario, file, overrides, rate_factor, script, containers, datapath, soft_roce))

        with terminal_as_it_was():
            status = in_sandbox(inside)
    context.exit(status)
