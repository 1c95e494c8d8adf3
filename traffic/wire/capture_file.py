"""Captures: the frames in a pcap or pcapng file, one after the other, with their times.

scapy reads them. It takes a file that ends in the middle of a packet for one that ends there; a measurement must not.
So the place of every packet is noted, and a file that does not end behind its last packet, or whose blocks contradict
themselves, is an error, with the packet's number (counted from 1, as Wireshark does) and its place in the file.

References: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
Known limits: Ethernet only; pcapng's simple packet blocks have no time and are refused; interfaces of all sections of a
pcapng are counted through; compressed files are refused.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import traffic.wire.lazy_routes  # noqa: F401 - before scapy, which looks for routing tables

# isort: split
from scapy.error import Scapy_Exception
from scapy.utils import RawPcapNgReader, RawPcapReader

_ETHERNET = 1
_PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
_PCAP_MAGICS = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1")
_GZIP_MAGIC = b"\x1f\x8b"
_PCAP_HEADER_BYTES = 16
_SECOND = 10**12


class CaptureError(Exception):
    """A capture cannot be read; the text names the file, and the packet and its place where it is one packet's."""


@dataclass(frozen=True, slots=True)
class RawFrame:
    """One frame: its `number` in the file (from 1), its bytes as captured, how many it had, and when (picoseconds)."""

    number: int
    time_ps: int
    data: bytes
    wire_bytes: int


def read_frames(path: Path) -> Iterator[RawFrame]:
    """Yield the frames of the capture at `path`, in the file's order. Raises CaptureError."""
    try:
        with path.open("rb") as file, _silent_scapy():
            yield from _frames(file, path)
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror or error}") from None


def _frames(file: BinaryIO, path: Path) -> Iterator[RawFrame]:
    magic = file.read(4)
    file.seek(0, 2)
    size = file.tell()
    file.seek(0)
    if not magic:
        raise CaptureError(f"{path}: expected a pcap or pcapng file, found an empty one")
    if magic.startswith(_GZIP_MAGIC):
        raise CaptureError(f"{path}: expected a pcap or pcapng file, found a compressed one; unpack it: gunzip")
    if magic != _PCAPNG_MAGIC and magic not in _PCAP_MAGICS:
        raise CaptureError(f"{path}: expected a pcap or pcapng file, found one that begins with {magic.hex(' ')}")
    try:
        made: type[Any] = _Blocks if magic == _PCAPNG_MAGIC else _Records
        reader = made(file)
    except Scapy_Exception:
        raise CaptureError(f"{path}: offset 0: its header is damaged or cut short") from None
    number = 1
    while True:
        try:
            frame = reader.frame(number, size)
        except (_Damaged, EOFError) as error:
            if reader.at == size:
                return
            what = str(error) or "the file is damaged or cut short"
            raise CaptureError(f"{path}: packet {number} (offset {reader.at}): {what}") from None
        yield frame
        number += 1


class _Damaged(Exception):  # noqa: N818 - not an error of its own: a place is added to it
    """What is wrong with a packet."""


class _Records(RawPcapReader):
    """A pcap file. `at`: where the packet that is read begins."""

    at = 0

    def frame(self, number: int, size: int) -> RawFrame:
        self.at = self.f.tell()
        data, about = self._read_packet()
        if self.at + _PCAP_HEADER_BYTES + about.caplen > size:
            raise _Damaged(f"expected {about.caplen} B, found the end of the file")
        _require_ethernet(self.linktype & 0xFFFF)
        time_ps = about.sec * _SECOND + about.usec * (10**3 if self.nano else 10**6)
        return RawFrame(number, time_ps, data, about.wirelen)


class _Blocks(RawPcapNgReader):
    """A pcapng file. `at`: where the block that is read begins."""

    at = 0

    def frame(self, number: int, size: int) -> RawFrame:  # noqa: ARG002 - as of a pcap
        data, about = self._read_packet()
        _require_ethernet(about.linktype)
        if about.tshigh is None:
            raise _Damaged("expected a time, found a simple packet block, which has none")
        ticks = about.tshigh << 32 | about.tslow
        return RawFrame(number, ticks * _SECOND // about.tsresol, data, about.wirelen)

    def _read_block(self, size: int = 0xFFFF) -> Any:
        self.at = self.f.tell()
        return super()._read_block(size)

    def _check_interface_id(self, intid: int) -> bool:
        if intid >= len(self.interfaces):
            raise _Damaged(f"expected one of {len(self.interfaces)} interfaces, found number {intid}")
        return True


def _require_ethernet(link_type: int) -> None:
    if link_type != _ETHERNET:
        raise _Damaged(f"expected Ethernet (link type 1), found link type {link_type}")


@contextmanager
def _silent_scapy() -> Iterator[None]:
    """scapy's warnings about a file say less than the errors that are raised here."""
    logger = logging.getLogger("scapy.runtime")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
