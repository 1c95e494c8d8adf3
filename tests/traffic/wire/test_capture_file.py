"""Captures are read whole or not at all: every way in which a file can end early, or contradict itself, is an error."""

import gzip
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.independent_check import read_frames as read_independently
from tests.traffic.replay.kit import NANOSECOND, Captured, enhanced, pcap, pcapng, simple, spaced
from tests.traffic.wire.vectors import ACK, CAPTURE, NAK, WRITE_ONLY
from traffic.wire.capture_file import CaptureError, RawFrame, read_frames

SECTION_BYTES = 28
"""A pcapng that ends behind its section header has no packets, and that is all."""

FRAMES = spaced([WRITE_ONLY, ACK, NAK], gap_ns=1_234_000)


def read(tmp_path: Path, data: bytes) -> list[RawFrame]:
    file = tmp_path / "some.pcap"
    file.write_bytes(data)
    return list(read_frames(file))


def refused(tmp_path: Path, data: bytes) -> str:
    with pytest.raises(CaptureError) as caught:
        read(tmp_path, data)
    return str(caught.value).removeprefix(f"{tmp_path / 'some.pcap'}: ")


@pytest.mark.parametrize(("order", "nano"), [*product("<>", [True, False])])
def test_pcap(tmp_path: Path, order: str, nano: bool) -> None:
    found = read(tmp_path, pcap(*FRAMES, order=order, nano=nano))
    assert [frame.data for frame in found] == [WRITE_ONLY, ACK, NAK]
    assert [frame.number for frame in found] == [1, 2, 3]
    assert [frame.time_ps for frame in found] == [frame.time_ns * NANOSECOND for frame in FRAMES]


@pytest.mark.parametrize(("order", "resolution"), [*product("<>", [6, 9, 12])])
def test_pcapng(tmp_path: Path, order: str, resolution: int) -> None:
    frames = spaced([WRITE_ONLY, ACK, NAK], gap_ns=1_234_000, first_ns=10**12)
    found = read(tmp_path, pcapng(*frames, order=order, resolution=resolution))
    assert [frame.data for frame in found] == [WRITE_ONLY, ACK, NAK]
    assert [frame.time_ps for frame in found] == [frame.time_ns * NANOSECOND for frame in frames]


def test_a_real_capture_as_others_read_it() -> None:
    assert [frame.data for frame in read_frames(CAPTURE)] == [data for _, data in read_independently(CAPTURE)]


def test_a_frame_of_which_only_the_beginning_was_captured(tmp_path: Path) -> None:
    (frame,) = read(tmp_path, pcap(Captured(0, WRITE_ONLY[:40], wire_bytes=82)))
    assert (len(frame.data), frame.wire_bytes) == (40, 82)


# --- files that end too early ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_cut_anywhere(tmp_path: Path, make) -> None:
    """Cut behind a whole packet a file is only shorter; cut anywhere else it is an error with packet and offset."""
    whole = make(*FRAMES)
    ends = [len(make(*FRAMES[:count])) for count in range(4)]
    for size in range(len(whole) + 1):
        if make is pcapng and size == SECTION_BYTES:
            assert read(tmp_path, whole[:size]) == []
        elif size in ends:
            assert len(read(tmp_path, whole[:size])) == ends.index(size)
        elif size < ends[0]:
            refused(tmp_path, whole[:size])
        else:
            packet = sum(end <= size for end in ends)
            text = refused(tmp_path, whole[:size])
            assert text.startswith(f"packet {packet} (offset {ends[packet - 1]}): "), (size, text)


def test_empty(tmp_path: Path) -> None:
    assert refused(tmp_path, b"") == "expected a pcap or pcapng file, found an empty one"
    assert read(tmp_path, pcap()) == read(tmp_path, pcapng()) == []


def test_something_else(tmp_path: Path) -> None:
    text = refused(tmp_path, b"title: A scenario\n")
    assert text == "expected a pcap or pcapng file, found one that begins with 74 69 74 6c"
    assert refused(tmp_path, gzip.compress(pcap(*FRAMES))).endswith("found a compressed one; unpack it: gunzip")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be read: No such file"):
        list(read_frames(tmp_path / "none.pcap"))
    with pytest.raises(CaptureError, match="cannot be read: Is a directory"):
        list(read_frames(tmp_path))


# --- files that contradict themselves --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pcap, pcapng])
def test_not_ethernet(tmp_path: Path, make) -> None:
    text = refused(tmp_path, make(*FRAMES, link_type=113))
    assert text.endswith("expected Ethernet (link type 1), found link type 113")
    assert text.startswith("packet 1 (offset ")


def test_an_unknown_interface(tmp_path: Path) -> None:
    data = pcapng(FRAMES[0]) + enhanced(FRAMES[1], interface=7)
    text = refused(tmp_path, data)
    assert text == f"packet 2 (offset {len(pcapng(FRAMES[0]))}): expected one of 1 interfaces, found number 7"


def test_a_packet_without_time(tmp_path: Path) -> None:
    assert "which has none" in refused(tmp_path, pcapng() + simple(ACK))


def test_lengths_of_a_block_that_differ(tmp_path: Path) -> None:
    data = bytearray(pcapng(*FRAMES))
    data[-4] ^= 4
    assert refused(tmp_path, bytes(data)).startswith(f"packet 3 (offset {len(pcapng(*FRAMES[:2]))}): ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.data(), make=st.sampled_from([pcap, pcapng]))
def test_whatever_is_in_a_file_nothing_else_is_raised(tmp_path: Path, data: st.DataObject, make) -> None:
    content = bytearray(make(*FRAMES))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CaptureError):
        assert len(read(tmp_path, bytes(content))) <= 3
