import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.wire.vectors import ACK, CNP, CONNECTX_CNP, NAK, VECTORS, WRITE_ONLY, template
from traffic.wire.opcodes import Opcode
from traffic.wire.packet import MalformedPacket, RocePacket, addresses, parse
from traffic.wire.template import immdt, reth

SEND_IPV6 = template(6).emit(Opcode.SEND_ONLY_WITH_IMMEDIATE, 3, immdt(9), b"hello world")
WRITE_MIDDLE = template().emit(Opcode.RDMA_WRITE_MIDDLE, 3, payload=bytes(range(256)))
FRAMES = [*VECTORS.values(), SEND_IPV6, WRITE_MIDDLE]


def patched(frame, at, *values):
    return frame[:at] + bytes(values) + frame[at + len(values) :]


def parsed(frame) -> RocePacket:
    packet = parse(frame)
    assert packet is not None
    return packet


def test_parse_write_only():
    packet = parsed(WRITE_ONLY)
    assert packet.icrc_ok
    assert packet.opcode == Opcode.RDMA_WRITE_ONLY
    assert (packet.destination_qp, packet.psn, packet.ack_request) == (0x11, 0xFFFFFF, True)
    assert (packet.remote_address, packet.rkey, packet.dma_length) == (0x1000, 0x2222, 5)
    assert packet.payload == b"hello"
    assert (packet.traffic_class, packet.ecn, packet.source_port) == (0x6A, 2, 49152)
    assert (packet.syndrome, packet.msn, packet.immediate) == (None, None, None)
    assert repr(packet) == "RDMA_WRITE_ONLY(psn=16777215, destination_qp=0x11, payload=5 B)"


def test_parse_ack():
    packet = parsed(ACK)
    assert packet.icrc_ok
    assert (packet.opcode, packet.psn, packet.syndrome, packet.msn) == (Opcode.ACKNOWLEDGE, 0, 0x1F, 1)
    assert len(packet.payload) == 0
    assert not packet.ack_request


def test_parse_nak():
    packet = parsed(NAK)
    assert packet.icrc_ok
    assert (packet.opcode, packet.psn, packet.syndrome, packet.msn) == (Opcode.ACKNOWLEDGE, 7, 0x60, 0)


@pytest.mark.parametrize(("frame", "queue_pair"), [(CNP, 0x12), (CONNECTX_CNP, 0x118)])
def test_parse_cnp(frame, queue_pair):
    packet = parsed(frame)
    assert packet.icrc_ok
    assert (packet.opcode, packet.destination_qp, packet.psn, packet.becn) == (Opcode.CNP, queue_pair, 0, True)
    assert len(packet.payload) == 0


def test_parse_ipv6_with_immediate():
    packet = parsed(SEND_IPV6)
    assert packet.icrc_ok
    assert (packet.immediate, packet.payload) == (9, b"hello world")


def test_parse_vlan_tagged():
    tagged = WRITE_ONLY[:12] + bytes.fromhex("81006005") + WRITE_ONLY[12:]
    assert parsed(tagged) == parsed(WRITE_ONLY)


def test_parse_ignores_ethernet_padding():
    assert parsed(ACK + bytes(8)) == parsed(ACK)


def test_packets_of_different_psn_differ():
    assert parsed(template().emit(Opcode.SEND_ONLY, 1)) != parsed(template().emit(Opcode.SEND_ONLY, 2))


def test_addresses():
    assert addresses(ACK) == (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    assert addresses(SEND_IPV6) == (bytes.fromhex("fd00" + "00" * 8 + "000100000001"), SEND_IPV6[38:54])
    assert addresses(ACK[:30]) is None
    assert addresses(b"short") is None


@pytest.mark.parametrize("frame", FRAMES)
def test_what_switches_rewrite_leaves_the_icrc_right(frame):
    congested = patched(frame, 15, frame[15] | 0x03) if frame[14] >> 4 == 4 else patched(frame, 15, frame[15] | 0x30)
    hop = 22 if frame[14] >> 4 == 4 else 21
    one_hop_on = patched(congested, hop, frame[hop] - 1)
    assert parsed(one_hop_on).icrc_ok
    assert parsed(one_hop_on).ecn == 3


@given(frame=st.sampled_from(FRAMES), data=st.data())
def test_any_flipped_bit_is_noticed(frame, data):
    is_ipv4 = frame[14] >> 4 == 4
    variant = {15, 22, 24, 25, 40, 41, 46} if is_ipv4 else {15, 16, 17, 21, 60, 61, 66}
    at = data.draw(st.sampled_from([at for at in range(14, len(frame)) if at not in variant]))
    lowest = 0 if is_ipv4 or at > 14 else 4  # the low half of IPv6's first byte belongs to the traffic class
    bit = data.draw(st.integers(lowest, 7))
    flipped = patched(frame, at, frame[at] ^ 1 << bit)
    packet = None
    with contextlib.suppress(MalformedPacket):
        packet = parse(flipped)
    # It is no longer RoCEv2, or contradicts itself, or its ICRC is wrong.
    assert packet is None or not packet.icrc_ok


OTHERS = {
    "empty": b"",
    "ARP": patched(ACK, 12, 8, 6),
    "TCP": patched(ACK, 23, 6),
    "another UDP port": patched(ACK, 36, 0, 53),
    "IPv6, ICMP": patched(SEND_IPV6, 20, 58),
    "cut in IP": ACK[:30],
    "cut in a VLAN tag": ACK[:12] + b"\x81\x00",
    "a later fragment, whose first bytes are no UDP header": patched(ACK, 20, 0x00, 0x10, 64, 17, 0, 0)[:34]
    + bytes(28),
}


@pytest.mark.parametrize("frame", OTHERS.values(), ids=OTHERS)
def test_other_frames_are_none(frame):
    assert parse(frame) is None


MALFORMED = {
    "expected UDP and a BTH of 12 B, found a frame of 50 B": ACK[:50],
    "expected one length, found 48 B by the IP header, 48 B by the UDP header and 47 B received": ACK[:-1],
    "expected one length, found 48 B by the IP header, 49 B by the UDP header": patched(ACK, 39, 29),
    "expected an RC opcode or CNP, found 0x64": patched(ACK, 42, 0x64),
    "expected transport version 0, found 1": patched(ACK, 43, 1),
    "expected a whole IP packet, found a fragment": patched(ACK, 20, 0x20),
    "for ACKNOWLEDGE, a payload and 3 B of pad, in all a multiple of 4, found 4 B": patched(ACK, 43, 0x30),
    "expected 16 B of extension headers for RDMA_READ_REQUEST, .* found 4 B": patched(
        ACK, 42, Opcode.RDMA_READ_REQUEST
    ),
    "expected no payload in RDMA_READ_REQUEST, found 5 B": patched(WRITE_ONLY, 42, Opcode.RDMA_READ_REQUEST),
    "expected a payload in SEND_FIRST, found none": patched(
        template().emit(Opcode.SEND_ONLY, 0), 42, Opcode.SEND_FIRST
    ),
    "expected one length, found 39 B by the IP header, 40 B by the UDP header": patched(SEND_IPV6, 18, 0, 39),
    "expected UDP and a BTH of 12 B, found a frame of 70 B": SEND_IPV6[:70],
}


@pytest.mark.parametrize(("message", "frame"), MALFORMED.items(), ids=MALFORMED)
def test_malformed(message, frame):
    with pytest.raises(MalformedPacket, match=message):
        parse(frame)


@settings(max_examples=300)
@given(frame=st.sampled_from(FRAMES), data=st.data())
def test_any_bytes_give_a_packet_none_or_malformed(frame, data):
    edits = data.draw(st.lists(st.tuples(st.integers(0, len(frame) - 1), st.integers(0, 255)), max_size=6))
    for at, value in edits:
        frame = patched(frame, at, value)
    frame = frame[: data.draw(st.integers(0, len(frame)))] + data.draw(st.binary(max_size=8))
    with contextlib.suppress(MalformedPacket):
        packet = parse(frame)
        assert packet is None or isinstance(packet, RocePacket)


@given(st.binary(max_size=200))
def test_random_bytes(frame):
    with contextlib.suppress(MalformedPacket):
        parse(frame)
    headers = bytes(12) + b"\x08\x00\x45"
    with contextlib.suppress(MalformedPacket):
        parse(headers + frame)


def test_write_first_carries_the_length_of_the_message():
    frame = template().emit(Opcode.RDMA_WRITE_FIRST, 0, reth(0, 1, 1 << 31), bytes(4096))
    assert parsed(frame).dma_length == 1 << 31
    assert len(frame) == 14 + 20 + 8 + 12 + 16 + 4096 + 4
