"""From DSCP to priority: the usual map, a scenario's changes, and where the byte is in a frame."""

import pytest

from testbed.engine.classes import priority_by_traffic_class, traffic_class


@pytest.mark.parametrize(("dscp", "priority"), [(0, 0), (24, 3), (26, 3), (31, 3), (32, 0), (48, 6), (46, 0), (56, 6)])
def test_the_usual_map(dscp: int, priority: int) -> None:
    table = priority_by_traffic_class({})
    assert [table[dscp << 2 | ecn] for ecn in range(4)] == [priority] * 4


def test_a_scenarios_map_goes_before_the_usual_one() -> None:
    table = priority_by_traffic_class({26: 5, 10: 1})
    assert [table[dscp << 2] for dscp in (26, 10, 27, 48)] == [5, 1, 3, 6]


def test_the_byte_of_ipv4_and_ipv6() -> None:
    assert traffic_class(bytes(12) + b"\x08\x00\x45\x6a") == 0x6A
    assert traffic_class(bytes(12) + b"\x86\xdd\x66\xa0\x00\x00") == 0x6A
    assert traffic_class(bytes(12) + b"\x08\x06" + bytes(28)) is None
