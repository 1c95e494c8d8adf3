from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traffic.nic.pair import Pair
from traffic.nic.segmentation import packet_count, write_frames
from traffic.nic.verbs import SendRequest, WcStatus, WorkOpcode
from traffic.wire.opcodes import Opcode
from traffic.wire.packet import parse

MTUS = (256, 512, 1024, 2048, 4096)


def frames_of(pair: Pair) -> list[bytes]:
    """Let host a's requester make all its frames, without a wire."""
    requester = pair.qp_a.requester
    frames = []
    while requester.next_sequence < requester.send_limit:
        frames.append(requester.emit_next())
    return frames


class SilentPair(Pair):
    """A pair whose host a is not pulled from."""

    rate_bps = 100_000_000_000
    paused_mask = 0

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__(size, **options)
        self.a.attach(self)

    def kick(self) -> None:
        """Nothing is taken."""


@pytest.mark.parametrize("ip_version", [4, 6])
@given(size=st.integers(0, 3000), mtu=st.sampled_from(MTUS[:3]), immediate=st.sampled_from([None, 7]))
@settings(max_examples=40, deadline=None)
def test_frames_of_a_write(ip_version: int, size: int, mtu: int, immediate: int | None) -> None:
    pair = SilentPair(3000, mtu=mtu, ip_version=ip_version)
    pair.write(size, immediate=immediate)
    frames = frames_of(pair)
    packets = [parse(frame) for frame in frames]
    assert len(frames) == max(1, -(-size // mtu)) == packet_count(size, mtu)
    assert b"".join(bytes(packet.payload) for packet in packets if packet) == pair.sent[:size]
    assert all(packet is not None and len(packet.payload) == mtu for packet in packets[:-1])
    first, last = packets[0], packets[-1]
    assert first is not None
    assert last is not None
    assert first.dma_length == size
    assert last.immediate == immediate
    assert last.ack_request
    assert write_frames(size, mtu, ip_version, immediate=immediate is not None).sizes() == tuple(map(len, frames))


@pytest.mark.parametrize(
    ("size", "names"),
    [
        (0, ["SEND_ONLY"]),
        (256, ["SEND_ONLY"]),
        (257, ["SEND_FIRST", "SEND_LAST"]),
        (1024, ["SEND_FIRST", "SEND_MIDDLE", "SEND_MIDDLE", "SEND_LAST"]),
    ],
)
def test_opcodes_by_place(size: int, names: list[str]) -> None:
    pair = SilentPair(1024, mtu=256)
    pair.send(size)
    packets = [parse(frame) for frame in frames_of(pair)]
    assert [Opcode(packet.opcode).name for packet in packets if packet] == names


def test_frame_sizes_are_the_field_facts() -> None:
    # WRITE_MIDDLE with MTU 1024: 14 + 20 + 8 + 12 + 1024 + 4 = 1082; FIRST has a RETH of 16 more.
    frames = write_frames(3 * 1024, 1024, 4, immediate=False)
    assert (frames.count, frames.first_bytes, frames.middle_bytes, frames.last_bytes) == (3, 1098, 1082, 1082)


@given(
    sizes=st.lists(st.integers(0, 9000), min_size=1, max_size=5),
    mtu=st.sampled_from(MTUS),
    ack_every=st.sampled_from([1, 3, 16]),
)
@settings(max_examples=60, deadline=None)
def test_reassembly_of_any_size_and_mtu(sizes: list[int], mtu: int, ack_every: int) -> None:
    pair = Pair(sum(sizes) or 1, mtu=mtu, ack_every=ack_every)
    offset = 0
    for number, size in enumerate(sizes):
        pair.write(size, offset, work_id=number)
        offset += size
    pair.loop.run()
    assert bytes(pair.received[:offset]) == pair.sent[:offset], pair.story()
    assert [(c.work_id, c.status) for c in pair.qp_a.completions] == [
        (number, WcStatus.SUCCESS) for number in range(len(sizes))
    ]


def test_a_message_beyond_its_region_is_refused() -> None:
    pair = Pair(1024)
    with pytest.raises(ValueError, match=r"^expected a message within its region of 1024 B, found 1000\.\.1100$"):
        pair.write(100, 1000)


def test_a_message_beyond_2_gib_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^expected a message of 0 to 2147483648 B, found 2147483649 B: split it$"):
        SendRequest(0, WorkOpcode.SEND, None, 0, 2**31 + 1)
