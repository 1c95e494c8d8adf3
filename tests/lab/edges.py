"""From a fabric's plan to the edges of the ring over its hosts, for the closed form."""

from testbed.fabric.paths import shortest_path
from testbed.fabric.plan import FabricPlan
from tests.lab.closed_form import Edge


def ring_edges(plan: FabricPlan) -> list[Edge]:
    """Return the way from each host's first NIC to that of the next host."""
    nics = [host.nics[0].name for host in plan.hosts]
    paths = [shortest_path(plan, here, there) for here, there in zip(nics, nics[1:] + nics[:1], strict=True)]
    return [
        Edge(
            tuple((link.rate_bps, link.delay_ps) for link in path.links),
            tuple(switch.latency_ps for switch in path.switches),
        )
        for path in paths
    ]
