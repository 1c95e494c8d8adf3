"""What an application hands to a NIC and gets back, in the words of the verbs API: work requests, completions, memory.

Names follow libibverbs: an `ibv_send_wr` is a `SendRequest` here, `IBV_WC_RETRY_EXC_ERR` is ``RETRY_EXC_ERR``.

References: rdma-core libibverbs/verbs.h.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from testbed.scenario.limits import MAXIMUM_MESSAGE_BYTES


class WorkOpcode(Enum):
    """What a completed work request was (`enum ibv_wc_opcode`; with and without immediate are one for the sender)."""

    SEND = "SEND"
    RDMA_WRITE = "RDMA_WRITE"
    RECV = "RECV"
    RECV_RDMA_WITH_IMM = "RECV_RDMA_WITH_IMM"


class WcStatus(Enum):
    """How a work request ended (`enum ibv_wc_status`)."""

    SUCCESS = "SUCCESS"
    LOC_LEN_ERR = "LOC_LEN_ERR"
    WR_FLUSH_ERR = "WR_FLUSH_ERR"
    REM_INV_REQ_ERR = "REM_INV_REQ_ERR"
    REM_ACCESS_ERR = "REM_ACCESS_ERR"
    REM_OP_ERR = "REM_OP_ERR"
    RETRY_EXC_ERR = "RETRY_EXC_ERR"
    RNR_RETRY_EXC_ERR = "RNR_RETRY_EXC_ERR"


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """A registered buffer: `length` bytes at virtual `address`, opened to the peer by `rkey`.

    `memory` is where the bytes are; None for a region with no memory behind it: it sends zeros and discards what is
    written to it, so that sizes beyond the machine's memory can be modelled.
    """

    rkey: int
    address: int
    length: int
    memory: memoryview | None

    def holds(self, address: int, length: int) -> bool:
        """Return whether `length` bytes at virtual `address` lie within the region."""
        return self.address <= address and address + length <= self.address + self.length


@dataclass(frozen=True, slots=True)
class SendRequest:
    """A work request for the send queue: `length` bytes at `offset` of `region` (None: only for an empty message).

    `opcode` is SEND or RDMA_WRITE; a write goes to `remote_address` under `rkey`. With `immediate` (32 bits) the
    receiver gets a completion that carries it. `work_id` comes back in the completion.
    """

    work_id: int
    opcode: WorkOpcode
    region: MemoryRegion | None = None
    offset: int = 0
    length: int = 0
    remote_address: int = 0
    rkey: int = 0
    immediate: int | None = None

    def __post_init__(self) -> None:
        if self.opcode not in (WorkOpcode.SEND, WorkOpcode.RDMA_WRITE):
            raise ValueError(f"expected a send or a write, found {self.opcode.value}")
        if not 0 <= self.length <= MAXIMUM_MESSAGE_BYTES:
            raise ValueError(f"expected a message of 0 to {MAXIMUM_MESSAGE_BYTES} B, found {self.length} B: split it")
        _check_within(self.region, self.offset, self.length)


@dataclass(frozen=True, slots=True)
class ReceiveRequest:
    """A work request for the receive queue: where a SEND's payload may go. One for a WRITE with immediate needs
    none.
    """

    work_id: int
    region: MemoryRegion | None = None
    offset: int = 0
    length: int = 0

    def __post_init__(self) -> None:
        _check_within(self.region, self.offset, self.length)


def _check_within(region: MemoryRegion | None, offset: int, length: int) -> None:
    available = 0 if region is None else region.length
    if offset < 0 or length < 0 or offset + length > available:
        raise ValueError(f"expected a message within its region of {available} B, found {offset}..{offset + length}")


class WorkCompletion(NamedTuple):
    """The end of a work request. `byte_count` is what was received; `immediate` is None where there was none."""

    work_id: int
    status: WcStatus
    opcode: WorkOpcode
    queue_pair: int
    byte_count: int
    immediate: int | None
