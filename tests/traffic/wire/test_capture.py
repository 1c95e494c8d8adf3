"""Every frame of a soft-RoCE capture through the three ways of the wire format."""

from collections import Counter

import pytest

from tests.independent_check import read_frames
from tests.traffic.wire.vectors import CAPTURE
from traffic.wire.icrc import icrc
from traffic.wire.layers import AETH, BTH, IP, RETH, UDP, AtomicAckETH, AtomicETH, Ether, Raw, icrc_is_right
from traffic.wire.opcodes import EXTENSION_BYTES, Opcode
from traffic.wire.packet import MalformedPacket, addresses, parse
from traffic.wire.template import FrameTemplate

FRAMES = [frame for _, frame in read_frames(CAPTURE)]
DATAGRAMS = [frame for frame in FRAMES if frame[42] == 0x64]
RELIABLE = [frame for frame in FRAMES if frame[42] != 0x64]


def test_parse_counts_by_opcode():
    counts = Counter(Opcode(packet.opcode).name for packet in map(parse, RELIABLE) if packet)
    assert counts == {
        "SEND_FIRST": 15, "SEND_MIDDLE": 15, "SEND_LAST": 15,
        "RDMA_WRITE_FIRST": 5, "RDMA_WRITE_MIDDLE": 10, "RDMA_WRITE_LAST": 5,
        "RDMA_READ_REQUEST": 5,
        "RDMA_READ_RESPONSE_FIRST": 5, "RDMA_READ_RESPONSE_MIDDLE": 10, "RDMA_READ_RESPONSE_LAST": 5,
        "ACKNOWLEDGE": 20, "FETCH_ADD": 5, "ATOMIC_ACKNOWLEDGE": 5,
    }  # fmt: skip


def test_icrc_of_every_frame():
    assert len(FRAMES) == 130
    for frame in FRAMES:
        assert icrc(frame) == int.from_bytes(frame[-4:], "little")


def test_datagrams_are_another_transport():
    for frame in DATAGRAMS:
        with pytest.raises(MalformedPacket, match="expected an RC opcode or CNP, found 0x64"):
            parse(frame)


def test_parse_agrees_with_scapy_field_by_field():
    for frame in RELIABLE:
        packet, read = parse(frame), Ether(frame)
        assert packet is not None
        assert packet.icrc_ok
        assert icrc_is_right(read)
        bth = read[BTH]
        assert (packet.opcode, packet.destination_qp, packet.psn) == (bth.opcode, bth.dqpn, bth.psn)
        assert (packet.ack_request, packet.solicited, packet.becn) == (bth.ackreq, bth.solicited, bth.becn)
        assert (packet.traffic_class, packet.source_port) == (read[IP].tos, read[UDP].sport)
        if RETH in read:
            reth = read[RETH]
            assert (packet.remote_address, packet.rkey, packet.dma_length) == (reth.va, reth.rkey, reth.dmalen)
        if AETH in read:
            assert (packet.syndrome, packet.msn) == (read[AETH].syndrome, read[AETH].msn)
        if Raw in read:
            assert packet.payload == read[Raw].load


def test_parse_atomics():
    requests = [(parse(frame), Ether(frame)) for frame in RELIABLE if frame[42] == Opcode.FETCH_ADD]
    for packet, read in requests:
        atomic = read[AtomicETH]
        assert (packet.remote_address, packet.rkey) == (atomic.va, atomic.rkey)
        operands = atomic.swap_or_add.to_bytes(8, "big") + atomic.compare.to_bytes(8, "big")
        assert packet.payload == operands
    responses = [(parse(frame), Ether(frame)) for frame in RELIABLE if frame[42] == Opcode.ATOMIC_ACKNOWLEDGE]
    for packet, read in responses:
        assert packet.payload == read[AtomicAckETH].value_before.to_bytes(8, "big")


def test_scapy_builds_the_same_bytes_again():
    for frame in RELIABLE:
        read = Ether(frame)
        read[BTH].icrc = read[BTH].pad = read[BTH].padcount = None
        assert bytes(read) == frame


def test_template_emits_the_same_bytes():
    for frame in RELIABLE:
        packet = parse(frame)
        assert packet is not None
        source, destination = (".".join(map(str, address)) for address in addresses(frame) or ())
        template = FrameTemplate(
            source_mac=frame[6:12].hex(":"),
            destination_mac=frame[:6].hex(":"),
            source_ip=source,
            destination_ip=destination,
            source_port=packet.source_port,
            destination_qp=packet.destination_qp,
            traffic_class=packet.traffic_class,
            ttl=frame[22],
        )
        extension = frame[54 : 54 + EXTENSION_BYTES[packet.opcode]]
        payload = b"" if packet.opcode >= Opcode.ATOMIC_ACKNOWLEDGE else packet.payload
        emitted = template.emit(packet.opcode, packet.psn, extension, payload, packet.ack_request)
        # Linux numbers IP packets; with its identification in the place of our 0, every byte is the same.
        numbered = emitted[:18] + frame[18:20] + emitted[20:]
        assert numbered[26:-4] == frame[26:-4]
        assert numbered[:24] == frame[:24]
        assert icrc(numbered) == int.from_bytes(frame[-4:], "little")
