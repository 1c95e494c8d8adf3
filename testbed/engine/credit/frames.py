"""A credit update, byte for byte: both counts of every lane of one end of a link.

    destination  01:80:C2:00:00:01 (never forwarded)    EtherType 0x88B5 (IEEE's first for local experiments)
    kind         0x0001 (16 bits)
    lanes        bit p: lane p is in the frame (16 bits, the upper 8 are 0)
    for each of the eight lanes, zeros where its bit is clear:
      FCTBS      blocks that the sender of the update has sent, in the lower 12 of 16 bits
      FCCL       its limit for what it receives, likewise
    zeros up to 60 bytes; the FCS makes it 64, and 84 on the wire

Ethernet has no standard for this. InfiniBand sends a link packet of a few bytes for each lane, with the same two
counts.
"""

from collections.abc import Mapping
from functools import cache
from struct import Struct

from testbed.engine.frame import MINIMUM_FRAME_BYTES
from testbed.scenario.qos import PRIORITIES

ETHERTYPE = b"\x88\xb5"
_DESTINATION = bytes.fromhex("0180c2000001")
_KIND = b"\x00\x01"
_KIND_AT = slice(12, 16)
_VECTOR_AT = 16
_BODY = Struct(f">H{2 * PRIORITIES}H")
"""The vector, and FCTBS and FCCL of each lane."""
_PADDING = bytes(MINIMUM_FRAME_BYTES - _VECTOR_AT - _BODY.size)

Counts = Mapping[int, tuple[int, int]]
"""(FCTBS, FCCL) by lane."""


@cache
def _head(source_mac: str) -> bytes:
    return _DESTINATION + bytes.fromhex(source_mac.replace(":", "")) + ETHERTYPE + _KIND


def update_frame(source_mac: str, counts: Counts) -> bytes:
    """Return an update, without FCS, that says `counts`, from `source_mac`."""
    vector, words = 0, [0] * (2 * PRIORITIES)
    for lane, both in counts.items():
        vector |= 1 << lane
        words[2 * lane : 2 * lane + 2] = both
    return _head(source_mac) + _BODY.pack(vector, *words) + _PADDING


def read_update(data: bytes) -> dict[int, tuple[int, int]] | None:
    """Return what an update says; None for another frame."""
    if data[_KIND_AT] != ETHERTYPE + _KIND:
        return None
    vector, *words = _BODY.unpack_from(data, _VECTOR_AT)
    return {lane: (words[2 * lane], words[2 * lane + 1]) for lane in range(PRIORITIES) if vector >> lane & 1}
