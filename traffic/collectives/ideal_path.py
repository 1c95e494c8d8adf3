"""The earliest that the messages of a connection can arrive, whatever else happens: a lower bound on every run.

A path crosses tiers of links: the NIC's own link first, the destination's last, equal-cost links side by side between
them. A message cannot arrive before either of these allows it:

1. **Its queue pair alone.** ECMP keeps a QP to one link of each tier, so its packets follow each other over a path of
   the fastest links, store and forward:

       start = max(arrival + switch latency, link free), arrival = start + serialisation + delay

2. **Each tier alone.** A connection has in each tier the sum of the rates of the equal-cost links, but of no more
   links than it has QPs. All bits of its messages since the tier was last free must pass at that capacity. Until the
   first packet comes to the tier, and after the last has left it, a packet crosses all other tiers, each at one link's
   rate; the smallest packet is taken, since which is first or last depends on the NIC's turns:

       arrival = posted + latencies + delays + serialisation of a packet on each other tier + bits / capacity

   The first tier is one link, so no more than the NIC's rate gets through however many links there are behind it.

The arrival is the later of the two. With one QP this is the very time of a run without other traffic.

Why this is a lower bound. Every run obeys 1, since packets of a QP are accepted in order, and no link takes less time
than the fastest of its tier. Every run obeys 2 for the *last* to arrive of the messages posted so far, in whatever
order their packets go. Both stay true when messages are posted later. So if each rank awaits a peer's messages in the
order in which they were sent, then, message by message, no rank of a run is ahead of the same rank here. Times are
rounded only as a wire rounds them, or down, so the bound is exact to the picosecond: ideal <= time.

A message that is split over the QPs is one part on each of them; rule 1 holds for every part.

Known limits: routes that change under a QP, or spread its packets, break 1 by up to a packet's serialisation each time.
A NIC that sends to several peers, or receives from several, has its link to itself for each here; what its link can
carry in all is a bound of its own (`traffic.collectives.port_load`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.engine.frame import wire_bytes
from testbed.fabric.paths import equal_cost_tiers
from testbed.fabric.plan import FabricPlan
from testbed.units import SECOND, serialisation_ps
from traffic.nic.segmentation import write_frames


@dataclass(frozen=True, slots=True)
class TierTiming:
    """What a tier does to a packet: the rates of its links in bit/s, fastest first, their shortest delay, and the
    shortest latency of the switches before them (0 for the NIC's link), in ps.
    """

    rates_bps: tuple[int, ...]
    delay_ps: int
    latency_ps: int = 0

    def capacity_bps(self, queue_pairs: int) -> int:
        """Return the rate at which this many QPs can cross the tier together."""
        return sum(self.rates_bps[:queue_pairs])


PathTiming = tuple[TierTiming, ...]
"""The tiers from a NIC to another."""


def path_timing(plan: FabricPlan, source_nic: str, destination_nic: str) -> PathTiming:
    """Return the timing of the shortest paths between two NICs (by name)."""
    return tuple(
        TierTiming(
            tuple(sorted((link.rate_bps for link in tier.links), reverse=True)),
            min(link.delay_ps for link in tier.links),
            min((switch.latency_ps for switch in tier.switches), default=0),
        )
        for tier in equal_cost_tiers(plan, source_nic, destination_nic)
    )


class Packets:
    """The packets of a WRITE with immediate of `length` bytes: `sizes` in bytes on the wire, in order."""

    __slots__ = ("bits", "sizes", "smallest")

    def __init__(self, length: int, mtu: int, ip_version: int) -> None:
        frames = write_frames(length, mtu, ip_version, immediate=True)
        self.sizes = tuple(wire_bytes(frame) for frame in frames.sizes())
        self.bits = sum(self.sizes) * 8
        self.smallest = min(self.sizes)


class _QueuePairAlone:
    """Rule 1: one QP, its packets one behind the other on the fastest links."""

    __slots__ = ("_free_at", "_hops")

    def __init__(self, timing: PathTiming) -> None:
        self._hops = tuple((tier.latency_ps, tier.rates_bps[0], tier.delay_ps) for tier in timing)
        self._free_at = [0] * len(timing)

    def arrival_ps(self, posted_ps: int, sizes: Sequence[int]) -> int:
        """Return when the last packet of a message arrives that is posted now, behind the earlier ones of its QP."""
        free_at = self._free_at
        at = posted_ps
        for size in sizes:
            at = posted_ps
            for hop, (latency_ps, rate_bps, delay_ps) in enumerate(self._hops):
                start = max(at + latency_ps, free_at[hop])
                free_at[hop] = end = start + serialisation_ps(size, rate_bps)
                at = end + delay_ps
        return at


class _TierAlone:
    """Rule 2: all messages of a connection through one of its tiers."""

    __slots__ = ("_bits", "_capacity_bps", "_other_rates_bps", "_since_ps", "_smallest", "_way_ps")

    def __init__(self, timing: PathTiming, number: int, queue_pairs: int) -> None:
        self._capacity_bps = timing[number].capacity_bps(queue_pairs)
        self._other_rates_bps = [tier.rates_bps[0] for tier in (*timing[:number], *timing[number + 1 :])]
        self._way_ps = sum(tier.latency_ps + tier.delay_ps for tier in timing)
        self._since_ps = self._bits = self._smallest = 0

    def arrival_ps(self, posted_ps: int, packets: Packets) -> int:
        """Return when the last of the messages so far can have arrived, `packets` being posted now."""
        if (posted_ps - self._since_ps) * self._capacity_bps >= self._bits * SECOND:  # free again: a new busy period
            self._since_ps, self._bits, self._smallest = posted_ps, 0, packets.smallest
        self._bits += packets.bits
        self._smallest = min(self._smallest, packets.smallest)
        through_ps = self._bits * SECOND // self._capacity_bps
        others_ps = sum(serialisation_ps(self._smallest, rate_bps) for rate_bps in self._other_rates_bps)
        return self._since_ps + self._way_ps + others_ps + through_ps


def smallest_way_ps(timing: PathTiming, smallest: int, *, without: int) -> int:
    """Return the least time that a packet of `smallest` bytes takes for all of a path but the serialisation in the
    tier `without`."""
    others = (tier for number, tier in enumerate(timing) if number != without % len(timing))
    way_ps = sum(tier.latency_ps + tier.delay_ps for tier in timing)
    return way_ps + sum(serialisation_ps(smallest, tier.rates_bps[0]) for tier in others)


class IdealPath:
    """One connection's way through the fabric, with every link to itself. Messages take its QPs in turn, or are split
    over all of them."""

    __slots__ = ("_queue_pairs", "_tiers", "_turn")

    def __init__(self, timing: PathTiming, queue_pairs: int) -> None:
        self._queue_pairs = [_QueuePairAlone(timing) for _ in range(queue_pairs)]
        self._tiers = [_TierAlone(timing, number, queue_pairs) for number in range(len(timing))]
        self._turn = 0

    def arrival_ps(self, posted_ps: int, packets: Packets) -> int:
        """Return when a message arrives that is posted at `posted_ps`, not before those posted so far."""
        queue_pair = self._queue_pairs[self._turn]
        self._turn = (self._turn + 1) % len(self._queue_pairs)
        alone_ps = queue_pair.arrival_ps(posted_ps, packets.sizes)
        return max(alone_ps, *(tier.arrival_ps(posted_ps, packets) for tier in self._tiers))

    def split_arrival_ps(self, posted_ps: int, parts: Sequence[Packets]) -> int:
        """Return when the last part of a message arrives that has a part for each QP."""
        arrivals_ps = [
            queue_pair.arrival_ps(posted_ps, part.sizes)
            for queue_pair, part in zip(self._queue_pairs, parts, strict=True)
        ]
        for part in parts:
            arrivals_ps += [tier.arrival_ps(posted_ps, part) for tier in self._tiers]
        return max(arrivals_ps)
