"""The k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts, all with k ports.

``p2e1`` is edge switch 1 of pod 2, ``p2a1`` its aggregation switch 1. Aggregation switch j of every pod reaches the
cores j k/2 ... (j + 1) k/2 - 1, so that a core has one link into each pod and two pods have (k/2)^2 paths.

Reference: Al-Fares, Loukissas, Vahdat, "A Scalable, Commodity Data Center Network Architecture", SIGCOMM 2008.
"""

from testbed.fabric.builder import FabricBuilder
from testbed.fabric.topologies import topology
from testbed.scenario.model import FatTree


@topology(FatTree)
def fat_tree(options: FatTree, builder: FabricBuilder) -> None:
    half = options.k // 2
    pods = range(options.k)
    edges = [[builder.switch(f"p{pod}e{i}", tier=0) for i in range(half)] for pod in pods]
    aggregations = [[builder.switch(f"p{pod}a{i}", tier=1) for i in range(half)] for pod in pods]
    cores = [builder.switch(f"core{i}", tier=2) for i in range(half * half)]
    for pod in pods:
        for edge in edges[pod]:
            for _ in range(half):
                builder.host(edge)
    for pod in pods:
        for edge in edges[pod]:
            for aggregation in aggregations[pod]:
                builder.link(edge, aggregation, options.aggregation)
    for pod in pods:
        for j, aggregation in enumerate(aggregations[pod]):
            for core in cores[j * half : (j + 1) * half]:
                builder.link(aggregation, core, options.core)
