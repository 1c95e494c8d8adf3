"""The MAC control frames of link-level flow control, byte for byte.

    destination  01:80:C2:00:00:01 (never forwarded)    EtherType 0x8808
    PFC          opcode 0x0101, vector of priorities (16 bits), a time for each of the eight priorities (16 bits each)
    PAUSE        opcode 0x0001, one time
    zeros up to 60 bytes; the FCS makes it 64

A time is in quanta of 512 bit times of the link; 0 means: go on (XON). A priority whose bit is clear is left alone.

References: IEEE 802.3 annex 31B (PAUSE) and 31D, IEEE 802.1Q clause 36 (PFC).
"""

from collections.abc import Mapping

from testbed.engine.frame import MINIMUM_FRAME_BYTES
from testbed.scenario.qos import PRIORITIES

ETHERTYPE = b"\x88\x08"
_DESTINATION = bytes.fromhex("0180c2000001")
_PFC = b"\x01\x01"
_PAUSE = b"\x00\x01"
_OPCODE = slice(14, 16)
_FIRST_TIME = 18

ALL_PRIORITIES = 0xFF

GLOBAL = PRIORITIES
"""Where PAUSE frames, which name no priority, are counted: behind the eight priorities."""


def pfc_frame(source_mac: str, quanta: Mapping[int, int]) -> bytes:
    """Return a PFC frame, without FCS, that sets the pause of each priority in `quanta` (0: go on)."""
    vector = sum(1 << priority for priority in quanta)
    times = b"".join(quanta.get(priority, 0).to_bytes(2, "big") for priority in range(PRIORITIES))
    return _padded(source_mac, _PFC + vector.to_bytes(2, "big") + times)


def pause_frame(source_mac: str, quanta: int) -> bytes:
    """Return a PAUSE frame, without FCS, for the whole link (0: go on)."""
    return _padded(source_mac, _PAUSE + quanta.to_bytes(2, "big"))


def _padded(source_mac: str, body: bytes) -> bytes:
    head = _DESTINATION + bytes.fromhex(source_mac.replace(":", "")) + ETHERTYPE
    return (head + body).ljust(MINIMUM_FRAME_BYTES, b"\0")


def is_control(data: bytes) -> bool:
    """Whether a frame is a MAC control frame."""
    return data[12:14] == ETHERTYPE


def read_pfc(data: bytes) -> dict[int, int] | None:
    """Return the quanta of each priority that a PFC frame names; None for another frame."""
    if not is_control(data) or data[_OPCODE] != _PFC:
        return None
    vector = data[17]  # byte 16, the vector's high half, is reserved
    return {
        priority: int.from_bytes(data[_FIRST_TIME + 2 * priority : _FIRST_TIME + 2 * priority + 2], "big")
        for priority in range(PRIORITIES)
        if vector >> priority & 1
    }


def read_pause(data: bytes) -> int | None:
    """Return the quanta of a PAUSE frame; None for another frame."""
    return int.from_bytes(data[16:18], "big") if is_control(data) and data[_OPCODE] == _PAUSE else None
