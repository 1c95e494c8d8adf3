"""How the messages of one connection travel: over queue pairs, or over the NVLink domain of a host.

Over RDMA a message is a WRITE with immediate into the peer's buffer. The immediate value is the message's number among
those of its queue pair, by which the receiver's end finds step and piece; so messages may travel on several queue pairs
and arrive in any order. ``round-robin``: whole messages take the queue pairs in turn, as NCCL does by default.
``split``: each message is divided over all of them, in parts of

    ceil(ceil(size / queue pairs) / 128) * 128 bytes

(NCCL_IB_SPLIT_DATA_ON_QPS=1); a queue pair that gets no byte carries an empty write all the same, so that the receiver
knows how many parts to wait for. A write with immediate uses up a posted receive at the peer: each queue pair has one,
replaced the moment it is used.

Other messages go the other way, from the receiving rank to the sending one, and carry no data: clear-to-sends, on a
queue pair of their own, and readiness, on the connection's first.

References: NCCL src/transport/net_ib (IB_WRITE_CHUNK_ALIGNMENT).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Protocol

from traffic.collectives.admission import CLEAR_TO_SEND_BYTES
from traffic.collectives.message_log import CLEAR, DATA, Message
from traffic.nic.queue_pair import QueuePair
from traffic.nic.verbs import MemoryRegion, ReceiveRequest, SendRequest, WcStatus, WorkCompletion, WorkOpcode
from traffic.nvlink import NvlinkDomain

_NUMBERS = 2**32
"""What an immediate value can tell apart. Only messages that are not acknowledged yet need to be: never so many."""

_PART_ALIGNMENT = 128

_ANY_RECEIVE = ReceiveRequest(work_id=0)
"""A receive without a buffer: what a write with immediate uses up."""


def parts_of(size: int, queue_pairs: int) -> list[int]:
    """Return the bytes of a split message on each queue pair."""
    part = -(-size // queue_pairs)
    part = -(-part // _PART_ALIGNMENT) * _PART_ALIGNMENT
    return [max(0, min(part, size - part * index)) for index in range(queue_pairs)]


class Owner(Protocol):
    """What a connection tells its communicator."""

    def acknowledged(self, message: Message) -> None:
        """All of `message` has been acknowledged."""

    def arrived(self, message: Message) -> None:
        """All of `message` is in its receiver's memory."""

    def failed(self, rank: int, peer: int, completion: WorkCompletion, doing: str) -> None:
        """A queue pair of `rank`'s failed while `doing` something (``sending step 0, piece 0 to``) with `peer`."""


class QueuePairEnd:
    """One end of a queue pair: posts messages, tells of their acknowledgement, and of what arrives at it.

    What arrives is told by the other end's `under_way`: its messages that are not acknowledged, by immediate value.
    """

    __slots__ = ("_next", "_owner", "other", "peer", "qp", "rank", "under_way")

    def __init__(self, owner: Owner, qp: QueuePair, rank: int, peer: int) -> None:
        self.qp = qp
        self.rank = rank
        self.peer = peer
        self.under_way: dict[int, Message] = {}
        self.other: QueuePairEnd = self
        self._owner = owner
        self._next = 0
        qp.on_completion = self._completed

    def listen(self) -> None:
        """Expect messages of the other end."""
        self.qp.post_receive(_ANY_RECEIVE)

    def post(self, message: Message, offset: int, size: int, near: MemoryRegion | None, far: MemoryRegion) -> None:
        """Post `size` bytes of `message` from its byte `offset` on."""
        value, self._next = self._next, (self._next + 1) % _NUMBERS
        request = SendRequest(
            work_id=value,
            opcode=WorkOpcode.RDMA_WRITE,
            region=near,
            offset=message.source_offset + offset if near is not None else 0,
            length=size,
            remote_address=far.address + message.target_offset + offset,
            rkey=far.rkey,
            immediate=value,
        )
        requester = self.qp.requester
        if message.queue_pair is None:
            message.nic, message.queue_pair = self.qp.nic.name, self.qp.number
            message.first_sequence = requester.end_sequence
            message.end_sequence = message.first_sequence + -(-size // requester.mtu) + (size == 0)
        self.under_way[value] = message
        self.qp.post_send(request)

    def _completed(self, completion: WorkCompletion) -> None:
        if completion.opcode is WorkOpcode.RECV_RDMA_WITH_IMM or completion.opcode is WorkOpcode.RECV:
            self._received(completion)
        elif completion.status is WcStatus.SUCCESS:
            message = self.under_way.pop(completion.work_id)
            message.parts_unacknowledged -= 1
            if not message.parts_unacknowledged:
                self._owner.acknowledged(message)
        else:
            self._owner.failed(self.rank, self.peer, completion, _sending(self.under_way[completion.work_id]))

    def _received(self, completion: WorkCompletion) -> None:
        """A receive that was flushed is no news: the sender's end fails too, and its status says why."""
        if completion.status is WcStatus.WR_FLUSH_ERR:
            return
        if completion.status is not WcStatus.SUCCESS:
            self._owner.failed(self.rank, self.peer, completion, "receiving from")
            return
        assert completion.immediate is not None, "every message of a communicator carries an immediate value"
        self.qp.post_receive(_ANY_RECEIVE)
        message = self.other.under_way[completion.immediate]
        message.parts_left -= 1
        if not message.parts_left:
            self._owner.arrived(message)


def _sending(message: Message) -> str:
    where = f"step {message.step}, piece {message.piece}"
    if message.kind == DATA:
        return f"sending {where} to"
    return f"sending a clear-to-send for {where} to" if message.kind == CLEAR else "telling its readiness to"


def join(near: QueuePairEnd, far: QueuePairEnd) -> QueuePairEnd:
    """Tell two ends of each other; return the first."""
    near.other, far.other = far, near
    return near


class Link(Protocol):
    """What carries messages from a rank to another, and a few words back."""

    def post(self, message: Message) -> None:
        """Send a message of data."""

    def tell(self, message: Message) -> None:
        """Send a message without data the other way."""

    def listen(self) -> None:
        """Expect such messages."""

    def close(self) -> None:
        """Give it up: nothing is sent any more."""


class RdmaLink:
    """A link over queue pairs, between the regions of two ranks; `ends` are the sender's."""

    def __init__(self, ends: Sequence[QueuePairEnd], spread: str, near: MemoryRegion, far: MemoryRegion) -> None:
        self._ends = ends
        self._turns: Iterator[QueuePairEnd] = cycle(ends)
        self._splits = spread == "split" and len(ends) > 1
        self._near = near
        self._far = far

    def post(self, message: Message) -> None:
        if not self._splits:
            next(self._turns).post(message, 0, message.size, self._near, self._far)
            return
        parts = parts_of(message.size, len(self._ends))
        message.parts_left = message.parts_unacknowledged = len(parts)
        offset = 0
        for end, size in zip(self._ends, parts, strict=True):
            end.post(message, offset, size, self._near, self._far)
            offset += size

    def tell(self, message: Message) -> None:
        self._ends[0].other.post(message, 0, 0, None, self._near)

    def listen(self) -> None:
        self._ends[0].listen()

    def close(self) -> None:
        for end in self._ends:
            end.qp.close()
            end.other.qp.close()


class ClearToSendLink:
    """Carries clear-to-sends to the sending rank; `end` is the receiver's, `slot` where they are written."""

    def __init__(self, end: QueuePairEnd, own: MemoryRegion, slot: MemoryRegion) -> None:
        self._end = end
        self._own = own
        self._slot = slot

    def post(self, message: Message) -> None:
        """Send a clear-to-send."""
        self._end.post(message, 0, CLEAR_TO_SEND_BYTES, self._own, self._slot)

    def close(self) -> None:
        """Give it up."""
        self._end.qp.close()
        self._end.other.qp.close()


class NvlinkLink:
    """A link through the NVLink domain of a host, between GPUs by their local numbers."""

    def __init__(
        self, owner: Owner, domain: NvlinkDomain, gpus: tuple[int, int], near: memoryview | None, far: memoryview | None
    ) -> None:
        self._owner = owner
        self._domain = domain
        self._source, self._destination = gpus
        self._near = near
        self._far = far
        self._open = True

    def post(self, message: Message) -> None:
        self._domain.send(self._source, self._destination, message.size, self._arrived, message)

    def tell(self, message: Message) -> None:
        self._domain.send(self._destination, self._source, 0, self._told, message)

    def listen(self) -> None:
        """It always does."""

    def close(self) -> None:
        self._open = False

    def _arrived(self, message: Message) -> None:
        if not self._open:
            return
        if self._near is not None and self._far is not None:
            source, target, size = message.source_offset, message.target_offset, message.size
            self._far[target : target + size] = self._near[source : source + size]
        self._told(message)

    def _told(self, message: Message) -> None:
        if self._open:
            self._owner.arrived(message)
            self._owner.acknowledged(message)
