from tests.traffic.nic.pair import Pair
from traffic.nic import connect, udp_source_port
from traffic.nic.states import QpState
from traffic.wire.packet import parse


def test_both_ends_are_ready_to_send() -> None:
    pair = Pair()
    assert pair.qp_a.state is pair.qp_b.state is QpState.RTS
    assert pair.qp_a.peer is not None
    assert (pair.qp_a.peer.queue_pair, pair.qp_a.peer.ip) == (pair.qp_b.number, "10.0.0.2")


def test_packets_carry_the_connection() -> None:
    pair = Pair(initial_psn=77, traffic_class=106)
    pair.write(10)
    assert pair.transcript == [">> RDMA_WRITE_ONLY(psn=77, ack request) at 0ps"]
    near, far = connect(pair.a, pair.b, pair.settings, source_port=54321)
    for data, qp in ((near.emit(0x0A, 1, bytes(16), b"data"), far), (far.emit(0x11, 0, b"\x1f\0\0\1"), near)):
        packet = parse(data)
        assert packet is not None
        assert (packet.destination_qp, packet.source_port, packet.traffic_class) == (qp.number, 54321, 106)


def test_source_ports_of_a_pair_are_all_different_and_in_range() -> None:
    ports = [udp_source_port(1, "h0-eth0", "h1-eth0", index) for index in range(1024)]
    assert len(set(ports)) == 1024
    assert 49152 <= min(ports) <= max(ports) <= 65535


def test_source_ports_follow_from_seed_and_names() -> None:
    port = udp_source_port(1, "h0-eth0", "h1-eth0", 0)
    assert port == udp_source_port(1, "h0-eth0", "h1-eth0", 0)
    assert port != udp_source_port(2, "h0-eth0", "h1-eth0", 0)
    assert port != udp_source_port(1, "h1-eth0", "h0-eth0", 0)


def test_source_ports_spread() -> None:
    """The lowest bits, which an ECMP hash may look at alone, are spread: chi-squared over 8 buckets, 7 degrees."""
    counts = [0] * 8
    for source in range(16):
        for index in range(64):
            counts[udp_source_port(1, f"h{source}-eth0", f"h{source + 1}-eth0", index) % 8] += 1
    expected = 16 * 64 / 8
    assert sum((count - expected) ** 2 / expected for count in counts) < 24.3  # the 0.1 % point
