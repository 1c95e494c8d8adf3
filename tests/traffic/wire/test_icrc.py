import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traffic.wire.vectors import VECTORS, WRITE_ONLY, template
from traffic.wire.errors import MalformedPacket
from traffic.wire.icrc import icrc
from traffic.wire.opcodes import Opcode

# The bytes of an IPv4 and an IPv6 frame that switches may rewrite, and the Ethernet header, which is not covered.
IPV4_VARIANT = {*range(14), 15, 22, 24, 25, 40, 41, 46}
IPV6_VARIANT = {*range(14), 15, 16, 17, 21, 60, 61, 66}


def stored(frame):
    return int.from_bytes(frame[-4:], "little")


def with_byte(frame, at, value):
    return frame[:at] + bytes([value]) + frame[at + 1 :]


@pytest.mark.parametrize("frame", VECTORS.values(), ids=VECTORS)
def test_vectors(frame):
    assert icrc(frame) == stored(frame)
    assert icrc(memoryview(frame)) == stored(frame)


def test_textbook_form_ipv4():
    masked = bytearray(WRITE_ONLY[14:-4])
    for at in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, IP checksum, UDP checksum, FECN/BECN
        masked[at] = 0xFF
    assert icrc(WRITE_ONLY) == zlib.crc32(b"\xff" * 8 + masked)


def test_textbook_form_ipv6():
    frame = template(6).emit(Opcode.SEND_ONLY, 77, payload=b"sixteen bytes...")
    masked = bytearray(frame[14:-4])
    masked[0:4] = b"\x6f\xff\xff\xff"  # traffic class and flow label
    for at in (7, 46, 47, 52):  # hop limit, UDP checksum, FECN/BECN
        masked[at] = 0xFF
    assert icrc(frame) == stored(frame) == zlib.crc32(b"\xff" * 8 + masked)


def test_vlan_tags_are_not_covered():
    tagged = WRITE_ONLY[:12] + bytes.fromhex("88a80064 81006005") + WRITE_ONLY[12:]
    assert icrc(tagged) == stored(WRITE_ONLY)


def test_ip_options_are_covered():
    options = bytes.fromhex("94040000")
    length = (len(WRITE_ONLY) - 14 + 4).to_bytes(2, "big")
    frame = WRITE_ONLY[:14] + b"\x46" + WRITE_ONLY[15:16] + length + WRITE_ONLY[18:34] + options + WRITE_ONLY[34:]
    masked = bytearray(frame[14:-4])
    for at in (1, 8, 10, 11, 30, 31, 36):
        masked[at] = 0xFF
    assert icrc(frame) == zlib.crc32(b"\xff" * 8 + masked)


def test_bytes_behind_the_ip_packet_are_ignored():
    assert icrc(WRITE_ONLY + b"ethernet padding") == stored(WRITE_ONLY)


@given(version=st.sampled_from([4, 6]), data=st.data())
def test_variant_bytes_do_not_matter_and_all_others_do(version, data):
    frame = template(version).emit(Opcode.SEND_ONLY, 5, payload=b"payload!")
    variant = IPV4_VARIANT if version == 4 else IPV6_VARIANT
    # Not the fields that say where the packet ends: EtherType, version and header length, IP length.
    lengths = {12, 13, 14, 16, 17} if version == 4 else {12, 13, 14, 18, 19}
    at = data.draw(st.sampled_from([at for at in range(len(frame) - 4) if at not in lengths]))
    value = data.draw(st.integers(0, 255).filter(lambda value: value != frame[at]))
    right = icrc(with_byte(frame, at, value)) == stored(frame)
    assert right == (at in variant)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"", "expected an Ethernet header of 14 B, found a frame of 0 B"),
        (WRITE_ONLY[:50], "expected IP, UDP and BTH, found EtherType 0x0800 and 36 B behind it"),
        (WRITE_ONLY[:-1], "expected an IP length from 44 to 67, found 68"),
        (with_byte(WRITE_ONLY, 13, 6), "expected IP, UDP and BTH, found EtherType 0x0806"),
        (with_byte(WRITE_ONLY, 14, 0x44), "expected an IPv4 header of at least 20 B, found 16 B"),
    ],
)
def test_errors(frame, message):
    with pytest.raises(MalformedPacket, match=message):
        icrc(frame)
