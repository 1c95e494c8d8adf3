import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.wire.vectors import ACK, ADDRESSES, CNP, CONNECTX_CNP, NAK, WRITE_ONLY, template
from traffic.wire import layers
from traffic.wire.aeth import Syndrome
from traffic.wire.opcodes import SHAPES, Extension, Opcode
from traffic.wire.packet import parse
from traffic.wire.template import CNP_PADDING, aeth, immdt, ipv4_checksum, reth

EXTENSIONS = {
    Extension.RETH: reth(0x7F00_1234_5678_9ABC, 0xCAFE0001, 1 << 20),
    Extension.IMMDT: immdt(0xDEADBEEF),
    Extension.AETH: aeth(Syndrome.ACK, 0xABCDEF),
    Extension.IETH: bytes.fromhex("cafe0002"),
    Extension.ATOMIC_ETH: struct.pack("!QIQQ", 0x1000, 0xCAFE0003, 7, 9),
    Extension.ATOMIC_ACK_ETH: struct.pack("!Q", 41),
    Extension.CNP_PADDING: CNP_PADDING,
}
TEMPLATES = {version: template(version) for version in (4, 6)}
psns = st.one_of(st.integers(0, 2**24 - 1), st.sampled_from([0, 2**24 - 1]))
versions = st.sampled_from([4, 6])


def extension_of(opcode):
    return b"".join(EXTENSIONS[extension] for extension in SHAPES[opcode].extensions)


@st.composite
def payloads(draw, opcode):
    """Any size for the last packet of a message, a whole MTU for the others."""
    shape = SHAPES[opcode]
    if not shape.has_payload:
        return b""
    size = draw(st.integers(0, 4096) if shape.ends_message else st.sampled_from([256, 512, 1024, 2048, 4096]))
    return draw(st.randoms(use_true_random=False)).randbytes(size)


def build_with_scapy(version, opcode, psn, payload, ack_request, becn):
    source, destination = ADDRESSES[version]
    ip = (
        layers.IP(src=source, dst=destination, tos=2, ttl=64, flags="DF", id=0)
        if version == 4
        else layers.IPv6(src=source, dst=destination, tc=2, hlim=64)
    )
    bth = layers.BTH(opcode=opcode, dqpn=0x12, psn=psn, ackreq=int(ack_request), becn=int(becn))
    body = layers.Raw(extension_of(opcode) + payload)
    # The payload is opaque here: the pad that scapy works out is that of extension and payload, which is the same.
    frame = layers.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / ip
    return bytes(frame / layers.UDP(sport=49152, dport=4791, chksum=0) / bth / body)


def test_emit_write_only():
    frame = template(traffic_class=0x6A, destination_qp=0x11).emit(
        Opcode.RDMA_WRITE_ONLY, 0xFFFFFF, reth(0x1000, 0x2222, 5), b"hello", ack_request=True
    )
    assert frame == WRITE_ONLY


def test_emit_ack():
    assert template().emit(Opcode.ACKNOWLEDGE, 0, aeth(Syndrome.ACK, 1)) == ACK


def test_emit_nak():
    assert template().emit(Opcode.ACKNOWLEDGE, 7, aeth(Syndrome.NAK_PSN_SEQUENCE_ERROR, 0)) == NAK


def test_emit_cnp():
    assert template(traffic_class=0xC2).cnp() == CNP


def test_emit_connectx_cnp_but_for_the_ip_identification():
    ours = template(
        source_mac="7c:fe:90:64:3b:32",
        destination_mac="e4:1d:2d:ab:2b:c2",
        source_ip="10.0.17.1",
        destination_ip="10.0.18.1",
        source_port=0,
        destination_qp=0x118,
        traffic_class=0xC2,
    ).cnp()
    differ = [at for at in range(74) if ours[at] != CONNECTX_CNP[at]]
    assert set(differ) <= {18, 19, 24, 25, 70, 71, 72, 73}  # identification, checksum and ICRC, which cover it


def test_emit_takes_views_without_copying_them_first():
    data = bytes(range(256)) * 32
    view = memoryview(data)[256:4352]
    assert template().emit(Opcode.SEND_MIDDLE, 1, payload=view) == template().emit(
        Opcode.SEND_MIDDLE, 1, payload=bytes(view)
    )


@settings(max_examples=150, deadline=None)
@given(
    version=versions, opcode=st.sampled_from(Opcode), psn=psns, flags=st.tuples(*[st.booleans()] * 3), data=st.data()
)
def test_parse_reads_what_emit_wrote(version, opcode, psn, flags, data):
    ack_request, becn, solicited = flags
    payload = data.draw(payloads(opcode))
    extension = extension_of(opcode)
    frame = TEMPLATES[version].emit(opcode, psn, extension, payload, ack_request, becn, solicited)
    packet = parse(frame)
    assert packet is not None
    assert packet.icrc_ok
    assert (packet.opcode, packet.psn, packet.destination_qp) == (opcode, psn, 0x12)
    assert (packet.ack_request, packet.becn, packet.solicited) == flags
    assert (packet.traffic_class, packet.ecn, packet.source_port) == (2, 2, 49152)
    if SHAPES[opcode].has_payload:
        assert packet.payload == payload
    extensions = SHAPES[opcode].extensions
    assert (packet.immediate == 0xDEADBEEF) == (Extension.IMMDT in extensions)
    assert (packet.dma_length == 1 << 20) == (Extension.RETH in extensions)
    assert (packet.msn == 0xABCDEF and packet.syndrome == 0x1F) == (Extension.AETH in extensions)


@settings(max_examples=60, deadline=None)
@given(
    version=versions, opcode=st.sampled_from(Opcode), psn=psns, flags=st.tuples(*[st.booleans()] * 2), data=st.data()
)
def test_template_agrees_with_scapy(version, opcode, psn, flags, data):
    payload = data.draw(payloads(opcode))
    emitted = TEMPLATES[version].emit(opcode, psn, extension_of(opcode), payload, *flags)
    assert emitted == build_with_scapy(version, opcode, psn, payload, *flags)


def test_ipv4_checksum_of_a_textbook_header():
    # RFC 1071: the sum of all 16-bit words, checksum included, is all ones.
    header = bytes.fromhex("45000073000040004011 0000 c0a80001c0a800c7")
    assert ipv4_checksum(header) == 0xB861


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0x15, 0), "expected an RC opcode or CNP, found 0x15"),
        ((Opcode.SEND_ONLY, 1 << 24), "expected a PSN from 0 to 16777215, found 16777216"),
        ((Opcode.SEND_ONLY, -1), "expected a PSN from 0 to 16777215, found -1"),
        ((Opcode.RDMA_WRITE_ONLY, 0), "expected 16 B of extension headers for RDMA_WRITE_ONLY, found 0 B"),
        ((Opcode.ACKNOWLEDGE, 0, aeth(0, 0), b"x"), "expected no payload in ACKNOWLEDGE, found 1 B"),
        ((Opcode.SEND_FIRST, 0, b"", b"xyz"), "expected a payload of a whole MTU in SEND_FIRST, found 3 B"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        template().emit(*arguments)


def test_addresses_of_two_kinds():
    with pytest.raises(ValueError, match=r"expected two IPv4 or two IPv6 addresses, found 10\.0\.0\.1 and fd00::1"):
        template(destination_ip="fd00::1")
