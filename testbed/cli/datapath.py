"""The option ``--datapath``: where Open vSwitch forwards."""

import click

from testbed.outside.kernel_datapath import DATAPATHS, USER

datapath_option = click.option(
    "--datapath",
    type=click.Choice(DATAPATHS),
    default=USER,
    show_default=True,
    help="Where Open vSwitch forwards: in its own process (user), or in the kernel's module openvswitch (kernel). "
    "Results are the same.",
)
