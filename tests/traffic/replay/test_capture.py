"""The RoCEv2 packets of a capture: what is kept of them, and how everything else is called."""

from collections import Counter
from pathlib import Path

import pytest

from tests.traffic.replay.kit import (
    MICROSECOND,
    Captured,
    acknowledgement,
    pcap,
    sends,
    spaced,
    tagged,
    with_wrong_icrc,
)
from tests.traffic.wire.vectors import ACK, ADDRESSES, CAPTURE, CNP
from traffic.replay.capture import CUT_SHORT, CapturedPacket, Survey, address_text, read_packets, survey_capture
from traffic.wire.opcodes import Opcode


def read(tmp_path: Path, *frames: Captured) -> tuple[list[CapturedPacket], Counter[str]]:
    file, others = tmp_path / "some.pcap", Counter[str]()
    file.write_bytes(pcap(*frames))
    return list(read_packets(file, others)), others


def kinds(tmp_path: Path, *data: bytes) -> dict[str, int]:
    packets, others = read(tmp_path, *spaced(data))
    assert packets == []
    return dict(others)


@pytest.mark.parametrize("version", [4, 6])
def test_what_is_kept_of_a_packet(tmp_path: Path, version: int) -> None:
    (frame,) = sends(1, version=version, source_port=50_000, traffic_class=0x6B, destination_qp=0x99, first_psn=7)
    ((packet,), _) = read(tmp_path, Captured(10**9, frame))
    assert (address_text(packet.source), address_text(packet.destination)) == ADDRESSES[version]
    assert (packet.traffic_class, packet.source_port) == (0x6B, 50_000)
    assert (packet.opcode, packet.destination_qp, packet.psn) == (Opcode.SEND_ONLY, 0x99, 7)
    assert (packet.payload_bytes, packet.icrc_error, packet.is_data) == (256, 0, True)
    headers = 14 + (20 if version == 4 else 40) + 8
    assert packet.transport == frame[headers:-4]


def test_tags_and_what_follows_the_packet_are_taken_off(tmp_path: Path) -> None:
    """VLAN tags, Ethernet padding, an FCS: what the packet itself is stays the same."""
    packets, _ = read(tmp_path, *spaced([ACK, tagged(ACK, 5), tagged(ACK, 5, 6), ACK + bytes(4)], gap_ns=0))
    assert [packet.transport for packet in packets] == [packets[0].transport] * 4
    assert len({(packet.source, packet.psn, packet.icrc_error) for packet in packets}) == 1


def test_times_count_from_the_first_packet_and_never_go_back(tmp_path: Path) -> None:
    ack = acknowledgement()
    others = b"\xff" * 12 + b"\x08\x06" + bytes(46)
    frames = [(100, others), (1_000, ack), (3_000, ack), (2_000, ack), (4_000, ack)]
    packets, _ = read(tmp_path, *(Captured(time, data) for time, data in frames))
    assert [packet.time_ps for packet in packets] == [0, 2 * MICROSECOND, 2 * MICROSECOND, 3 * MICROSECOND]


def test_a_wrong_icrc_is_known_by_its_wrong_bits(tmp_path: Path) -> None:
    packets, others = read(tmp_path, *spaced([ACK, with_wrong_icrc(ACK, 0x8000_0001)]))
    assert [packet.icrc_error for packet in packets] == [0, 0x8000_0001]
    assert not others


def test_acknowledgements_and_notifications_are_no_data(tmp_path: Path) -> None:
    packets, _ = read(tmp_path, *spaced([ACK, CNP, *sends(1)]))
    assert [packet.is_data for packet in packets] == [False, False, True]


def test_everything_else_has_a_name(tmp_path: Path) -> None:
    ethernet = b"\xff" * 12
    ipv4 = b"\x45" + bytes(8)
    assert kinds(tmp_path, ethernet + b"\x08\x06" + bytes(46)) == {"ARP": 1}
    assert kinds(tmp_path, ethernet + b"\x88\xcc" + bytes(46)) == {"LLDP": 1}
    assert kinds(tmp_path, ethernet + b"\x12\x34" + bytes(46)) == {"EtherType 0x1234": 1}
    assert kinds(tmp_path, ethernet + b"\x00\x26" + bytes(46)) == {"IEEE 802.3 length": 1}
    assert kinds(tmp_path, ethernet + b"\x08\x00" + ipv4 + b"\x06" + bytes(36)) == {"IPv4 TCP": 1}
    assert kinds(tmp_path, ethernet + b"\x08\x00" + ipv4 + b"\xfd" + bytes(36)) == {"IPv4 protocol 253": 1}
    assert kinds(tmp_path, ethernet + b"\x86\xdd" + bytes(6) + b"\x3a" + bytes(53)) == {"IPv6 ICMPv6": 1}
    assert kinds(tmp_path, ethernet[:7]) == {"frames without a whole Ethernet header": 1}
    assert kinds(tmp_path, tagged(ethernet + b"\x08\x06" + bytes(46), 5)) == {"ARP": 1}


def test_packets_that_are_cut_or_contradict_themselves(tmp_path: Path) -> None:
    (frame,) = sends(1)
    packets, others = read(tmp_path, Captured(0, frame[:80], wire_bytes=len(frame)))
    assert (packets, others) == ([], {CUT_SHORT: 1})
    assert kinds(tmp_path, frame[:80]) == {"RoCEv2 packets that contradict themselves": 1}


def test_a_real_capture() -> None:
    """130 packets of soft-RoCE; ten are datagrams."""
    found = survey_capture(CAPTURE)
    assert (found.packets, found.data_packets, found.wrong_icrc) == (120, 100, 0)
    assert found.others == {"RoCEv2 packets that are not of a reliable connection": 10}
    assert [address_text(address) for address in found.addresses] == ["10.9.0.1", "10.9.0.2"]
    assert found.largest_payload_bytes == 1024
    assert found.span_ps > 20 * 10**12


def test_an_empty_capture(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(pcap())
    assert survey_capture(tmp_path / "empty.pcap") == Survey()
