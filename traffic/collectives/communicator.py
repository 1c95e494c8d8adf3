"""Ranks connected by RDMA, or by NVLink within a host: `send` writes into the peer's buffer, `receive` waits for that.

With admission, a message waits at its sender for the receiver's clear-to-send (`traffic.collectives.admission`). Where
rounds need it, ranks tell each other that they are ready for another one (`traffic.collectives.readiness`).

When a queue pair fails, everything that its collective does is over: `on_failure` is called with a text that says which
collective, rank, QP, peer, status and step, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from testbed.engine.loop import EventLoop
from testbed.scenario.collectives import Admission
from testbed.scenario.model import TransportOptions
from testbed.units import format_time
from traffic.collectives.admission import CLEAR_TO_SEND_BYTES, Gate
from traffic.collectives.algorithm import Connection
from traffic.collectives.connection import (
    ClearToSendLink,
    Link,
    NvlinkLink,
    QueuePairEnd,
    RdmaLink,
    join,
    parts_of,
)
from traffic.collectives.endpoint import Receive
from traffic.collectives.memory import SETS
from traffic.collectives.message_log import CLEAR, DATA, READY, Message, MessageLog
from traffic.collectives.process import Mailbox, Sleep
from traffic.collectives.readiness import Readiness
from traffic.nic import Nic, connect
from traffic.nic.segmentation import packet_count
from traffic.nic.verbs import MemoryRegion, WorkCompletion
from traffic.nvlink import NvlinkDomain

_READY = -1
"""In the key of a mailbox, in a channel's place: word that a rank is ready."""


@dataclass(frozen=True, slots=True)
class Member:
    """A rank before it is connected: its name, its NIC, its buffer's bytes (None: no memory behind it), and which GPU
    of which host it is."""

    name: str
    nic: Nic
    memory: memoryview | None
    host: str = ""
    local: int = 0


@dataclass(frozen=True, slots=True)
class Wiring:
    """How the ranks of a job are connected.

    `source_port(source, destination)` gives each QP its UDP source port. `domains` are the hosts' NVLink domains.
    """

    transport: TransportOptions
    source_port: Callable[[Nic, Nic], int]
    spread: str = "round-robin"
    admission: Admission | None = None
    domains: Mapping[str, NvlinkDomain] = field(default_factory=dict)

    def domain_of(self, source: Member, destination: Member) -> NvlinkDomain | None:
        """Return the NVLink domain that two ranks share; None if they talk through their NICs."""
        return self.domains.get(source.host) if source.host == destination.host else None

    def parts(self, size: int) -> list[int]:
        """Return the bytes of each write that carries a message of `size` bytes over RDMA."""
        queue_pairs = self.transport.qps_per_connection
        return parts_of(size, queue_pairs) if self.spread == "split" and queue_pairs > 1 else [size]

    def packets(self, size: int) -> int:
        """Return how many packets a message of `size` bytes takes over RDMA, with the one that clears it, if any."""
        data = sum(packet_count(part, self.transport.mtu) for part in self.parts(size))
        return data + (self.admission is not None)


class _Channel:
    """One connection between two ranks. With a `gate` its messages wait for clear-to-sends, whose `lane` is given."""

    __slots__ = ("_cleared", "_communicator", "_pending", "connection", "gate", "grants", "link")

    def __init__(self, communicator: Communicator, connection: Connection, link: Link) -> None:
        self.connection = connection
        self.link = link
        self.gate: Gate | None = None
        self.grants: ClearToSendLink | None = None
        self._communicator = communicator
        self._pending: dict[tuple[int, int], Message] = {}
        self._cleared: set[tuple[int, int]] = set()

    def send(self, message: Message) -> None:
        """Send a message, at once or when it is cleared."""
        if self.gate is None:
            self.link.post(message)
            return
        which = message.step, message.piece
        if which in self._cleared:
            self._cleared.remove(which)
            message.granted_ps = message.posted_ps
            self.link.post(message)
        else:
            self._pending[which] = message

    def give(self, step: int, piece: int) -> None:
        """The receiver clears a message (`traffic.collectives.admission.Clearable`)."""
        assert self.grants is not None
        source, destination, channel = self.connection
        self.grants.post(self._communicator.say(CLEAR, destination, source, channel, step, piece, CLEAR_TO_SEND_BYTES))

    def cleared(self, clear: Message) -> None:
        """A clear-to-send has come to the sender."""
        which = clear.step, clear.piece
        message = self._pending.pop(which, None)
        if message is None:
            self._cleared.add(which)
        else:
            message.granted_ps = self._communicator.now
            self.link.post(message)

    def close(self) -> None:
        self.link.close()
        if self.grants is not None:
            self.grants.close()
        if self.gate is not None:
            self.gate.forget(self)


class RankEndpoint:
    """One rank of a communicator; see `traffic.collectives.endpoint.Endpoint`."""

    __slots__ = ("_communicator", "_loop", "channels", "mailbox", "name", "rank", "received_bytes", "region", "slot")

    def __init__(self, communicator: Communicator, rank: int, name: str, region: MemoryRegion, loop: EventLoop) -> None:
        self.rank = rank
        self.name = name
        self.region = region
        self.slot: MemoryRegion | None = None
        self.received_bytes = 0
        self.mailbox = Mailbox()
        self.channels: dict[tuple[int, int], _Channel] = {}
        self._communicator = communicator
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
        source_offset: int,
        target_offset: int,
        size_bytes: int,
        channel: int = 0,
    ) -> None:
        message = Message(
            self.rank,
            peer,
            channel,
            step,
            piece,
            posted_ps=self._loop.now,
            size=size_bytes,
            source_offset=source_offset,
            target_offset=target_offset,
        )
        self._communicator.posted(message)
        self.channels[peer, channel].send(message)

    async def receive(self, peer: int, step: int, piece: int, channel: int = 0) -> None:
        name = self._communicator.endpoints[peer].name
        await self.mailbox.get((peer, channel, step, piece), f"data from {name}", step, piece)

    def sleep(self, duration_ps: int, what: str) -> Sleep:
        return Sleep(self._loop.now + duration_ps, what)

    async def begin(self, number: int, receives: Sequence[Receive]) -> None:
        communicator = self._communicator
        if communicator.readiness is not None and number >= SETS:
            for peer in dict.fromkeys(peer for peer, _ in self.channels):
                what = f"{communicator.endpoints[peer].name} to be ready"
                await self.mailbox.get((peer, _READY, number - SETS), what, number, 0)
        communicator.expect(
            (Connection(peer, self.rank, channel), step, piece) for peer, channel, step, piece in receives
        )

    async def end(self, number: int) -> None:
        if self._communicator.readiness is not None:
            self._communicator.readiness.finished(self.rank, number)


class Communicator:
    """Connects ranks for one job, named `name` in errors.

    `endpoints` are by rank; `log` has all messages; `outstanding` counts those that are not acknowledged yet;
    `on_settled` is called whenever it has become 0. `gates` are the receiving ranks', by rank: those given, or with
    admission one for each rank that receives.
    """

    def __init__(
        self,
        name: str,
        members: Sequence[Member],
        buffer_bytes: int,
        loop: EventLoop,
        wiring: Wiring,
        gates: Mapping[int, Gate] | None = None,
    ) -> None:
        self.name = name
        self.outstanding = 0
        self.log = MessageLog()
        self.readiness: Readiness | None = None
        self.gates: dict[int, Gate] = dict(gates or {})
        self.on_failure: Callable[[str], None] = _raise
        self.on_settled: Callable[[], None] = _nothing
        self._members = members
        self._loop = loop
        self._wiring = wiring
        self._channels: dict[Connection, _Channel] = {}
        self._failed = False
        self.endpoints = tuple(
            RankEndpoint(self, rank, member.name, member.nic.register(buffer_bytes, member.memory), loop)
            for rank, member in enumerate(members)
        )

    @property
    def now(self) -> int:
        """Model time in picoseconds."""
        return self._loop.now

    # --- connecting ---------------------------------------------------------------------------------------------------

    def connect(self, source: int, destination: int, channel: int = 0) -> None:
        """Make a connection on which rank `source` sends to rank `destination`."""
        connection = Connection(source, destination, channel)
        here, there = self._members[source], self._members[destination]
        domain = self._wiring.domain_of(here, there)
        if domain is not None:
            gpus = here.local, there.local
            made = _Channel(self, connection, NvlinkLink(self, domain, gpus, here.memory, there.memory))
        else:
            made = self._over_rdma(connection)
        self._channels[connection] = self.endpoints[source].channels[destination, channel] = made

    def _over_rdma(self, connection: Connection) -> _Channel:
        source, destination, _ = connection
        near, far = self.endpoints[source].region, self.endpoints[destination].region
        ends = [self._queue_pair(source, destination, self._wiring.transport) for _ in range(self._queue_pairs)]
        channel = _Channel(self, connection, RdmaLink(ends, self._wiring.spread, near, far))
        if self._wiring.admission is not None:
            self._admit(channel, self._wiring.admission)
        return channel

    @property
    def _queue_pairs(self) -> int:
        return self._wiring.transport.qps_per_connection

    def _queue_pair(self, source: int, destination: int, settings: TransportOptions) -> QueuePairEnd:
        """Return the source's end of a new queue pair, whose other end listens."""
        nics = self._members[source].nic, self._members[destination].nic
        near, far = connect(*nics, settings, self._wiring.source_port(*nics))
        near.owner = far.owner = self
        end = join(QueuePairEnd(self, near, source, destination), QueuePairEnd(self, far, destination, source))
        end.other.listen()
        return end

    def _admit(self, channel: _Channel, admission: Admission) -> None:
        """Let the messages of a channel wait for clear-to-sends, on a queue pair of their own."""
        source, destination, _ = channel.connection
        settings = self._wiring.transport.model_copy(update={"traffic_class": admission.traffic_class})
        end = self._queue_pair(destination, source, settings)
        channel.gate = self.gates.setdefault(destination, Gate(admission.outstanding))
        channel.grants = ClearToSendLink(end, self._slot(destination), self._slot(source))

    def _slot(self, rank: int) -> MemoryRegion:
        endpoint = self.endpoints[rank]
        if endpoint.slot is None:
            endpoint.slot = self._members[rank].nic.register(CLEAR_TO_SEND_BYTES)
        return endpoint.slot

    def tell_readiness(self, steps: int, rounds: int) -> None:
        """Let ranks tell those who send to them when they are ready for another round. Call when all is connected."""
        self.readiness = Readiness(steps, rounds, self._tell_ready)
        for channel in self._channels.values():
            channel.link.listen()

    # --- what ranks do ------------------------------------------------------------------------------------------------

    def expect(self, messages: Iterable[tuple[Connection, int, int]], lane: Hashable = None) -> None:
        """Receivers are going to receive these messages (step and piece of a connection): they may be cleared in turn,
        once all who expect something now have said so.

        Messages of one `lane` (none: all of the receiver's) are cleared in the order in which they are expected.
        """
        gates: dict[Gate, None] = {}
        for connection, step, piece in messages:
            channel = self._channels[connection]
            if channel.gate is not None:
                channel.gate.expect(lane, channel, step, piece)
                gates[channel.gate] = None
        for gate in gates:
            self._loop.at(self.now, gate.clear)

    def posted(self, message: Message) -> None:
        """A rank has a message to send."""
        self.outstanding += 1
        self.log.add(message)
        if self.readiness is not None and message.kind == DATA:
            self.readiness.posted(message.source, message.step)

    def say(
        self, kind: str, source: int, destination: int, channel: int, step: int, piece: int, size: int = 0
    ) -> Message:
        """Return a message, to be sent now, that carries no data of `source`'s."""
        message = Message(source, destination, channel, step, piece, posted_ps=self.now, size=size, kind=kind)
        self.posted(message)
        return message

    def _tell_ready(self, rank: int, number: int) -> None:
        """The rank is ready for round `number` + 2: every rank that sends to it may know."""
        sources: set[int] = set()
        for (source, destination, channel), made in self._channels.items():
            if destination == rank and source not in sources:
                sources.add(source)
                made.link.tell(self.say(READY, rank, source, channel, number, 0))

    # --- what connections tell (`traffic.collectives.connection.Owner`) -----------------------------------------------

    def arrived(self, message: Message) -> None:
        message.arrived_ps = self.now
        mailbox = self.endpoints[message.destination].mailbox
        if message.kind == READY:
            mailbox.put((message.source, _READY, message.step))
        elif message.kind == CLEAR:
            self._channels[Connection(message.destination, message.source, message.channel)].cleared(message)
        else:
            channel = self._channels[Connection(message.source, message.destination, message.channel)]
            if channel.gate is not None:
                channel.gate.arrived(channel)
            self.endpoints[message.destination].received_bytes += message.size
            mailbox.put((message.source, message.channel, message.step, message.piece))

    def acknowledged(self, message: Message) -> None:
        self.outstanding -= 1
        if self.readiness is not None and message.kind == DATA:
            self.readiness.acknowledged(message.source, message.step)
        if self.outstanding == 0:
            self.on_settled()

    def failed(self, rank: int, peer: int, completion: WorkCompletion, doing: str) -> None:
        """The first failure is the reason, the rest follows."""
        if self._failed:
            return
        self._failed = True
        here, there = self.endpoints[rank].name, self.endpoints[peer].name
        qp, status = completion.queue_pair, completion.status.value
        text = (
            f"{self.name} died at {format_time(self._loop.now, 6)} of model time: "
            f"rank {rank} ({here}), QP {qp} {doing} rank {peer} ({there}): {status}"
        )
        self.close()
        self.on_failure(text)

    def close(self) -> None:
        """Give all connections up; nothing of this job is sent any more."""
        self._failed = True
        for channel in self._channels.values():
            channel.close()


def _raise(text: str) -> None:
    raise RuntimeError(text)


def _nothing() -> None:
    """Nobody wants to know when everything is acknowledged."""
