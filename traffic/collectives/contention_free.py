"""The same algorithm over an ideal fabric: what a collective would take if nobody were in its way.

Endpoints here deliver each message when `ideal_path` says that it can arrive at the earliest: packets have the exact
bytes of real frames, and serialisation, delays and latencies are those of the fabric, but every connection has its
links to itself, and there are no acknowledgements, no losses and no other traffic. A NIC sends messages in the order
in which they were posted, where a real one lets its QPs take turns.

So the end of an algorithm here is a lower bound on its end in any run, to the picosecond (`ideal_path` says why), if
each rank awaits the messages of a peer in the order in which they were sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testbed.engine.loop import EventLoop
from testbed.scenario.model import TransportOptions
from traffic.collectives.ideal_path import IdealPath, Packets, PathTiming
from traffic.collectives.process import Mailbox, Sleep


class IdealEndpoint:
    """One rank over the ideal fabric; see `traffic.collectives.endpoint.Endpoint`."""

    __slots__ = ("_connections", "_fabric", "_loop", "_mailbox", "arrived", "rank")

    def __init__(self, fabric: IdealFabric, rank: int, loop: EventLoop) -> None:
        self.rank = rank
        self._fabric = fabric
        self._loop = loop
        self._mailbox = Mailbox()
        self._connections: dict[int, tuple[IdealEndpoint, IdealPath]] = {}
        self.arrived = self._mailbox.put

    @property
    def now(self) -> int:
        return self._loop.now

    def send(
        self,
        peer: int,
        step: int,
        piece: int,
        *,
        source_offset: int,  # noqa: ARG002 - an endpoint's signature; there is no memory here
        target_offset: int,  # noqa: ARG002
        size_bytes: int,
    ) -> None:
        target, path = self._connections[peer]
        arrival_ps = path.arrival_ps(self._loop.now, self._fabric.packets(size_bytes))
        self._loop.at(arrival_ps, target.arrived, (self.rank, step, piece))

    async def receive(self, peer: int, step: int, piece: int) -> None:
        await self._mailbox.get((peer, step, piece), "data", step, piece)

    def sleep(self, duration_ps: int, what: str) -> Sleep:
        return Sleep(self._loop.now + duration_ps, what)

    def connect(self, peer: int, target: IdealEndpoint, path: IdealPath) -> None:
        """Send to rank `peer`, which is `target`, on this path."""
        self._connections[peer] = target, path


class IdealFabric:
    """Endpoints of `ranks` NICs, connected by `paths`: from (source, destination) rank to the way between them."""

    def __init__(
        self,
        loop: EventLoop,
        ranks: int,
        paths: Mapping[tuple[int, int], PathTiming],
        settings: TransportOptions,
        ip_version: int,
    ) -> None:
        self.endpoints = tuple(IdealEndpoint(self, rank, loop) for rank in range(ranks))
        self._settings = settings
        self._ip_version = ip_version
        self._packets: dict[int, Packets] = {}
        for (source, destination), timing in paths.items():
            path = IdealPath(timing, settings.qps_per_connection)
            self.endpoints[source].connect(destination, self.endpoints[destination], path)

    def packets(self, size_bytes: int) -> Packets:
        """Return the packets of a message."""
        packets = self._packets.get(size_bytes)
        if packets is None:
            packets = self._packets[size_bytes] = Packets(size_bytes, self._settings.mtu, self._ip_version)
        return packets


def transfer_time_ps(
    message_bytes: Sequence[int], timing: PathTiming, settings: TransportOptions, ip_version: int
) -> int:
    """Return how long WRITEs with immediate, all posted at once, take with the fabric to themselves: from the post to
    the last packet's arrival."""
    path = IdealPath(timing, settings.qps_per_connection)
    return max(path.arrival_ps(0, Packets(message, settings.mtu, ip_version)) for message in message_bytes)
