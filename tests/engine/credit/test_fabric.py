"""Switches with credits: full rate against the buffer, no loss whatever the traffic, heads of line, deadlock, books."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.credit.switch import CreditPort
from testbed.engine.frame import Frame
from testbed.engine.impairments import Faults, LinkDown, RandomLoss
from testbed.fabric.buffers import BLOCK_BYTES, MOST_BLOCKS, largest_frame_bytes, vl_buffer_bytes
from testbed.scenario.qos import CreditOptions, QosOptions
from tests.engine.credit.kit import DropFrames
from tests.engine.fabric_kit import Lab, plan_of
from tests.engine.kit import ROCE_CLASS, SECOND_CLASS, SECOND_DSCP, STEADY

LARGEST = largest_frame_bytes(4096, 4)
BLOCKS = -(-LARGEST // BLOCK_BYTES)
WIRE = LARGEST + 24
FRAME_PS = WIRE * 80
UPDATE_PS = 84 * 80
DELAY_PS = 500_000
LATENCY_PS = 800_000


class CreditLab(Lab):
    """A lab with credits; lost updates are counted, not noted among the drops."""

    def __init__(self, shape: str, qos: dict[str, object] | None = None, **credits: object) -> None:
        options = QosOptions.model_validate({**(qos or {}), "credits": credits})
        super().__init__(plan_of(shape), qos=options)

    def _drop(self, where: str, reason: str, frame: Frame) -> None:
        if frame.data[12:14] == b"\x88\xb5":
            self.lost_control_frames += 1
        else:
            super()._drop(where, reason, frame)

    def books(self) -> list[object]:
        return [*self.fabric.conservation(), *self.fabric.accounting()]

    def port(self, name: str) -> CreditPort:
        port = self.fabric.ports[name]
        assert isinstance(port, CreditPort)
        return port


# --- full rate against the buffer -------------------------------------------------------------------------------------


def goodput_share(buffer_frames: int, frames: int = 300) -> float:
    """Return which share of the wire's rate one flow gets over two links, with an update for each frame."""
    lab = CreditLab("single-switch", vl_buffer=f"{buffer_frames * BLOCKS * BLOCK_BYTES}B", growth="64B")
    for number in range(frames):
        lab.send_ip(0, 0, 1, WIRE, number)
    lab.run()
    assert lab.drops == []
    assert lab.books() == []
    times = [time for time, _ in lab.nics["h1-eth0"].received]
    return (len(times) - 1) * FRAME_PS / (times[-1] - times[0])


LOOP_PS = FRAME_PS + DELAY_PS + LATENCY_PS + UPDATE_PS + DELAY_PS
"""From the start of a frame until the update that returns its credit is there, over an idle wire back."""
KNEE = -(-LOOP_PS // FRAME_PS)


@pytest.mark.parametrize("buffer_frames", [1, 2, 4, KNEE - 1])
def test_below_the_knee_the_rate_is_buffer_over_round_trip(buffer_frames: int) -> None:
    assert goodput_share(buffer_frames) == pytest.approx(buffer_frames * FRAME_PS / LOOP_PS, rel=0.02)


@pytest.mark.parametrize("buffer_frames", [KNEE, KNEE + 3])
def test_above_the_knee_the_rate_is_that_of_the_wire(buffer_frames: int) -> None:
    """All of it, but for the periodic updates that go the way of the data: 84 B in 10 us."""
    assert goodput_share(buffer_frames) == pytest.approx(1 - UPDATE_PS / 10_000_000, rel=1e-4)


@pytest.mark.parametrize("growth_frames", [1, 2, 5])
@pytest.mark.parametrize("shape", ["single-switch", "leaf-spine"])
def test_auto_is_enough_for_full_rate_with_traffic_both_ways(shape: str, growth_frames: int) -> None:
    """What comes back on the wire holds updates up by a frame, and they come for several frames at once."""
    lab = CreditLab(shape, growth=f"{growth_frames * BLOCKS * BLOCK_BYTES}B")
    for number in range(200):
        lab.send_ip(0, 0, 1, WIRE, number)
        lab.send_ip(123_456, 1, 0, WIRE, number)
    lab.run()
    for name in ("h0-eth0", "h1-eth0"):
        times = [time for time, _ in lab.nics[name].received]
        updates = lab.fabric.transmitters[lab.fabric.plan.far_end(name).name].sent_control_frames
        assert times[-1] - times[0] <= 199 * FRAME_PS + updates * UPDATE_PS
    assert lab.books() == []


def test_auto_restates_the_loop() -> None:
    plan = plan_of("single-switch")
    options = CreditOptions.model_validate({"growth": f"{2 * BLOCKS * BLOCK_BYTES}B"})
    loop_ps = FRAME_PS + DELAY_PS + LATENCY_PS + FRAME_PS + UPDATE_PS + DELAY_PS
    frames = -(-loop_ps // FRAME_PS) + 2 - 1
    assert vl_buffer_bytes(plan.link_at["leaf0-eth1"], LATENCY_PS, options, LARGEST) == frames * BLOCKS * BLOCK_BYTES
    assert vl_buffer_bytes(plan.link_at["leaf0-eth1"], 10**9, options, LARGEST) == MOST_BLOCKS * BLOCK_BYTES


# --- no loss ----------------------------------------------------------------------------------------------------------

SENDS = st.lists(
    st.tuples(
        st.integers(0, 20_000_000),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(84, WIRE),
        st.sampled_from([ROCE_CLASS, SECOND_CLASS, 0]),
    ),
    min_size=1,
    max_size=120,
)


@STEADY
@given(
    SENDS,
    st.sampled_from(["single-switch", "dumbbell", "leaf-spine"]),
    st.sampled_from(["auto", "4224B", "10000B", "128KiB"]),
    st.sampled_from(["0B", "8KiB", "128KiB"]),
)
def test_a_lane_loses_nothing_and_never_overruns(
    sends: list[tuple[int, int, int, int, int]], shape: str, buffer: str, growth: str
) -> None:
    lab = CreditLab(
        shape, {"dscp": {SECOND_DSCP: 4}, "lossless": [3, 4], "reserved": "0B"}, vl_buffer=buffer, growth=growth
    )
    sent = [send for send in sends if send[1] != send[2]]
    for number, (time, source, to, size, traffic_class) in enumerate(sent):
        lab.send_ip(time, source, to, size, number, traffic_class)
    lab.run()
    assert lab.drops == []
    assert sum(len(nic.received) for nic in lab.nics.values()) == len(sent)
    assert lab.books() == []
    for port in lab.fabric.ports.values():
        for each in port.statistics().credits:
            assert each.peak_blocks <= each.buffer_blocks
            assert each.held_blocks == 0


@STEADY
@given(st.integers(0, 10**6), st.floats(0.01, 0.3))
def test_books_balance_when_frames_and_updates_are_lost(seed: int, probability: float) -> None:
    lab = CreditLab("leaf-spine", growth="64B")
    random = Random(seed)
    for name in ("leaf0-eth3", "leaf1-eth4", "h0-eth0", "leaf0-eth1"):
        lab.fabric.transmitters[name].impair(Faults([RandomLoss("any", probability, random)]))
    for number in range(60):
        lab.send_ip(random.randrange(10**7), random.randrange(2), 2 + random.randrange(2), WIRE, number)
    lab.run()
    assert lab.books() == []
    assert sum(len(nic.received) for nic in lab.nics.values()) == 60 - len(lab.drops)
    assert {reason for _, reason, _ in lab.drops} <= {"fault"}


def test_a_dead_link_ends_the_run_with_what_waits_for_its_credit() -> None:
    lab = CreditLab("dumbbell")
    lab.fabric.transmitters["left0-eth3"].impair(Faults([LinkDown(5_000_000, None)]))
    lab.fabric.transmitters["right0-eth3"].impair(Faults([LinkDown(5_000_000, None)]))
    for number in range(60):
        lab.send_ip(0, 0, 2, WIRE, number)
    lab.run()
    assert lab.fabric.halted is not None
    assert "left0-eth3 priority 3 has no credit from right0-eth3" in lab.fabric.halted
    assert lab.books() == []


def test_a_link_that_comes_back_has_its_credits_again() -> None:
    lab = CreditLab("dumbbell")
    for name in ("left0-eth3", "right0-eth3"):
        lab.fabric.transmitters[name].impair(Faults([LinkDown(5_000_000, 400_000_000)]))
    for number in range(60):
        lab.send_ip(0, 0, 2, WIRE, number)
    lab.run()
    assert lab.fabric.halted is None
    lost = [mark for _, reason, mark in lab.drops if reason == "link_down"]
    assert 0 < len(lost) == len(lab.drops) < 20
    assert len(lab.nics["h2-eth0"].received) == 60 - len(lost)
    assert lab.books() == []


def test_a_lane_cannot_be_made_lossy() -> None:
    lab = CreditLab("single-switch")
    switch = lab.fabric.qos_switches()["leaf0"]
    with pytest.raises(ValueError, match="priority 3 of port 1 has credits"):
        switch.set_lossless("leaf0-eth1", 3, False)
    switch.set_lossless("leaf0-eth1", 3, True)


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_an_incast_waits_at_its_senders_and_drops_nothing() -> None:
    lab = CreditLab("single-switch", growth="64B")
    for source in (0, 1, 2):
        for number in range(50):
            lab.send_ip(0, source, 3, WIRE, number)
    lab.run()
    assert lab.drops == []
    control = lab.fabric.credit_control
    assert control is not None
    for source in range(3):
        (lane,) = control.statistics(f"h{source}-eth0")
        assert lane.credit_waits > 10
        # each gets a third of the wire to h3, and has its buffer's share to send ahead
        assert lane.credit_wait_ps == pytest.approx(2 * 50 * FRAME_PS, rel=0.3)
    assert lab.port("leaf0-eth4").statistics().credits[0].credit_waits == 0
    times = [time for time, _ in lab.nics["h3-eth0"].received]
    assert times[-1] - times[0] == pytest.approx(149 * FRAME_PS, rel=0.01)


def test_a_lane_without_credit_does_not_hold_up_the_others() -> None:
    """The uplinks' lane 3 is stuck, as its updates are lost; lane 4 and the lossy priority go on."""
    qos: dict[str, object] = {"dscp": {SECOND_DSCP: 4}, "lossless": [3, 4]}
    lab = CreditLab("dumbbell", qos, vl_buffer=f"{2 * BLOCKS * BLOCK_BYTES}B", growth="64B", update="1s")
    lab.fabric.transmitters["right0-eth3"].impair(DropFrames(*range(100), control=True))
    for number in range(5):
        lab.send_ip(0, 0, 2, WIRE, number)
    for number in range(2):
        lab.send_ip(30_000_000, 1, 3, WIRE, number, SECOND_CLASS)
        lab.send_ip(30_000_000, 1, 3, WIRE, number, 0)
    lab.loop.run(until_ps=50_000_000)
    assert (len(lab.nics["h2-eth0"].received), len(lab.nics["h3-eth0"].received)) == (2, 4)


def test_it_costs_nothing_when_off() -> None:
    lab = Lab(plan_of("single-switch"), qos=QosOptions())
    assert lab.fabric.credit_control is None
    for port in lab.fabric.qos_switches()["leaf0"].qos_ports():
        assert (type(port).__name__, type(port.scheduler).__name__) == ("QosPort", "PortScheduler")
        assert port.statistics().credits == ()
    assert lab.fabric.transmitters["h0-eth0"]._source == lab.nics["h0-eth0"].dequeue


# --- deadlock ---------------------------------------------------------------------------------------------------------


def ring_of_flows(frames: int) -> CreditLab:
    """Five switches in a ring, each with a host that sends to the one two switches on: every buffer needs the next."""
    lab = CreditLab("ring", vl_buffer=f"{2 * BLOCKS * BLOCK_BYTES}B")
    for source in range(5):
        for number in range(frames):
            lab.send_ip(0, source, (source + 2) % 5, WIRE, number)
    return lab


def test_a_cycle_of_waiting_buffers_is_found_and_named() -> None:
    lab = ring_of_flows(40)
    lab.run()
    control = lab.fabric.credit_control
    assert control is not None
    (found,) = control.monitor.deadlocks
    assert len(found.steps) == 5
    assert lab.fabric.halted is not None
    assert "leaf0-eth2 priority 3" in lab.fabric.halted
    assert "has no credit from leaf1-eth" in lab.fabric.halted
    assert list(lab.fabric.conservation()) == []
    assert lab.drops == []


def test_no_cycle_is_found_where_there_is_none() -> None:
    lab = CreditLab("ring", vl_buffer=f"{2 * BLOCKS * BLOCK_BYTES}B")
    for source in range(4):  # one link of the ring carries nothing
        for number in range(40):
            lab.send_ip(0, source, source + 1, WIRE, number)
    lab.run()
    control = lab.fabric.credit_control
    assert control is not None
    assert control.monitor.deadlocks == []
    assert lab.fabric.halted is None
    assert sum(len(nic.received) for nic in lab.nics.values()) == 160
    assert lab.books() == []
