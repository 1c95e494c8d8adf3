"""Switches in a ring, ``leaf0`` to ``leaf4``, each with its hosts: the smallest fabric in which pauses can go round.

Port numbers: the hosts first, then on ``leaf0`` the links to ``leaf1`` and to the last one, on every other switch the
link back and the link on.
"""

from testbed.fabric.builder import FabricBuilder
from testbed.fabric.topologies import topology
from testbed.scenario.model import Ring


@topology(Ring)
def ring(options: Ring, builder: FabricBuilder) -> None:
    switches = [builder.switch(f"leaf{number}", tier=0) for number in range(options.switches)]
    for switch in switches:
        for _ in range(options.hosts_per_switch):
            builder.host(switch)
    for switch, following in zip(switches, switches[1:] + switches[:1], strict=True):
        builder.link(switch, following, options.link)
