"""The independent check must pass what is right, and must find each kind of mistake."""

import pytest

from tests.independent_check import check_capture, check_frames, tshark_problems
from tests.traffic.wire.vectors import CAPTURE, VECTORS, template
from traffic.wire.icrc import icrc
from traffic.wire.opcodes import Opcode
from traffic.wire.template import aeth, reth


def message(first_psn, packets=4, mtu=256):
    """Return the frames of one RDMA WRITE of `packets` packets, the last of which is half full."""
    sender, size = template(), (packets - 1) * mtu + mtu // 2
    frames = [sender.emit(Opcode.RDMA_WRITE_FIRST, first_psn, reth(0x1000, 7, size), bytes(mtu))]
    frames += [sender.emit(Opcode.RDMA_WRITE_MIDDLE, first_psn + n, b"", bytes(mtu)) for n in range(1, packets - 1)]
    return [*frames, sender.emit(Opcode.RDMA_WRITE_LAST, first_psn + packets - 1, b"", bytes(mtu // 2), True)]


def problems(*frames, **options):
    return check_frames(((0, frame) for frame in frames), **options).problems


def resealed(frame, at, value):
    """Return the frame with a byte changed and its checksums right again: a sender's mistake, not the wire's."""
    changed = bytearray(frame)
    changed[at] = value
    return bytes(changed[:-4]) + icrc(bytes(changed)).to_bytes(4, "little")


def test_soft_roce_capture_has_no_problems():
    report = check_capture(CAPTURE)
    assert report.problems == []
    assert (report.frames, report.other_frames, report.retransmissions, report.gaps) == (130, 0, 0, 0)
    assert report.by_opcode["UD_SEND_ONLY"] == 10
    assert report.by_opcode["ACKNOWLEDGE"] == 20
    assert report.by_opcode.total() == 130


def test_tshark_reads_the_same_fields():
    wireshark = tshark_problems(CAPTURE)
    if wireshark is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    assert wireshark.problems == []
    assert wireshark.fields == check_capture(CAPTURE).fields


@pytest.mark.parametrize("frame", VECTORS.values(), ids=VECTORS)
def test_vectors_have_no_problems(frame):
    assert problems(frame) == []


def test_messages_and_retransmissions():
    first, second = message(10), message(14)
    report = check_frames((0, frame) for frame in [*first, *second, *first[2:], *second])
    assert report.problems == []
    assert report.retransmissions == 6


def test_psn_wrap():
    sender = template()
    assert problems(sender.emit(Opcode.SEND_ONLY, 0xFFFFFF), sender.emit(Opcode.SEND_ONLY, 0)) == []


def test_a_gap_is_a_problem_unless_it_is_allowed():
    frames = message(10)
    assert problems(frames[0], frames[2], frames[3])[0] == "frame 2, RDMA_WRITE_MIDDLE: PSN 12, expected 11"
    assert problems(frames[0], frames[2], frames[3], allow_gaps=True) == []
    assert problems(*frames[1:], allow_gaps=True) == []
    assert problems(*frames[:3], *message(14), *message(10), *message(18), allow_gaps=True) == []


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([message(0)[0][:-1] + b"\x99"], "ICRC"),
        ([resealed(VECTORS["ack"], 14, 0x46)], "IP version and header length 0x46"),
        ([resealed(VECTORS["ack"], 25, 0)], "wrong IP header checksum"),
        ([VECTORS["ack"][:-1]], "IP length 48, but 47 B captured"),
        ([resealed(VECTORS["ack"], 39, 0x1D)], "UDP length does not match"),
        ([resealed(VECTORS["ack"], 41, 1)], "UDP checksum neither 0 nor right"),
        ([resealed(VECTORS["ack"], 42, 0x15)], "unknown opcode"),
        ([resealed(VECTORS["ack"], 43, 0x01)], "transport version 1"),
        ([resealed(VECTORS["ack"], 44, 0x7F)], "P_Key 0x7fff"),
        ([resealed(VECTORS["ack"], 46, 0x01)], "reserved bits before the QP set: 0x01"),
        ([resealed(VECTORS["ack"], 46, 0x40)], "BECN 1"),
        ([resealed(VECTORS["cnp"], 46, 0x00)], "BECN 0"),
        ([resealed(VECTORS["ack"], 50, 0x40)], "reserved bits before the PSN set: 0x40"),
        ([resealed(VECTORS["ack"], 54, 0x40)], "reserved AETH syndrome 0x40"),
        ([resealed(VECTORS["ack"], 54, 0x65)], "reserved AETH syndrome 0x65"),
        ([resealed(VECTORS["ack"], 42, 0x0A)], "too short for its headers"),
        ([resealed(VECTORS["cnp"], 60, 0x01)], "must be zero"),
        ([resealed(VECTORS["write_only"], 42, 0x0C)], "5 B of payload, expected none"),
        ([resealed(VECTORS["write_only"], 75, 0x01)], "pad count 3, payload and pad end in 010000"),
        ([resealed(VECTORS["write_only"], 69, 0x06)], "RETH length 6, but the message has 5 B"),
        ([message(0)[0], message(2)[1]], "PSN 3, expected 1"),
        ([message(0)[0], resealed(message(1)[0], 53, 1)], "out of order; message that is not complete: RDMA_WRITE"),
        ([*message(0)[:2], template().emit(Opcode.SEND_LAST, 2, b"", b"x")], "not complete: RDMA_WRITE"),
        ([message(0)[0], message(0, mtu=512)[1]], "512 B of payload, expected one MTU, 256"),
        ([template().emit(Opcode.SEND_FIRST, 0, b"", bytes(100))], "100 B of payload, expected one MTU"),
        ([*message(0), *message(0, packets=3)], "retransmitted as"),
        (
            [
                template().emit(Opcode.ACKNOWLEDGE, 0, aeth(0x1F, 5)),
                template().emit(Opcode.ACKNOWLEDGE, 0, aeth(0x1F, 4)),
            ],
            "MSN went back from 5 to 4",
        ),
        (
            [template().emit(Opcode.RDMA_READ_RESPONSE_MIDDLE, 4, b"", bytes(256))],
            "READ response with PSN 4, expected None",
        ),
        ([template().emit(Opcode.RDMA_READ_RESPONSE_ONLY, 4, aeth(0x60, 0))], "negative AETH syndrome 0x60"),
    ],
)
def test_each_mistake_is_found(frames, expected):
    assert any(expected in problem for problem in problems(*frames)), problems(*frames)


def test_other_frames_are_counted_not_judged():
    report = check_frames((0, frame) for frame in [b"\xff" * 60, b"", VECTORS["ack"]])
    assert (report.frames, report.other_frames, report.problems) == (3, 2, [])


def test_the_same_stream_at_two_interfaces_is_two_streams():
    frames = message(0)
    assert check_frames((port, frame) for frame in frames for port in (0, 1)).problems == []


def test_pcapng(tmp_path):
    from pcapng import FileWriter
    from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader

    path = tmp_path / "two.pcapng"
    section = SectionHeader(endianness="<")
    interface = section.new_member(InterfaceDescription, link_type=1, snaplen=9000)
    with path.open("wb") as stream:
        writer = FileWriter(stream, section)
        for frame in message(3):
            packet: EnhancedPacket = section.new_member(EnhancedPacket, interface_id=0, packet_len=len(frame))
            packet.packet_data = frame
            writer.write_block(packet)
    assert interface is not None
    report = check_capture(path)
    assert (report.frames, report.problems) == (4, [])
