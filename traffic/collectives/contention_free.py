"""The same program over an ideal fabric: what a collective would take if nobody were in its way.

Endpoints here deliver each message when `ideal_path` says that it can arrive at the earliest: packets have the exact
bytes of real frames, and serialisation, delays and latencies are those of the fabric, but every connection has its
links to itself, and there are no acknowledgements, no losses, no clear-to-sends and no other traffic. A NIC sends
messages in the order in which they were posted, where a real one lets its QPs take turns. A rank finishes a round no
earlier than its port can have carried all that was sent to it (`port_load`).

So the end of a program here is a lower bound on its end in any run, to the picosecond (`ideal_path` says why), if each
rank sends the messages of one connection in the same order in every run, and awaits them in that order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from testbed.engine.loop import EventLoop
from testbed.scenario.model import NvlinkOptions, TransportOptions
from testbed.units import serialisation_ps
from traffic.collectives.algorithm import Connection
from traffic.collectives.connection import parts_of
from traffic.collectives.endpoint import Receive
from traffic.collectives.ideal_path import IdealPath, Packets, PathTiming, smallest_way_ps
from traffic.collectives.memory import SETS
from traffic.collectives.port_load import PortLoad
from traffic.collectives.process import Mailbox, Sleep
from traffic.results import IdealMessage

_READY = -1


class IdealLink(Protocol):
    """What a connection is over the ideal fabric.

    `out_port`, `in_port`: which ports it goes through, and their rates in bit/s.
    """

    out_port: tuple[str, int]
    in_port: tuple[str, int]

    def arrival_ps(self, posted_ps: int, size: int) -> int:
        """Return when a message of `size` bytes arrives that is posted now."""

    def load(self, size: int) -> tuple[int, int, int]:
        """Return (bits on the wire, least way without the port out, least way without the port in) of a message."""


class RdmaPath:
    """Over the fabric, from one NIC to another (by name)."""

    def __init__(
        self, timing: PathTiming, nics: tuple[str, str], settings: TransportOptions, ip_version: int, spread: str
    ) -> None:
        self.out_port = nics[0], timing[0].rates_bps[0]
        self.in_port = nics[1], timing[-1].rates_bps[0]
        self._timing = timing
        self._mtu = settings.mtu
        self._ip_version = ip_version
        self._queue_pairs = settings.qps_per_connection
        self._splits = spread == "split" and self._queue_pairs > 1
        self._path = IdealPath(timing, self._queue_pairs)
        self._packets: dict[int, Packets] = {}

    def arrival_ps(self, posted_ps: int, size: int) -> int:
        if not self._splits:
            return self._path.arrival_ps(posted_ps, self._of(size))
        return self._path.split_arrival_ps(posted_ps, [self._of(part) for part in parts_of(size, self._queue_pairs)])

    def load(self, size: int) -> tuple[int, int, int]:
        sizes = parts_of(size, self._queue_pairs) if self._splits else [size]
        parts = [self._of(part) for part in sizes]
        smallest = min(part.smallest for part in parts)
        way_from_ps, way_to_ps = (smallest_way_ps(self._timing, smallest, without=port) for port in (0, -1))
        return sum(part.bits for part in parts), way_from_ps, way_to_ps

    def _of(self, size: int) -> Packets:
        packets = self._packets.get(size)
        if packets is None:
            packets = self._packets[size] = Packets(size, self._mtu, self._ip_version)
        return packets


class NvlinkPath:
    """Through the NVLink domain of a host, from one GPU's port to another's."""

    def __init__(self, options: NvlinkOptions, ports: tuple[str, str]) -> None:
        self.out_port = ports[0], options.rate
        self.in_port = ports[1], options.rate
        self._options = options
        self._free_ps = 0

    def arrival_ps(self, posted_ps: int, size: int) -> int:
        start = max(posted_ps, self._free_ps)
        self._free_ps = start + serialisation_ps(size, self._options.rate)
        return self._free_ps + self._options.latency

    def load(self, size: int) -> tuple[int, int, int]:
        return size * 8, self._options.latency, self._options.latency


class IdealEndpoint:
    """One rank over the ideal fabric; see `traffic.collectives.endpoint.Endpoint`."""

    __slots__ = ("_fabric", "_loop", "links", "mailbox", "rank", "sources")

    def __init__(self, fabric: IdealFabric, rank: int, loop: EventLoop) -> None:
        self.rank = rank
        self.links: dict[tuple[int, int], IdealLink] = {}
        self.sources: dict[int, None] = {}
        self.mailbox = Mailbox()
        self._fabric = fabric
        self._loop = loop

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
        channel: int = 0,
    ) -> None:
        link = self.links[peer, channel]
        self._fabric.carry(link, peer, step, size_bytes)
        arrival_ps = link.arrival_ps(self._loop.now, size_bytes)
        self._fabric.messages.append(IdealMessage(self.rank, peer, step, piece, self._loop.now, arrival_ps))
        self._loop.at(arrival_ps, self._fabric.endpoints[peer].mailbox.put, (self.rank, channel, step, piece))

    async def receive(self, peer: int, step: int, piece: int, channel: int = 0) -> None:
        await self.mailbox.get((peer, channel, step, piece), "data", step, piece)

    def sleep(self, duration_ps: int, what: str) -> Sleep:
        return Sleep(self._loop.now + duration_ps, what)

    async def begin(self, number: int, receives: Sequence[Receive]) -> None:  # noqa: ARG002 - leave is not needed
        if self._fabric.tells_readiness and number >= SETS:
            for peer in dict.fromkeys(peer for peer, _ in self.links):
                await self.mailbox.get((peer, _READY, number - SETS), "peer to be ready", number, 0)

    async def end(self, number: int) -> None:
        through_ps = self._fabric.received_ps(self.rank, number)
        if through_ps > self._loop.now:
            await Sleep(through_ps, "data")
        for source in self.sources if self._fabric.tells_readiness else ():
            self._fabric.endpoints[source].mailbox.put((self.rank, _READY, number))


class IdealFabric:
    """Endpoints of `ranks`, each connected as `links` says; a round has `steps`.

    `lanes`: that of each round, by number (none: all have one). The rounds of one lane come one after the other at
    every rank, in whatever run; those of different lanes may pass each other. `tells_readiness`: ranks wait for each
    other as `traffic.collectives.memory` has it. `messages`: all that were sent.
    """

    def __init__(
        self,
        loop: EventLoop,
        ranks: int,
        links: Mapping[Connection, IdealLink],
        *,
        steps: int = 1,
        lanes: Sequence[str] = (),
        tells_readiness: bool = False,
    ) -> None:
        self.endpoints = tuple(IdealEndpoint(self, rank, loop) for rank in range(ranks))
        self.tells_readiness = tells_readiness
        self.messages: list[IdealMessage] = []
        self._loop = loop
        self._steps = steps
        self._lanes = lanes
        self._received: dict[tuple[int, int], dict[str, PortLoad]] = {}
        self._received_before: dict[tuple[int, str, str], PortLoad] = {}
        self._by_port: dict[tuple[str, str], dict[int, PortLoad]] = {}
        for (source, destination, channel), link in links.items():
            self.endpoints[source].links[destination, channel] = link
            self.endpoints[destination].sources[source] = None

    def carry(self, link: IdealLink, peer: int, step: int, size: int) -> None:
        """Note what a message, posted now to rank `peer`, puts on the ports that it goes through."""
        bits, way_from_ps, way_to_ps = link.load(size)
        number = step // self._steps
        (out_name, out_bps), (in_name, in_bps) = link.out_port, link.in_port
        leaving = PortLoad(out_bps, self._loop.now, way_from_ps, bits)
        coming = PortLoad(in_bps, self._loop.now, way_to_ps, bits)
        _put(self._received.setdefault((peer, number), {}), in_name, coming)
        _put(self._by_port.setdefault(("out", out_name), {}), number, leaving)
        _put(self._by_port.setdefault(("in", in_name), {}), number, coming)

    def received_ps(self, rank: int, number: int) -> int:
        """Return when the rank's ports can have carried all that it received up to round `number`, at the earliest.

        Only the rounds of its lane count: what it received in others may come later in another run.
        """
        through_ps, lane = 0, self._lanes[number] if self._lanes else ""
        for port, load in self._received.pop((rank, number), {}).items():
            best = load.after(self._received_before.get((rank, port, lane)))
            self._received_before[rank, port, lane] = best
            through_ps = max(through_ps, best.through_ps)
        return through_ps

    @property
    def through_ps(self) -> int:
        """When all ports can have carried everything, at the earliest."""
        latest_ps = 0
        for by_round in self._by_port.values():
            load: PortLoad | None = None
            for number in sorted(by_round):
                load = by_round[number].after(load)
                latest_ps = max(latest_ps, load.through_ps)
        return latest_ps


_Key = TypeVar("_Key")


def _put(loads: dict[_Key, PortLoad], key: _Key, load: PortLoad) -> None:
    loads[key] = loads[key] + load if key in loads else load


def transfer_time_ps(
    message_bytes: Sequence[int], timing: PathTiming, settings: TransportOptions, ip_version: int
) -> int:
    """Return how long WRITEs with immediate, all posted at once, take with the fabric to themselves: from the post to
    the last packet's arrival."""
    path = IdealPath(timing, settings.qps_per_connection)
    return max(path.arrival_ps(0, Packets(message, settings.mtu, ip_version)) for message in message_bytes)
