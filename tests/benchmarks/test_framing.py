"""The arithmetic that explains completion times: its bytes are those of real frames, its times those of the peers."""

import pytest

from benchmarks.framing import ROCELAB, way_us
from benchmarks.peers import W1_FLAT, W1_RING, W4_FLAT, Workload, expected_us
from testbed.engine.frame import wire_bytes
from traffic.wire.opcodes import Opcode
from traffic.wire.template import FrameTemplate, aeth

TEMPLATE = FrameTemplate(
    source_mac="02:00:00:00:00:01", destination_mac="02:00:00:00:00:02", source_ip="10.0.0.1",
    destination_ip="10.0.0.2", source_port=49152, destination_qp=17, traffic_class=106,
)  # fmt: skip


def test_bytes_are_those_of_real_frames() -> None:
    data = TEMPLATE.emit(int(Opcode.RDMA_WRITE_MIDDLE), 0, b"", bytes(4096))
    acknowledge = TEMPLATE.emit(int(Opcode.ACKNOWLEDGE), 0, aeth(0x1F, 1))
    assert ROCELAB.data_bytes == wire_bytes(len(data)) == 4178
    assert ROCELAB.ack_bytes == wire_bytes(len(acknowledge)) == 86


def test_a_wire_carries_data_and_a_share_of_acks() -> None:
    """n (data + ACK / k) 8 / rate: 1,000 packets of 4,178 B and 100 ACKs of 86 B at 100 Gb/s."""
    assert ROCELAB.wire_us(1000, 10) == pytest.approx((1000 * 4178 + 100 * 86) * 8 / 100_000)


def test_the_last_packet_is_stored_and_forwarded() -> None:
    """Two cables and a switch of 0.5 us each and one more serialisation; four cables, three switches, three more."""
    serialisation_us = 4178 * 8 / 100_000
    assert way_us(2) == pytest.approx(1.5 + serialisation_us)
    assert way_us(4) == pytest.approx(3.5 + 3 * serialisation_us)


@pytest.mark.parametrize("workload", [W1_FLAT, W4_FLAT], ids=lambda workload: workload.name)
@pytest.mark.parametrize("ack_every", [1, 16])
def test_near_the_peers(workload: Workload, ack_every: int) -> None:
    """Headers and ACKs move the completion time by less than 2 %, in either direction."""
    first = min(peer.completion_us[0] for peer in workload.peers)
    last = max(peer.completion_us[1] for peer in workload.peers)
    ours = expected_us(workload, ack_every)
    assert 0.98 * first < ours[0] < ours[1] < 1.02 * last


def test_a_dependent_ring_takes_its_steps_one_by_one() -> None:
    """30 steps of 256 packets; three of four ways stay on a leaf, one crosses a spine."""
    step_us = ROCELAB.wire_us(256, 16) + (3 * way_us(2) + way_us(4)) / 4
    assert expected_us(W1_RING, 16) == pytest.approx((30 * step_us, 30 * step_us))
