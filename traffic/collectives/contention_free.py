"""The same algorithm over an ideal fabric: what a collective would take if nobody were in its way.

Each message sees the serialisation of its own NIC (packet by packet, QPs of one rank in turn as in `traffic.nic.nic`),
and on its path each link's serialisation and delay and each switch's latency, store and forward. Every connection has
its path to itself, so a packet waits only behind earlier ones of the same connection, at the slowest link. There are no
acknowledgements, no losses and no other traffic. Packets have the exact bytes of real frames.

    a packet that leaves the NIC's wire at t arrives at t + delay; then, for each further link,
    start = max(arrival + switch latency, link free), arrival = start + serialisation + delay

Known limits: of equal-cost paths one is taken; with unequal rates or delays among them a real run may differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from testbed.engine.frame import wire_bytes
from testbed.engine.loop import EventLoop
from testbed.fabric.paths import shortest_path
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import TransportOptions
from testbed.units import serialisation_ps
from traffic.collectives.process import Mailbox, Sleep
from traffic.nic.segmentation import write_frames


@dataclass(frozen=True, slots=True)
class PathTiming:
    """What a path does to a packet: its links as (rate in bit/s, delay in ps), and the latencies between them in ps."""

    links: tuple[tuple[int, int], ...]
    latencies: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.latencies) != len(self.links) - 1:
            raise ValueError(f"expected {len(self.links) - 1} switches between links, found {len(self.latencies)}")


def path_timing(plan: FabricPlan, source_nic: str, destination_nic: str) -> PathTiming:
    """Return the timing of a shortest path between two NICs."""
    path = shortest_path(plan, source_nic, destination_nic)
    links = tuple((link.rate_bps, link.delay_ps) for link in path.links)
    return PathTiming(links, tuple(switch.latency_ps for switch in path.switches))


class IdealPath:
    """One connection's way through the fabric, with every link to itself."""

    __slots__ = ("_delay_ps", "_free_at", "_hops", "rate_bps")

    def __init__(self, timing: PathTiming) -> None:
        self.rate_bps, self._delay_ps = timing.links[0]
        further = zip(timing.links[1:], timing.latencies, strict=True)
        self._hops = tuple((latency, rate, delay) for (rate, delay), latency in further)
        self._free_at = [0] * len(self._hops)

    def arrival_ps(self, left_nic_ps: int, size_bytes: int) -> int:
        """Return when a packet of `size_bytes` on the wire, whose last bit leaves the NIC at `left_nic_ps`, has
        arrived.
        """
        at = left_nic_ps + self._delay_ps
        for hop, (latency_ps, rate_bps, delay_ps) in enumerate(self._hops):
            start = max(at + latency_ps, self._free_at[hop])
            self._free_at[hop] = end = start + serialisation_ps(size_bytes, rate_bps)
            at = end + delay_ps
        return at


class IdealConnection:
    """The messages from one rank to another on one QP, waiting for their turn on the NIC's wire."""

    __slots__ = ("key", "messages", "packets", "path", "target")

    def __init__(self, path: IdealPath, target: IdealEndpoint) -> None:
        self.path = path
        self.target = target
        self.messages: deque[tuple[tuple[int, ...], tuple[int, ...]]] = deque()  # (key, sizes of its packets)
        self.packets: deque[int] = deque()
        self.key: tuple[int, ...] = ()

    def next_packet(self) -> int:
        """Return the wire bytes of the next packet of the oldest message."""
        if not self.packets:
            self.key, sizes = self.messages.popleft()
            self.packets.extend(sizes)
        return self.packets.popleft()

    @property
    def has_packets(self) -> bool:
        return bool(self.packets or self.messages)


class IdealNic:
    """A NIC whose only limit is its wire: connections with packets take turns, one packet each."""

    __slots__ = ("_busy", "_loop", "_ring", "_sent_handler")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._ring: deque[IdealConnection] = deque()
        self._busy = False
        self._sent_handler = self._sent

    def post(self, connection: IdealConnection, key: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        """Send a message of packets with these wire bytes."""
        if not connection.has_packets:
            self._ring.append(connection)
        connection.messages.append((key, sizes))
        if not self._busy:
            self._send_next()

    def _send_next(self) -> None:
        self._busy = bool(self._ring)
        if not self._busy:
            return
        connection = self._ring.popleft()
        size = connection.next_packet()
        sent_at = self._loop.now + serialisation_ps(size, connection.path.rate_bps)
        arrival = connection.path.arrival_ps(sent_at, size)
        if not connection.packets:
            self._loop.at(arrival, connection.target.arrived, connection.key)
        if connection.has_packets:
            self._ring.append(connection)
        self._loop.at(sent_at, self._sent_handler)

    def _sent(self, _nothing: None) -> None:
        self._send_next()


class IdealEndpoint:
    """One rank over the ideal fabric; see `traffic.collectives.endpoint.Endpoint`."""

    __slots__ = ("_connections", "_fabric", "_loop", "_mailbox", "_nic", "_turn", "arrived", "rank")

    def __init__(self, fabric: IdealFabric, rank: int, nic: IdealNic, loop: EventLoop) -> None:
        self.rank = rank
        self._fabric = fabric
        self._nic = nic
        self._loop = loop
        self._mailbox = Mailbox()
        self._connections: dict[int, list[IdealConnection]] = {}
        self._turn: dict[int, int] = {}
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
        connections = self._connections[peer]
        turn = self._turn[peer]
        self._turn[peer] = (turn + 1) % len(connections)
        self._nic.post(connections[turn], (self.rank, step, piece), self._fabric.packet_sizes(size_bytes))

    async def receive(self, peer: int, step: int, piece: int) -> None:
        await self._mailbox.get((peer, step, piece), "data", step, piece)

    def sleep(self, duration_ps: int, what: str) -> Sleep:
        return Sleep(self._loop.now + duration_ps, what)

    def connect(self, peer: int, target: IdealEndpoint, timing: PathTiming, queue_pairs: int) -> None:
        """Send to rank `peer` on this many QPs in turn."""
        path = IdealPath(timing)
        self._connections[peer] = [IdealConnection(path, target) for _ in range(queue_pairs)]
        self._turn[peer] = 0


class IdealFabric:
    """Endpoints of `ranks` NICs, connected by `paths`: from (source, destination) rank to the path between them."""

    def __init__(
        self,
        loop: EventLoop,
        ranks: int,
        paths: Mapping[tuple[int, int], PathTiming],
        settings: TransportOptions,
        ip_version: int,
    ) -> None:
        self.endpoints = tuple(IdealEndpoint(self, rank, IdealNic(loop), loop) for rank in range(ranks))
        self._settings = settings
        self._ip_version = ip_version
        self._sizes: dict[int, tuple[int, ...]] = {}
        for (source, destination), timing in paths.items():
            target = self.endpoints[destination]
            self.endpoints[source].connect(destination, target, timing, settings.qps_per_connection)

    def packet_sizes(self, size_bytes: int) -> tuple[int, ...]:
        """Return the wire bytes of the packets of a WRITE with immediate."""
        sizes = self._sizes.get(size_bytes)
        if sizes is None:
            frames = write_frames(size_bytes, self._settings.mtu, self._ip_version, immediate=True)
            sizes = self._sizes[size_bytes] = tuple(wire_bytes(frame) for frame in frames.sizes())
        return sizes


def transfer_time_ps(
    message_bytes: Sequence[int], timing: PathTiming, settings: TransportOptions, ip_version: int
) -> int:
    """Return how long WRITEs with immediate, posted at once on one QP, take with the fabric to themselves: from the
    post to the last packet's arrival."""
    path = IdealPath(timing)
    sent = arrival = 0
    for message in message_bytes:
        for frame in write_frames(message, settings.mtu, ip_version, immediate=True).sizes():
            size = wire_bytes(frame)
            sent += serialisation_ps(size, path.rate_bps)
            arrival = path.arrival_ps(sent, size)
    return arrival
