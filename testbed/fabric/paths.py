"""Shortest paths over a plan: equal-cost next hops for the controller, all of them tier by tier for the ideal fabric.

A path's cost is its number of links. Distances are found by a breadth-first search from each leaf over the switches
(hosts do not forward), once a leaf rather than once a NIC: all NICs of a leaf share their next hops everywhere else.
Choices are fixed: neighbours are visited, and next hops listed, in the order of port numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from testbed.fabric.plan import FabricPlan, Link, Port, Switch

Neighbours = Mapping[str, tuple[tuple[Port, str], ...]]
"""For each switch, its ports towards other switches, each with the switch at the far end."""


@dataclass(frozen=True, slots=True)
class Path:
    """A way through the fabric: `links` as they are crossed, and the `switches` between them (one fewer)."""

    links: tuple[Link, ...]
    switches: tuple[Switch, ...]

    @property
    def senders(self) -> tuple[Port, ...]:
        """The port that transmits onto each link: the direction in which the link is crossed."""
        first = self.links[0].b if self.links[0].a.node == self.switches[0].name else self.links[0].a
        rest = (
            link.a if link.a.node == switch.name else link.b
            for link, switch in zip(self.links[1:], self.switches, strict=True)
        )
        return (first, *rest)


@dataclass(frozen=True, slots=True)
class Tier:
    """The links that all shortest paths between two NICs cross as their n-th one, and the `switches` that send on them
    (none for the first tier, a NIC's own link)."""

    links: tuple[Link, ...]
    switches: tuple[Switch, ...]


def next_hops(plan: FabricPlan) -> dict[str, dict[str, tuple[Port, ...]]]:
    """Return for each switch and each NIC (by name) the ports on shortest paths to it, in the order of their numbers.

    The result is ``hops[switch][nic]``. A NIC that cannot be reached from a switch is absent there.
    """
    neighbours = _neighbours(plan)
    hops: dict[str, dict[str, tuple[Port, ...]]] = {switch.name: {} for switch in plan.switches}
    for leaf, nics in plan.nics_of.items():
        distance = _distances(neighbours, leaf)
        for switch in distance:
            if switch == leaf:
                continue
            ports = tuple(port for port, far in neighbours[switch] if distance[far] < distance[switch])
            hops[switch].update({nic.name: ports for nic in nics})
        hops[leaf].update({nic.name: (plan.far_end(nic.name),) for nic in nics})
    return hops


def shortest_path(plan: FabricPlan, source_nic: str, destination_nic: str) -> Path:
    """Return one shortest path between two NICs (by name); of equal ones that over the lowest port numbers.

    Raises ValueError if the two are the same, or have no path between them.
    """
    if source_nic == destination_nic:
        raise ValueError(f"a path needs two NICs, found {source_nic} twice")
    here, goal = plan.leaf_of(source_nic).name, plan.leaf_of(destination_nic).name
    neighbours = _neighbours(plan)
    distance = _distances(neighbours, goal)
    if here not in distance:
        raise ValueError(f"no path from {source_nic} to {destination_nic}")
    links, switches = [plan.link_at[source_nic]], [plan.switch_by_name[here]]
    while here != goal:
        port, here = next((port, far) for port, far in neighbours[here] if distance[far] < distance[here])
        links.append(plan.link_at[port.name])
        switches.append(plan.switch_by_name[here])
    return Path((*links, plan.link_at[destination_nic]), tuple(switches))


def equal_cost_tiers(plan: FabricPlan, source_nic: str, destination_nic: str) -> tuple[Tier, ...]:
    """Return every link that a shortest path between two NICs (by name) can take, tier by tier.

    Raises ValueError if the two are the same, or have no path between them.
    """
    if source_nic == destination_nic:
        raise ValueError(f"a path needs two NICs, found {source_nic} twice")
    here, goal = plan.leaf_of(source_nic), plan.leaf_of(destination_nic)
    tiers, switches = [Tier((plan.link_at[source_nic],), ())], [here]
    if here != goal:
        neighbours = _neighbours(plan)
        distance = _distances(neighbours, goal.name)
        if here.name not in distance:
            raise ValueError(f"no path from {source_nic} to {destination_nic}")
        for left in range(distance[here.name] - 1, -1, -1):
            steps = [step for switch in switches for step in neighbours[switch.name] if distance[step[1]] == left]
            tiers.append(Tier(tuple(plan.link_at[port.name] for port, _ in steps), tuple(switches)))
            switches = [plan.switch_by_name[far] for far in dict.fromkeys(far for _, far in steps)]
    return (*tiers, Tier((plan.link_at[destination_nic],), tuple(switches)))


def _neighbours(plan: FabricPlan) -> Neighbours:
    switches = plan.switch_by_name
    return {
        switch.name: tuple((port, far) for port in switch.ports if (far := plan.far_end(port.name).node) in switches)
        for switch in plan.switches
    }


def _distances(neighbours: Neighbours, start: str) -> dict[str, int]:
    """Return the number of links from each switch to `start`."""
    distance, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for _, far in neighbours[here]:
            if far not in distance:
                distance[far] = distance[here] + 1
                queue.append(far)
    return distance
