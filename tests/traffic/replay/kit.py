"""Captures made here: pcap and pcapng bytes, written with struct alone, and frames for them."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tests.traffic.wire.vectors import template
from traffic.wire.opcodes import Opcode
from traffic.wire.template import aeth

NANOSECOND = 1000
MICROSECOND = 1_000_000


@dataclass(frozen=True)
class Captured:
    """A frame of a capture, its time in nanoseconds, and its length on the wire if that is not all."""

    time_ns: int
    data: bytes
    wire_bytes: int | None = None


def pcap(*frames: Captured, order: str = "<", nano: bool = True, link_type: int = 1) -> bytes:
    """Return a pcap file."""
    magic, tick = (0xA1B23C4D, 1) if nano else (0xA1B2C3D4, 1000)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link_type)]
    for frame in frames:
        seconds, rest = divmod(frame.time_ns, 10**9)
        length = len(frame.data)
        parts.append(struct.pack(f"{order}IIII", seconds, rest // tick, length, frame.wire_bytes or length))
        parts.append(frame.data)
    return b"".join(parts)


def _block(kind: int, body: bytes, order: str) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def pcapng(*frames: Captured, order: str = "<", resolution: int = 9, interface: int = 0, link_type: int = 1) -> bytes:
    """Return a pcapng file with one interface; times are in units of 10^-resolution s."""
    section = _block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    options = struct.pack(f"{order}HHB3xHH", 9, 1, resolution, 0, 0)
    described = _block(1, struct.pack(f"{order}HHI", link_type, 0, 65535) + options, order)
    return section + described + b"".join(enhanced(frame, order, resolution, interface) for frame in frames)


def enhanced(frame: Captured, order: str = "<", resolution: int = 9, interface: int = 0) -> bytes:
    """Return an enhanced packet block."""
    ticks = frame.time_ns * 10**resolution // 10**9
    lengths = len(frame.data), frame.wire_bytes or len(frame.data)
    head = struct.pack(f"{order}5I", interface, ticks >> 32, ticks & 0xFFFFFFFF, *lengths)
    return _block(6, head + frame.data, order)


def simple(data: bytes) -> bytes:
    """Return a simple packet block, which has no time."""
    return _block(3, struct.pack("<I", len(data)) + data, "<")


def sends(count: int, *, payload: int = 256, first_psn: int = 0, **options: object) -> list[bytes]:
    """Return `count` frames with a SEND each."""
    made = template(**options)
    return [made.emit(Opcode.SEND_ONLY, first_psn + n, b"", bytes([n % 256]) * payload, True) for n in range(count)]


def acknowledgement(**options: object) -> bytes:
    return template(**options).emit(Opcode.ACKNOWLEDGE, 5, aeth(0, 1))


def spaced(frames: Sequence[bytes], gap_ns: int = 1000, first_ns: int = 10**18) -> list[Captured]:
    """Return frames `gap_ns` apart."""
    return [Captured(first_ns + number * gap_ns, data) for number, data in enumerate(frames)]


def with_wrong_icrc(frame: bytes, bits: int = 0x0400_0001) -> bytes:
    found = int.from_bytes(frame[-4:], "little")
    return frame[:-4] + (found ^ bits).to_bytes(4, "little")


def tagged(frame: bytes, *tags: int) -> bytes:
    """Return a frame with VLAN tags, outer first."""
    return frame[:12] + b"".join(b"\x81\x00" + tag.to_bytes(2, "big") for tag in tags) + frame[12:]
