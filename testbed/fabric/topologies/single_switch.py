"""One switch, `leaf0`, with all hosts on it: no path choice, no core. The place to look at one queue."""

from testbed.fabric.builder import FabricBuilder
from testbed.fabric.topologies import topology
from testbed.scenario.model import SingleSwitch


@topology(SingleSwitch)
def single_switch(options: SingleSwitch, builder: FabricBuilder) -> None:
    leaf = builder.switch("leaf0", tier=0)
    for _ in range(options.hosts):
        builder.host(leaf)
