"""How a message becomes packets: FIRST, MIDDLE..., LAST, or ONLY when one packet holds it all.

Every packet but the last carries exactly one MTU of payload; an empty message is one ONLY packet without payload. A
write's address, key and length (RETH) travel in its first packet, an immediate value in its last.

References: IBTA volume 1, 9.2 (opcodes and the headers that go with them).
"""

from dataclasses import dataclass

from traffic.nic.verbs import SendRequest, WorkOpcode
from traffic.wire.icrc import ETHERNET_BYTES, IPV4_BYTES, IPV6_BYTES, UDP_BYTES
from traffic.wire.opcodes import BTH_BYTES, EXTENSION_SIZES, ICRC_BYTES, Extension, Opcode
from traffic.wire.template import immdt, reth

_RETH_BYTES = EXTENSION_SIZES[Extension.RETH]
_IMMDT_BYTES = EXTENSION_SIZES[Extension.IMMDT]

_Opcodes = tuple[int, int, int, int]
"""FIRST, MIDDLE, LAST, ONLY; as plain integers, with which the per-packet path is quicker."""


def _opcodes(name: str, immediate: str) -> _Opcodes:
    first, middle = Opcode[f"{name}_FIRST"], Opcode[f"{name}_MIDDLE"]
    return int(first), int(middle), int(Opcode[f"{name}_LAST{immediate}"]), int(Opcode[f"{name}_ONLY{immediate}"])


_SEND, _SEND_IMMEDIATE = _opcodes("SEND", ""), _opcodes("SEND", "_WITH_IMMEDIATE")
_WRITE, _WRITE_IMMEDIATE = _opcodes("RDMA_WRITE", ""), _opcodes("RDMA_WRITE", "_WITH_IMMEDIATE")


def packet_count(length: int, mtu: int) -> int:
    """Return the packets of a message of `length` bytes: ceil(length / mtu), and one for an empty message."""
    return -(-length // mtu) or 1


class Message:
    """A send request cut into packets with the sequence numbers `first` up to, not including, `end`.

    `data` holds the payload; None stands for zeros. `first_extension` and `last_extension` are the header bytes
    between BTH and payload of the first and of the last packet; a message of one packet has both in `last_extension`.
    """

    __slots__ = (
        "data", "end", "first", "first_extension", "first_opcode", "last_extension", "last_opcode", "length",
        "middle_opcode", "request",
    )  # fmt: skip

    def __init__(self, request: SendRequest, first: int, mtu: int) -> None:
        self.request = request
        self.first = first
        self.length = request.length
        count = packet_count(request.length, mtu)
        self.end = first + count
        region = request.region
        self.data: memoryview | None = None
        if region is not None and region.memory is not None:
            self.data = region.memory[request.offset : request.offset + request.length]
        if request.opcode is WorkOpcode.RDMA_WRITE:
            opcodes = _WRITE if request.immediate is None else _WRITE_IMMEDIATE
            self.first_extension = reth(request.remote_address, request.rkey, request.length)
        else:
            opcodes = _SEND if request.immediate is None else _SEND_IMMEDIATE
            self.first_extension = b""
        self.first_opcode, self.middle_opcode, last, only = opcodes
        self.last_opcode = only if count == 1 else last
        self.last_extension = self.first_extension if count == 1 else b""
        if request.immediate is not None:
            self.last_extension += immdt(request.immediate)


@dataclass(frozen=True, slots=True)
class MessageFrames:
    """The frames of one message: `count`, and the bytes of the first, each middle and the last one, without FCS.
    A message of one packet has `last_bytes` only."""

    count: int
    first_bytes: int
    middle_bytes: int
    last_bytes: int

    def sizes(self) -> tuple[int, ...]:
        """Return the bytes of every frame, in order."""
        if self.count == 1:
            return (self.last_bytes,)
        return (self.first_bytes, *(self.middle_bytes,) * (self.count - 2), self.last_bytes)


def write_frames(length: int, mtu: int, ip_version: int, *, immediate: bool) -> MessageFrames:
    """Return the frames of an RDMA WRITE of `length` bytes: Ethernet, IP, UDP, BTH, extensions, payload, pad, ICRC."""
    ip_bytes = IPV4_BYTES if ip_version == 4 else IPV6_BYTES
    bare = ETHERNET_BYTES + ip_bytes + UDP_BYTES + BTH_BYTES + ICRC_BYTES
    count = packet_count(length, mtu)
    rest = length - (count - 1) * mtu
    last = bare + rest + -rest % 4 + (_IMMDT_BYTES if immediate else 0) + (_RETH_BYTES if count == 1 else 0)
    return MessageFrames(count, bare + _RETH_BYTES + mtu, bare + mtu, last)
