"""Which opcodes a reliable connection (RC) uses, and what follows the base transport header (BTH) in each.

The opcode in the first byte of the BTH says three things at once: the operation, the place of the packet in its message
(FIRST, MIDDLE, LAST, or ONLY for a message of one packet), and so which extension headers come before the payload.
`SHAPES` is that table. It covers the RC transport and the congestion notification packet (CNP); FLUSH and ATOMIC_WRITE,
the late additions to RC, are left out, and so are the other transports (UC, RD, UD).

References: Linux include/rdma/ib_pack.h and drivers/infiniband/sw/rxe/rxe_opcode.c; rdma-core libibverbs/opcode.h.
"""

from dataclasses import dataclass
from enum import IntEnum

ROCE_UDP_PORT = 4791
BTH_BYTES = 12
ICRC_BYTES = 4
DEFAULT_PARTITION_KEY = 0xFFFF


class Opcode(IntEnum):
    """The BTH opcodes of the RC transport, and CNP."""

    SEND_FIRST = 0x00
    SEND_MIDDLE = 0x01
    SEND_LAST = 0x02
    SEND_LAST_WITH_IMMEDIATE = 0x03
    SEND_ONLY = 0x04
    SEND_ONLY_WITH_IMMEDIATE = 0x05
    RDMA_WRITE_FIRST = 0x06
    RDMA_WRITE_MIDDLE = 0x07
    RDMA_WRITE_LAST = 0x08
    RDMA_WRITE_LAST_WITH_IMMEDIATE = 0x09
    RDMA_WRITE_ONLY = 0x0A
    RDMA_WRITE_ONLY_WITH_IMMEDIATE = 0x0B
    RDMA_READ_REQUEST = 0x0C
    RDMA_READ_RESPONSE_FIRST = 0x0D
    RDMA_READ_RESPONSE_MIDDLE = 0x0E
    RDMA_READ_RESPONSE_LAST = 0x0F
    RDMA_READ_RESPONSE_ONLY = 0x10
    ACKNOWLEDGE = 0x11
    ATOMIC_ACKNOWLEDGE = 0x12
    COMPARE_SWAP = 0x13
    FETCH_ADD = 0x14
    SEND_LAST_WITH_INVALIDATE = 0x16
    SEND_ONLY_WITH_INVALIDATE = 0x17
    CNP = 0x81


class Extension(IntEnum):
    """The extension headers that may follow the BTH."""

    RETH = 1
    IMMDT = 2
    AETH = 3
    IETH = 4
    ATOMIC_ETH = 5
    ATOMIC_ACK_ETH = 6
    CNP_PADDING = 7


EXTENSION_SIZES: dict[Extension, int] = {
    Extension.RETH: 16,
    Extension.IMMDT: 4,
    Extension.AETH: 4,
    Extension.IETH: 4,
    Extension.ATOMIC_ETH: 28,
    Extension.ATOMIC_ACK_ETH: 8,
    Extension.CNP_PADDING: 16,
}
"""Size in bytes of each extension header."""


@dataclass(frozen=True, slots=True)
class OpcodeShape:
    """What an opcode says about its packet: extension headers in order, place in the message, payload or not."""

    extensions: tuple[Extension, ...]
    starts_message: bool
    ends_message: bool
    has_payload: bool


def _shape(*extensions: Extension, starts: bool = False, ends: bool = False, payload: bool = False) -> OpcodeShape:
    return OpcodeShape(extensions, starts, ends, payload)


SHAPES: dict[Opcode, OpcodeShape] = {
    Opcode.SEND_FIRST: _shape(starts=True, payload=True),
    Opcode.SEND_MIDDLE: _shape(payload=True),
    Opcode.SEND_LAST: _shape(ends=True, payload=True),
    Opcode.SEND_LAST_WITH_IMMEDIATE: _shape(Extension.IMMDT, ends=True, payload=True),
    Opcode.SEND_ONLY: _shape(starts=True, ends=True, payload=True),
    Opcode.SEND_ONLY_WITH_IMMEDIATE: _shape(Extension.IMMDT, starts=True, ends=True, payload=True),
    Opcode.RDMA_WRITE_FIRST: _shape(Extension.RETH, starts=True, payload=True),
    Opcode.RDMA_WRITE_MIDDLE: _shape(payload=True),
    Opcode.RDMA_WRITE_LAST: _shape(ends=True, payload=True),
    Opcode.RDMA_WRITE_LAST_WITH_IMMEDIATE: _shape(Extension.IMMDT, ends=True, payload=True),
    Opcode.RDMA_WRITE_ONLY: _shape(Extension.RETH, starts=True, ends=True, payload=True),
    Opcode.RDMA_WRITE_ONLY_WITH_IMMEDIATE: _shape(
        Extension.RETH, Extension.IMMDT, starts=True, ends=True, payload=True
    ),
    Opcode.RDMA_READ_REQUEST: _shape(Extension.RETH, starts=True, ends=True),
    Opcode.RDMA_READ_RESPONSE_FIRST: _shape(Extension.AETH, starts=True, payload=True),
    Opcode.RDMA_READ_RESPONSE_MIDDLE: _shape(payload=True),
    Opcode.RDMA_READ_RESPONSE_LAST: _shape(Extension.AETH, ends=True, payload=True),
    Opcode.RDMA_READ_RESPONSE_ONLY: _shape(Extension.AETH, starts=True, ends=True, payload=True),
    Opcode.ACKNOWLEDGE: _shape(Extension.AETH, starts=True, ends=True),
    Opcode.ATOMIC_ACKNOWLEDGE: _shape(Extension.AETH, Extension.ATOMIC_ACK_ETH, starts=True, ends=True),
    Opcode.COMPARE_SWAP: _shape(Extension.ATOMIC_ETH, starts=True, ends=True),
    Opcode.FETCH_ADD: _shape(Extension.ATOMIC_ETH, starts=True, ends=True),
    Opcode.SEND_LAST_WITH_INVALIDATE: _shape(Extension.IETH, ends=True, payload=True),
    Opcode.SEND_ONLY_WITH_INVALIDATE: _shape(Extension.IETH, starts=True, ends=True, payload=True),
    Opcode.CNP: _shape(Extension.CNP_PADDING, starts=True, ends=True),
}

EXTENSION_BYTES: tuple[int, ...] = tuple(
    sum(EXTENSION_SIZES[extension] for extension in SHAPES[Opcode(code)].extensions) if code in set(Opcode) else -1
    for code in range(256)
)
"""Bytes of extension headers by opcode; -1 for an opcode that is not in the table. A tuple, for the per-packet path."""
