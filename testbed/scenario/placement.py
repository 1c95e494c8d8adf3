"""Which hosts and GPUs the ranks of a work are on.

A rank is a GPU of a host: `h3` is the only one there that takes part, `h3.1` the one with local number 1 (`h3` alone is
local number 0). Local rank g uses the host's NIC g modulo its number of NICs, so rank g of every host is on one rail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from testbed.fabric.plan import FabricPlan, Nic
from testbed.scenario.collectives import LOCAL_RANKS, Counted, Ranks


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank before it runs: its name, its host's name, and which of the host's GPUs it is."""

    name: str
    host: str
    local: int

    def nic(self, plan: FabricPlan) -> Nic:
        """Return the NIC that the rank uses."""
        nics = plan.host_by_name[self.host].nics
        return nics[self.local % len(nics)]


def rank_named(name: str) -> Rank | None:
    """Return the rank called `name` (``h0``, ``h0.3``); None for what cannot be a rank's name."""
    host, dot, local = name.partition(".")
    if not dot:
        return Rank(name, host, 0)
    if not (local.isascii() and local.isdigit()) or str(int(local)) != local or int(local) >= LOCAL_RANKS:
        return None
    return Rank(name, host, int(local))


def ranks_of(ranks: Ranks, plan: FabricPlan, seed: int) -> tuple[Rank, ...]:
    """Return the ranks that a checked work names or counts; `seed` is the scenario's."""
    if isinstance(ranks, Counted):
        return _counted(ranks, plan, seed)
    names = [host.name for host in plan.hosts] if ranks == "all" else ranks
    return tuple(rank for rank in map(rank_named, names) if rank is not None)


def room_for(ranks: Counted, plan: FabricPlan) -> int:
    """Return how many ranks the hosts that are not skipped have room for."""
    return max(0, len(plan.hosts) - ranks.skip) * ranks.per_host


def _counted(ranks: Counted, plan: FabricPlan, seed: int) -> tuple[Rank, ...]:
    hosts = _order(ranks, [host.name for host in plan.hosts], seed)[ranks.skip :]
    places = [
        Rank(host if ranks.per_host == 1 else f"{host}.{local}", host, local)
        for host in hosts
        for local in range(ranks.per_host)
    ]
    return tuple(places[: ranks.count])


def _order(ranks: Counted, hosts: Sequence[str], seed: int) -> list[str]:
    if ranks.placement == "packed":
        return list(hosts)
    if ranks.placement == "strided":
        return [host for first in range(ranks.stride) for host in hosts[first :: ranks.stride]]
    shuffled = list(hosts)
    Random(f"placement {seed}").shuffle(shuffled)
    return shuffled
