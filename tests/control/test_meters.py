"""The token bucket against its definition, and what a meter does to frames: tokens = min(burst, tokens + rate * dt)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.control.meters import Meter, MeteredForwarder, TokenBucket, dscp_of, with_dscp
from testbed.engine.forwarding import DROPPED
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.units import SECOND
from tests.engine.kit import STEADY

GIGABIT = 10**9


def ipv4(dscp: int, size: int = 100, ecn: int = 2) -> bytes:
    head = bytes([0x45, dscp << 2 | ecn]) + (size - 14).to_bytes(2, "big") + bytes(4) + b"\x40\x11" + bytes(2)
    head += bytes([10, 0, 0, 1, 10, 0, 0, 2])
    checksum = 0xFFFF ^ ones_complement_sum(head)
    return bytes(12) + b"\x08\x00" + head[:10] + checksum.to_bytes(2, "big") + head[12:] + bytes(size - 34)


def ones_complement_sum(head: bytes) -> int:
    total = sum(int.from_bytes(head[at : at + 2], "big") for at in range(0, len(head), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ipv6(dscp: int, ecn: int = 2) -> bytes:
    traffic_class = dscp << 2 | ecn
    return bytes(12) + b"\x86\xdd" + bytes([0x60 | traffic_class >> 4, (traffic_class & 15) << 4]) + bytes(80)


def test_a_full_bucket_takes_its_burst_and_no_byte_more() -> None:
    bucket = TokenBucket(GIGABIT, 1000, 0)
    assert [bucket.takes(size, 0) for size in (600, 400, 1)] == [True, True, False]


def test_it_fills_at_its_rate_to_the_picosecond() -> None:
    byte_ps = 8 * SECOND // GIGABIT
    bucket = TokenBucket(GIGABIT, 1000, 0)
    bucket.takes(1000, 0)
    assert not bucket.takes(100, 100 * byte_ps - 1)
    assert bucket.takes(100, 100 * byte_ps)


def test_it_never_holds_more_than_its_burst() -> None:
    bucket = TokenBucket(GIGABIT, 1000, 0)
    assert not bucket.takes(1001, SECOND)
    assert bucket.takes(1000, SECOND)


@STEADY
@given(
    st.integers(1, 10**11), st.integers(0, 10**5),
    st.lists(st.tuples(st.integers(0, 10**8), st.integers(1, 9000)), max_size=40),
)  # fmt: skip
def test_it_follows_the_textbook(rate_bps: int, burst_bytes: int, frames: list[tuple[int, int]]) -> None:
    bucket, tokens, now = TokenBucket(rate_bps, burst_bytes, 0), Fraction(burst_bytes), 0
    for gap_ps, size in frames:
        now += gap_ps
        tokens = min(Fraction(burst_bytes), tokens + Fraction(rate_bps * gap_ps, 8 * SECOND))
        assert bucket.takes(size, now) == (size <= tokens)
        tokens -= size if size <= tokens else 0


@pytest.mark.parametrize("data", [ipv4(26), ipv6(26)])
def test_a_dscp_is_read_and_written_and_the_rest_left_alone(data: bytes) -> None:
    changed = with_dscp(data, 41)
    assert (dscp_of(data), dscp_of(changed)) == (26, 41)
    assert with_dscp(changed, 26) == data
    assert (data[15] if data[12] == 8 else data[15] >> 4) & 3 == 2


@given(st.integers(0, 63), st.integers(0, 63), st.integers(0, 3))
@STEADY
def test_the_ip_checksum_stays_right(before: int, after: int, ecn: int) -> None:
    assert ones_complement_sum(with_dscp(ipv4(before, ecn=ecn), after)[14:34]) == 0xFFFF


def test_a_frame_that_is_not_ip_is_not_metered() -> None:
    meter = Meter(TokenBucket(1, 0, 0), None, None)
    assert meter.passes(Frame(bytes(12) + b"\x88\x08" + bytes(50)), 0)
    assert meter.metered_frames == 0


def test_only_the_dscp_that_it_is_for() -> None:
    meter = Meter(TokenBucket(1, 0, 0), 26, None)
    assert meter.passes(Frame(ipv4(48)), 0)
    assert not meter.passes(Frame(ipv4(26)), 0)
    assert (meter.metered_frames, meter.exceeding_frames) == (1, 1)


class Noted:
    """A forwarder that notes what comes."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []

    def submit(self, in_port: int, frame: Frame) -> None:
        self.frames.append((in_port, frame.data))

    def answer(self, frame: Frame) -> int:
        return frame.answer


def test_what_exceeds_is_dropped_or_remarked_before_the_switch_sees_it() -> None:
    noted, loop = Noted(), EventLoop()
    metered = MeteredForwarder(noted, loop)
    metered.meters[1] = Meter(TokenBucket(GIGABIT, 100, 0), 26, None)
    metered.meters[2] = Meter(TokenBucket(GIGABIT, 100, 0), 26, remark=8)
    frames = {port: [Frame(ipv4(26)), Frame(ipv4(26))] for port in (1, 2, 3)}
    for port, pair in frames.items():
        for frame in pair:
            metered.submit(port, frame)
    assert frames[1][1].answer == DROPPED
    assert [(port, dscp_of(data)) for port, data in noted.frames] == [(1, 26), (2, 26), (2, 8), (3, 26), (3, 26)]
