"""The two-tier Clos: each leaf has its hosts and one link to every spine, so any two leaves have one path a spine.

`leaves` x `hosts_per_leaf` hosts. Oversubscription of a leaf is hosts_per_leaf x link rate / (spines x uplink rate).
"""

from testbed.fabric.builder import FabricBuilder
from testbed.fabric.topologies import topology
from testbed.scenario.model import LeafSpine


@topology(LeafSpine)
def leaf_spine(options: LeafSpine, builder: FabricBuilder) -> None:
    leaves = [builder.switch(f"leaf{i}", tier=0) for i in range(options.leaves)]
    spines = [builder.switch(f"spine{i}", tier=1) for i in range(options.spines)]
    for leaf in leaves:
        for _ in range(options.hosts_per_leaf):
            builder.host(leaf)
    for leaf in leaves:
        for spine in spines:
            builder.link(leaf, spine, options.uplink)
