"""The outer form of a Chakra file: messages one after the other, each behind its length as a varint.

A varint has seven bits a byte, the lowest first, and its highest bit says that another byte follows (protobuf's
encoding guide).
"""

from collections.abc import Iterator
from typing import BinaryIO

from traffic.traces.limits import MAXIMUM_MESSAGE_BYTES
from traffic.traces.places import mistake

_LONGEST_VARINT = 5
"""Bytes of a length below 2^35; no message is as long as that."""


def read_messages(stream: BinaryIO, file: str) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of each message; the offset is that of its length in the unpacked file.

    Raises TraceError with the offset where the file ends too early, or a length cannot be one.
    """
    offset = 0
    while True:
        length, length_bytes = _read_length(stream, file, offset)
        if not length_bytes:
            return
        message = stream.read(length)
        if len(message) < length:
            text = f"expected a message of {length} bytes, found the end of the file after {len(message)} of them"
            raise mistake(file, f"byte {offset}", f"{text}: it is cut short")
        yield offset, message
        offset += length_bytes + length


def _read_length(stream: BinaryIO, file: str, offset: int) -> tuple[int, int]:
    """Return a length and how many bytes it takes; (0, 0) at the end of the file."""
    length = 0
    for number in range(_LONGEST_VARINT):
        byte = stream.read(1)
        if not byte:
            if number == 0:
                return 0, 0
            raise mistake(file, f"byte {offset}", "expected a message's length, found the end of the file within it")
        length |= (byte[0] & 0x7F) << (7 * number)
        if not byte[0] & 0x80:
            break
    if byte[0] & 0x80 or length > MAXIMUM_MESSAGE_BYTES:
        text = f"expected a message's length, at most {MAXIMUM_MESSAGE_BYTES} bytes, found "
        raise mistake(file, f"byte {offset}", text + (f"{length}" if not byte[0] & 0x80 else "no end of the number"))
    return length, number + 1
