"""The modelled fabric with forwarding computed in Python: conservation, delivery, the closed form of a path."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.impairments import Faults, RandomLoss
from testbed.engine.reasons import FAULT, OPENFLOW, SHARED_FULL
from testbed.fabric.paths import shortest_path
from tests.engine.fabric_kit import SHAPES, Lab, mark, plan_of
from tests.engine.kit import STEADY


@pytest.mark.parametrize("shape", SHAPES)
def test_one_frame_takes_the_closed_form_of_its_path(shape: str) -> None:
    """Store and forward: the sum over links of size * 8 / rate + delay, and over switches of latency."""
    plan, size = plan_of(shape), 4182
    last = len(plan.nics) - 1
    lab = Lab(plan)
    lab.send(0, 0, last, size)
    lab.loop.run()
    path = shortest_path(plan, plan.nics[0].name, plan.nics[last].name)
    serialisation = sum(-(-size * 8 * 10**12 // link.rate_bps) for link in path.links)
    expected = serialisation + sum(link.delay_ps for link in path.links) + sum(s.latency_ps for s in path.switches)
    assert lab.nics[plan.nics[last].name].received == [(expected, mark(0, last, 0))]
    assert lab.fabric.data_hops == len(path.links)


sends = st.lists(
    st.tuples(st.integers(0, 2_000_000), st.integers(0, 3), st.integers(0, 3), st.integers(84, 4200)),
    min_size=1,
    max_size=40,
)
"""(time, source, destination, size on the wire); a destination equal to the source stands for an unknown one."""


@STEADY
@given(st.sampled_from(["single-switch", "dumbbell", "leaf-spine"]), sends, st.integers(0, 3), st.integers(3, 12))
def test_every_frame_is_delivered_or_dropped_with_a_reason(
    shape: str, frames: list[tuple[int, int, int, int]], loss: int, buffer_kib: int
) -> None:
    lab = Lab(plan_of(shape, buffer=f"{buffer_kib}KiB"))
    lab.fabric.transmitters["h1-eth0"].impair(Faults([RandomLoss("any", loss / 4 or 1e-9, Random(1))]))
    for number, (time, source, to, size) in enumerate(frames):
        lab.send(time, source, to if to != source else 200, size, number)
    lab.loop.run()
    assert list(lab.fabric.conservation()) == []
    arrived = [mark for index in range(4) for mark in lab.received(index)]
    gone = [mark for _, _, mark in lab.drops]
    sent = [mark(s, d if d != s else 200, number) for number, (_, s, d, _) in enumerate(frames)]
    assert sorted(arrived + gone) == sorted(sent)
    assert all(mark >> 16 & 0xFF == index for index in range(4) for mark in lab.received(index))
    assert sum(lab.fabric.drops_by_reason().values()) == len(lab.drops)
    assert {reason for _, reason, _ in lab.drops} <= {OPENFLOW, SHARED_FULL, FAULT}


@STEADY
@given(sends)
def test_frames_of_a_flow_arrive_in_order(frames: list[tuple[int, int, int, int]]) -> None:
    lab = Lab(plan_of("leaf-spine"))
    ordered = sorted(frames)
    for number, (time, source, to, size) in enumerate(ordered):
        lab.send(time, source, to, size, number)
    lab.loop.run()
    assert lab.drops == []
    for index in range(4):
        by_source = [[m for m in lab.received(index) if m >> 24 == source] for source in range(4)]
        assert all(flow == sorted(flow) for flow in by_source)
    assert sum(len(lab.received(index)) for index in range(4)) == len(frames)


def test_incast_fills_the_memory_and_the_drops_are_counted_once() -> None:
    lab = Lab(plan_of("single-switch", buffer="20KiB"))
    for source in (1, 2, 3):
        for number in range(10):
            lab.send(0, source, 0, 4182, number)
    lab.loop.run()
    dropped = lab.fabric.drops_by_reason()
    assert dropped == {SHARED_FULL: len(lab.drops)}
    assert {where for where, _, _ in lab.drops} == {"leaf0-eth1"}
    assert len(lab.received(0)) == 30 - len(lab.drops)
    # three frames come in for one that leaves, until four of 4158 bytes wait: a fifth would exceed the 20480 bytes
    assert len(lab.drops) > 0
    assert lab.fabric.switches["leaf0"].memory.peak_bytes == 4 * 4158


def test_conservation_names_the_place_where_a_frame_vanished() -> None:
    lab = Lab(plan_of("single-switch"))
    lab.send(0, 0, 1, 4182)
    lab.loop.run()
    lab.fabric.switches["leaf0"].ports[1].received_frames += 1
    lab.fabric.transmitters["h0-eth0"].delivered_frames -= 1
    lab.fabric.ports["leaf0-eth2"].queue.left_frames += 1
    found = [(imbalance.where, imbalance.detail) for imbalance in lab.fabric.conservation()]
    assert found == [
        ("h0-eth0", "1 sent, 0 delivered, {} lost"),
        ("leaf0-eth2", "1 entered, 2 left, 0 waiting"),
        ("leaf0-eth2", "2 left the queue, 1 were sent"),
        ("leaf0", "2 frames received, 1 queued or dropped"),
    ]


def test_every_nic_of_a_host_has_its_own_wire() -> None:
    plan = plan_of("single-switch", nics_per_host=2)
    lab = Lab(plan)
    names = [nic.name for nic in plan.nics]
    lab.send(0, names.index("h0-eth1"), names.index("h3-eth1"), 1000)
    lab.loop.run()
    assert [name for name, nic in lab.nics.items() if nic.received] == ["h3-eth1"]
    assert lab.fabric.transmitters["h0-eth1"].sent_frames == 1
    assert lab.fabric.transmitters["h0-eth0"].sent_frames == 0
