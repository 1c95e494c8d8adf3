"""A lane's buffer in a switch's memory: what it counts, and what happens to a sender that ignores its limit."""

import pytest

from testbed.engine.buffer.memory import SharedMemory
from testbed.engine.credit.group import CreditedGroup
from testbed.engine.credit.lane import Lane
from testbed.engine.reasons import VL_BUFFER_FULL
from tests.engine.credit.test_fabric import WIRE, CreditLab


def group_of(blocks: int) -> tuple[CreditedGroup, SharedMemory, list[int]]:
    freed: list[int] = []
    memory = SharedMemory(100_000, 50_000)
    return CreditedGroup(memory, 1, 4, Lane(3, blocks, freed.append)), memory, freed


def test_bytes_are_the_memorys_and_blocks_the_lanes() -> None:
    group, memory, freed = group_of(10)
    assert group.admit(65) is None
    assert group.admit(64) is None
    assert (group.lane.used_blocks, group.lane.received, group.lane.limit) == (3, 3, 10)
    assert (group.held_bytes, group.shared_bytes, memory.used_bytes, memory.shared_used_bytes) == (129, 0, 129, 0)
    group.release(65)
    assert (group.lane.used_blocks, group.lane.limit, memory.used_bytes, memory.peak_bytes) == (1, 12, 64, 129)
    assert freed == [3]


def test_a_sender_that_ignores_its_limit_loses_its_frame() -> None:
    group, memory, _ = group_of(2)
    assert group.admit(128) is None
    assert group.admit(1) == VL_BUFFER_FULL
    assert group.dropped == {VL_BUFFER_FULL: 1}
    assert memory.used_bytes == 128


@pytest.mark.parametrize("what", ["spent twice", "limit too high", "overrun"])
def test_the_books_show_credits_that_do_not_add_up(what: str) -> None:
    lab = CreditLab("single-switch")
    lab.send_ip(0, 0, 1, WIRE)
    lab.run()
    assert lab.books() == []
    control = lab.fabric.credit_control
    assert control is not None
    if what == "spent twice":
        control.ends["h0-eth0"].sending.spend(3, 66)
    elif what == "limit too high":
        control.ends["h0-eth0"].sending.limit[3] += 66
    else:
        lab.port("leaf0-eth1").dropped[VL_BUFFER_FULL] = 1
    assert len(lab.books()) == (2 if what == "overrun" else 1)
