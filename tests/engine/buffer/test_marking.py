"""RED's ramp against its closed form, and CE marks in IPv4 and IPv6 headers."""

from ipaddress import ip_address
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.buffer.marking import Ramp, marked
from tests.engine.kit import STEADY
from traffic.wire.packet import parse
from traffic.wire.template import FrameTemplate, ipv4_checksum

KMIN, KMAX, PMAX = 100_000, 400_000, 0.2


def ramp(low: int = KMIN, high: int = KMAX, pmax: float = PMAX, seed: int = 1) -> Ramp:
    return Ramp(low, high, pmax, Random(seed))


@STEADY
@given(st.integers(0, 1_000_000))
def test_the_ramp_is_its_closed_form(queue: int) -> None:
    """p = 0 up to Kmin, Pmax * (q - Kmin) / (Kmax - Kmin) up to Kmax, 1 above."""
    expected = 0.0 if queue <= KMIN else 1.0 if queue > KMAX else PMAX * (queue - KMIN) / (KMAX - KMIN)
    assert ramp().probability(queue) == pytest.approx(expected)


@pytest.mark.parametrize("queue", [100_001, 175_000, 250_000, 325_000, 400_000])
def test_marks_come_with_the_ramps_probability(queue: int) -> None:
    """SONiC's ECN test in its form: many frames at one queue length, the share of marked ones against the formula."""
    frames, decide = 20_000, ramp()
    share = sum(decide.hits(queue) for _ in range(frames)) / frames
    expected = PMAX * (queue - KMIN) / (KMAX - KMIN)
    assert share == pytest.approx(expected, abs=4 * (0.2 * 0.8 / frames) ** 0.5)


def test_none_below_and_all_above() -> None:
    decide = ramp()
    assert not any(decide.hits(KMIN) for _ in range(1000))
    assert all(decide.hits(KMAX + 1) for _ in range(1000))


def test_a_step_marks_all_above_and_none_below() -> None:
    decide = ramp(41_600, 41_600, 1.0)
    assert [decide.hits(level) for level in (0, 41_600, 41_601)] == [False, False, True]
    assert [decide.probability(level) for level in (41_600, 41_601)] == [0.0, 1.0]


def test_equal_seeds_make_equal_marks() -> None:
    first, second, other = ramp(seed=7), ramp(seed=7), ramp(seed=8)
    marks = [[each.hits(250_000) for _ in range(200)] for each in (first, second, other)]
    assert marks[0] == marks[1] != marks[2]


def test_ends_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="low end at or below its high end, found 5 and 4"):
        ramp(5, 4)


def frame(version: int, traffic_class: int, identification: int = 0) -> bytes:
    addresses = ("10.0.0.1", "10.0.0.2") if version == 4 else ("fd00::1", "fd00::2")
    data = FrameTemplate(
        source_mac="02:00:00:00:00:01",
        destination_mac="02:00:00:00:00:02",
        source_ip=str(ip_address(addresses[0])),
        destination_ip=str(ip_address(addresses[1])),
        source_port=49152,
        destination_qp=17,
        traffic_class=traffic_class,
    ).emit(0x0A, 5, bytes(16), b"hello world!")
    if version == 6 or not identification:
        return data
    header = bytearray(data[14:34])
    header[4:6] = identification.to_bytes(2, "big")
    header[10:12] = bytes(2)
    header[10:12] = ipv4_checksum(header).to_bytes(2, "big")
    return data[:14] + bytes(header) + data[34:]


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("ect", [1, 2])
@pytest.mark.parametrize("dscp", [0, 26, 48, 63])
def test_ect_becomes_ce_and_nothing_else_changes(version: int, ect: int, dscp: int) -> None:
    before = frame(version, dscp << 2 | ect)
    after = marked(before)
    assert after is not None
    packet = parse(after)
    assert packet is not None
    assert packet.icrc_ok
    assert (packet.ecn, packet.psn) == (3, 5)
    changed = [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert set(changed) <= ({15, 24, 25} if version == 4 else {15})
    assert after == frame(version, dscp << 2 | 3)


@STEADY
@given(st.integers(0, 0xFFFF), st.integers(1, 2), st.integers(0, 63))
def test_the_checksum_is_that_of_the_new_header(identification: int, ect: int, dscp: int) -> None:
    after = marked(frame(4, dscp << 2 | ect, identification))
    assert after is not None
    header = bytearray(after[14:34])
    found, header[10:12] = int.from_bytes(header[10:12], "big"), bytes(2)
    assert found == ipv4_checksum(header)


@pytest.mark.parametrize("version", [4, 6])
def test_ce_stays_and_not_ect_cannot_be_marked(version: int) -> None:
    already = frame(version, 26 << 2 | 3)
    assert marked(already) is already
    assert marked(frame(version, 26 << 2)) is None


def test_what_is_not_ip_cannot_be_marked() -> None:
    assert marked(bytes(12) + b"\x08\x06" + bytes(46)) is None
