"""Ranks connected by RDMA: `send` is a WRITE with immediate into the peer's buffer, `receive` waits for that immediate
value.

The immediate value names step and piece, so messages of one connection may travel on several QPs and arrive in any
order. Messages are spread over a connection's QPs in turn, whole, as NCCL does by default. A write with immediate uses
up a posted receive at the peer: each QP has one, replaced the moment it is used.

When a QP fails, everything that its collective does is over: `on_failure` is called with a text that says which
collective, rank, QP, peer, status and step, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from testbed.engine.loop import EventLoop
from testbed.scenario.limits import MAXIMUM_PIECES
from testbed.scenario.model import TransportOptions
from testbed.units import format_time
from traffic.collectives.process import Mailbox, Sleep
from traffic.nic import Nic, connect
from traffic.nic.queue_pair import QueuePair
from traffic.nic.verbs import MemoryRegion, ReceiveRequest, SendRequest, WcStatus, WorkCompletion, WorkOpcode

_PIECE_BITS = MAXIMUM_PIECES.bit_length() - 1
_STEPS = 1 << (32 - _PIECE_BITS)

_ANY_RECEIVE = ReceiveRequest(work_id=0)
"""A receive without a buffer: what a write with immediate uses up."""


def immediate_value(step: int, piece: int) -> int:
    """Return the immediate value of a piece: its number in the lower 20 bits, the step modulo 4096 above."""
    return (step % _STEPS) << _PIECE_BITS | piece


@dataclass(frozen=True, slots=True)
class Member:
    """A rank before it is connected: its host's name, its NIC, and its buffer's bytes (None: no memory behind it)."""

    name: str
    nic: Nic
    memory: memoryview | None


class RankEndpoint:
    """One rank over RDMA; see `traffic.collectives.endpoint.Endpoint`."""

    __slots__ = ("_communicator", "_loop", "_mailbox", "_queue_pairs", "name", "rank", "region")

    def __init__(self, communicator: Communicator, rank: int, name: str, region: MemoryRegion, loop: EventLoop) -> None:
        self.rank = rank
        self.name = name
        self.region = region
        self._communicator = communicator
        self._loop = loop
        self._mailbox = Mailbox()
        self._queue_pairs: dict[int, Iterator[QueuePair]] = {}

    @property
    def now(self) -> int:
        return self._loop.now

    def send(
        self, peer: int, step: int, piece: int, *, source_offset: int, target_offset: int, size_bytes: int
    ) -> None:
        target = self._communicator.endpoints[peer].region
        value = immediate_value(step, piece)
        request = SendRequest(
            work_id=step << _PIECE_BITS | piece,
            opcode=WorkOpcode.RDMA_WRITE,
            region=self.region,
            offset=source_offset,
            length=size_bytes,
            remote_address=target.address + target_offset,
            rkey=target.rkey,
            immediate=value,
        )
        self._communicator.outstanding += 1
        next(self._queue_pairs[peer]).post_send(request)

    async def receive(self, peer: int, step: int, piece: int) -> None:
        key = (peer, immediate_value(step, piece))
        await self._mailbox.get(key, f"data from {self._communicator.endpoints[peer].name}", step, piece)

    def sleep(self, duration_ps: int, what: str) -> Sleep:
        return Sleep(self._loop.now + duration_ps, what)

    def use(self, peer: int, queue_pairs: Sequence[QueuePair]) -> None:
        """Send to `peer` on these QPs in turn."""
        self._queue_pairs[peer] = cycle(queue_pairs)

    def arrived(self, peer: int, immediate: int) -> None:
        """A piece from `peer` is in the buffer."""
        self._mailbox.put((peer, immediate))


class Communicator:
    """Connects ranks for one collective, named `name` in errors.

    `source_port(source, destination)` gives each QP its UDP source port. `endpoints` are by rank; `outstanding` counts
    messages that are not acknowledged yet; `on_settled` is called whenever it has become 0.
    """

    def __init__(
        self,
        name: str,
        members: Sequence[Member],
        buffer_bytes: int,
        loop: EventLoop,
        settings: TransportOptions,
        source_port: Callable[[Nic, Nic], int],
    ) -> None:
        self.name = name
        self.outstanding = 0
        self.on_failure: Callable[[str], None] = _raise
        self.on_settled: Callable[[], None] = _nothing
        self._members = members
        self._loop = loop
        self._settings = settings
        self._source_port = source_port
        self._ends: list[QueuePair] = []
        self._failed = False
        self.endpoints = tuple(
            RankEndpoint(self, rank, member.name, member.nic.register(buffer_bytes, member.memory), loop)
            for rank, member in enumerate(members)
        )

    def connect(self, source: int, destination: int) -> None:
        """Make the connection on which rank `source` sends to rank `destination`."""
        source_nic, destination_nic = self._members[source].nic, self._members[destination].nic
        queue_pairs = []
        for _ in range(self._settings.qps_per_connection):
            port = self._source_port(source_nic, destination_nic)
            near, far = connect(source_nic, destination_nic, self._settings, port)
            near.on_completion = _SendCompletions(self, source, destination)
            far.on_completion = _Arrivals(self, far, source, destination)
            far.post_receive(_ANY_RECEIVE)
            queue_pairs.append(near)
            self._ends += (near, far)
        self.endpoints[source].use(destination, queue_pairs)

    def sent(self) -> None:
        """A message has been acknowledged."""
        self.outstanding -= 1
        if self.outstanding == 0:
            self.on_settled()

    def fail(self, rank: int, peer: int, completion: WorkCompletion, doing: str) -> None:
        """A completion of `rank`'s QP to or from `peer` says that it failed. The first one is the reason, the rest
        follows.
        """
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
        """Give all connections up; nothing of this collective is sent any more."""
        self._failed = True
        for qp in self._ends:
            qp.close()


class _SendCompletions:
    """Handles the completions of a sending QP."""

    __slots__ = ("_communicator", "_destination", "_source")

    def __init__(self, communicator: Communicator, source: int, destination: int) -> None:
        self._communicator = communicator
        self._source = source
        self._destination = destination

    def __call__(self, completion: WorkCompletion) -> None:
        if completion.status is WcStatus.SUCCESS:
            self._communicator.sent()
            return
        step, piece = completion.work_id >> _PIECE_BITS, completion.work_id & (MAXIMUM_PIECES - 1)
        doing = f"sending step {step}, piece {piece} to"
        self._communicator.fail(self._source, self._destination, completion, doing)


class _Arrivals:
    """Handles the completions of a receiving QP, and posts the next receive.

    A receive that was flushed is no news: the sender's QP fails too, and its status says why.
    """

    __slots__ = ("_communicator", "_destination", "_qp", "_source")

    def __init__(self, communicator: Communicator, qp: QueuePair, source: int, destination: int) -> None:
        self._communicator = communicator
        self._qp = qp
        self._source = source
        self._destination = destination

    def __call__(self, completion: WorkCompletion) -> None:
        if completion.status is WcStatus.WR_FLUSH_ERR:
            return
        if completion.status is not WcStatus.SUCCESS:
            self._communicator.fail(self._destination, self._source, completion, "receiving from")
            return
        assert completion.immediate is not None, "every message of a communicator carries an immediate value"
        self._qp.post_receive(_ANY_RECEIVE)
        self._communicator.endpoints[self._destination].arrived(self._source, completion.immediate)


def _raise(text: str) -> None:
    raise RuntimeError(text)


def _nothing() -> None:
    """Nobody wants to know when everything is acknowledged."""
