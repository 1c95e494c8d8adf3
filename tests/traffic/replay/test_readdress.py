"""A captured packet with the fabric's addresses: all else as it was, and every checksum right."""

import struct
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from testbed.engine.loop import EventLoop
from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions
from tests.independent_check import check_frames
from tests.traffic.collectives.kit import star
from tests.traffic.replay.kit import Captured, pcap, sends, with_wrong_icrc
from tests.traffic.wire.vectors import CAPTURE
from traffic.nic import Nic
from traffic.replay.capture import CapturedPacket, read_packets
from traffic.replay.readdress import Readdressing
from traffic.wire.icrc import icrc
from traffic.wire.packet import addresses, parse


def nics(version: int = 4, **options: object) -> tuple[Nic, Nic]:
    plan = build_plan(FabricOptions.model_validate(star(2, **options)))
    first, second = (Nic(nic, EventLoop(), ip_version=version) for nic in plan.nics)
    return first, second


def captured(tmp_path: Path, *frames: bytes) -> list[CapturedPacket]:
    file = tmp_path / "some.pcap"
    file.write_bytes(pcap(*(Captured(0, frame) for frame in frames)))
    return list(read_packets(file, Counter()))


@pytest.mark.parametrize(("captured_as", "sent_as"), [*product([4, 6], [4, 6])])
def test_addresses_are_the_fabrics_and_all_else_is_the_packets(tmp_path: Path, captured_as: int, sent_as: int) -> None:
    (frame,) = sends(1, version=captured_as, source_port=51_234, traffic_class=0x6B, first_psn=0xABCDEF)
    source, destination = nics(sent_as)
    (packet,) = captured(tmp_path, frame)
    made = Readdressing(source, destination).frame(packet)
    before, after = parse(frame), parse(made)
    assert before is not None
    assert after == before
    assert addresses(made) == tuple(Nic.addresses_from(destination, source.ip)[at] for at in _halves(sent_as))
    assert made[:6].hex(":") == source.gateway_mac
    assert made[6:12].hex(":") == source.mac
    assert check_frames([(0, made)]).problems == []


def _halves(version: int) -> tuple[slice, slice]:
    size = 4 if version == 4 else 16
    return slice(0, size), slice(size, None)


def test_the_checksum_of_the_header(tmp_path: Path) -> None:
    made = Readdressing(*nics()).frame(captured(tmp_path, sends(1)[0])[0])
    total = sum(struct.unpack("!10H", made[14:34]))
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF


def test_bridged_hosts_send_to_each_other(tmp_path: Path) -> None:
    source, destination = nics(addressing="bridged")
    made = Readdressing(source, destination).frame(captured(tmp_path, sends(1)[0])[0])
    assert made[:6].hex(":") == destination.mac


def test_a_wrong_icrc_stays_wrong_in_the_same_bits(tmp_path: Path) -> None:
    (packet,) = captured(tmp_path, with_wrong_icrc(sends(1)[0], 0x0102_0304))
    made = Readdressing(*nics()).frame(packet)
    assert int.from_bytes(made[-4:], "little") ^ icrc(made) == 0x0102_0304


def test_packets_of_all_sizes_in_turn(tmp_path: Path) -> None:
    """Headers are kept for the next packet: lengths must be each one's own."""
    frames = [sends(1, payload=size)[0] for size in (256, 4096, 1, 2, 3, 1024)]
    way = Readdressing(*nics())
    for frame, packet in zip(frames, captured(tmp_path, *frames), strict=True):
        assert parse(way.frame(packet)) == parse(frame)


def test_a_real_capture_is_right_by_an_independent_check() -> None:
    source, destination = nics()
    made = [Readdressing(source, destination).frame(packet) for packet in read_packets(CAPTURE, Counter())]
    assert len(made) == 120
    assert all(icrc(frame) == int.from_bytes(frame[-4:], "little") for frame in made)
