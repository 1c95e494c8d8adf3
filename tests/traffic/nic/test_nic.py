import pytest

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from tests.traffic.nic.pair import Pair, planned_nic, statuses
from traffic.nic import Nic, connect
from traffic.nic.hooks import Hooks
from traffic.nic.requester import Requester
from traffic.nic.verbs import SendRequest, WcStatus, WorkOpcode
from traffic.wire.packet import parse
from traffic.wire.template import FrameTemplate


def test_corrupted_frame_dies_of_its_icrc() -> None:
    dropped: list[tuple[str, str]] = []
    pair = Pair(mtu=1024, timeout=4)
    pair.b.on_drop = lambda where, reason, _frame: dropped.append((where, reason))
    pair.there.corrupts = {1}
    pair.write(3 * 1024)
    pair.loop.run()
    assert pair.b.counters.rx_icrc_encapsulated == 1
    assert dropped == [("h2-eth0", "icrc")]
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS], pair.story()
    assert bytes(pair.received[:3072]) == pair.sent[:3072]


@pytest.mark.parametrize("ip_version", [4, 6])
def test_counters_of_the_port_agree(ip_version: int) -> None:
    pair = Pair(ip_version=ip_version, mtu=1024)
    pair.write(10_000)
    pair.loop.run()
    for sender, receiver in ((pair.a, pair.b), (pair.b, pair.a)):
        sent, received = sender.statistics(), receiver.statistics()
        for unit in ("packets", "bytes"):
            assert sent[f"tx_vport_rdma_unicast_{unit}"] == received[f"rx_vport_rdma_unicast_{unit}"] > 0
    assert pair.a.statistics()["sent_data_packets"] == pair.b.statistics()["received_data_packets"] == 10


def test_statistics_are_a_snapshot_that_cannot_be_changed() -> None:
    pair = Pair()
    before = pair.a.statistics()
    pair.write(1)
    assert before["sent_data_packets"] == 0
    with pytest.raises(TypeError):
        before["sent_data_packets"] = 1  # type: ignore[index]  # that it is refused is the point


def test_queue_pairs_take_turns_one_packet_each() -> None:
    pair = Pair(mtu=1024)
    other, _ = connect(pair.a, pair.b, pair.settings, source_port=50_000)
    pair.write(1024 * 4)
    target = pair.region_b
    other.post_send(SendRequest(1, WorkOpcode.RDMA_WRITE, pair.region_a, 0, 1024 * 3, target.address, target.rkey))
    order = []
    while (frame := pair.a.dequeue()) is not None:
        packet = parse(frame.data)
        assert packet is not None
        order.append((packet.destination_qp, packet.psn))
    # The first packet of the first QP was on the wire before the second QP had anything to send.
    assert order == [(17, 1), (18, 0), (17, 2), (18, 1), (17, 3), (18, 2)]


def test_control_frames_go_first() -> None:
    pair = Pair(mtu=1024)
    pair.write(1024 * 4)
    pair.a.send_control(b"\0" * 62)
    frame = pair.a.dequeue()
    assert frame is not None
    assert not frame.is_data
    following = pair.a.dequeue()
    assert following is not None
    assert following.is_data


def test_other_frames_go_to_the_host() -> None:
    pair = Pair()
    seen: list[Frame] = []
    pair.b.on_other_frame = seen.append
    arp = Frame(bytes.fromhex("ffffffffffff020000000001" + "0806") + bytes(46))
    pair.b.receive(arp)
    assert seen == [arp]
    assert pair.b.counters.rx_other_frames == 1


def _template(**changes: object) -> FrameTemplate:
    fields: dict[str, object] = {
        "source_mac": "02:00:00:00:00:01",
        "destination_mac": "02:00:00:00:00:02",
        "source_ip": "10.0.0.1",
        "destination_ip": "10.0.0.2",
        "source_port": 49152,
        "destination_qp": 17,
        "traffic_class": 106,
    }
    return FrameTemplate(**{**fields, **changes})  # type: ignore[arg-type]  # typed above


@pytest.mark.parametrize(
    ("changes", "counter"),
    [({"destination_qp": 99}, "rx_unknown_qp"), ({"source_ip": "10.0.0.77"}, "rx_wrong_address")],
)
def test_packets_for_nobody_are_counted_and_dropped(changes: dict[str, object], counter: str) -> None:
    pair = Pair()
    pair.post_receive(100)
    frame = _template(**changes).emit(0x04, 0, b"", b"data", True)
    pair.b.receive(Frame(frame, is_data=True))
    assert pair.b.statistics()[counter] == 1
    assert not pair.qp_b.completions
    assert pair.b.dequeue() is None


def test_malformed_packet_is_counted_and_dropped() -> None:
    pair = Pair()
    frame = _template().emit(0x04, 0, b"", b"data", True)
    pair.b.receive(Frame(frame[:50]))
    assert pair.b.counters.rx_malformed == 1


def test_ecn_mark_is_counted() -> None:
    pair = Pair(traffic_class=107)  # ECN bits 11: CE, as a switch would have set it
    pair.write(100)
    pair.loop.run()
    assert pair.b.counters.np_ecn_marked_roce_packets == 1


def test_cnp_without_congestion_control_is_ignored() -> None:
    pair = Pair()
    cnp = _template(source_ip="10.0.0.2", destination_ip="10.0.0.1").cnp()
    pair.a.receive(Frame(cnp))
    assert (pair.a.counters.rp_cnp_ignored, pair.a.counters.rp_cnp_handled) == (1, 0)


class Pacer(Hooks):
    """Half of the link's rate: after each packet, the QP waits twice the time that it takes on the wire."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_bytes_sent(self, requester: Requester, size_bytes: int, now: int) -> None:
        requester.not_before_ps = now + 2 * (size_bytes + 24) * 80

    def on_ack(self, requester: Requester, now: int) -> None:  # noqa: ARG002 - the hook's signature
        self.heard.append("ack")

    def on_cnp(self, requester: Requester, now: int) -> None:  # noqa: ARG002 - the hook's signature
        self.heard.append("cnp")


def test_congestion_control_says_when_a_queue_pair_may_send_next() -> None:
    pair = Pair(mtu=1024)
    pacer = Pacer()
    pair.qp_a.requester.congestion = pacer
    pair.a.receive(Frame(_template(source_ip="10.0.0.2", destination_ip="10.0.0.1").cnp()))
    pair.write(20 * 1024)
    pair.loop.run()
    assert statuses(pair.qp_a) == [WcStatus.SUCCESS]
    assert pacer.heard[0] == "cnp"
    assert "ack" in pacer.heard
    # 19 packets after the first, one each 2 * (1082 + 24) bytes of 80 ps (100 Gb/s).
    last = 2 * 80 * (18 * (1082 + 24) + (1098 + 24))
    assert pair.transcript[-2].startswith(f">> RDMA_WRITE_LAST(psn=19, ack request) at {last / 1e6:.3f}".rstrip("0"))


def test_a_paced_queue_pair_leaves_the_wire_to_others() -> None:
    pair = Pair(mtu=1024)
    pair.qp_a.requester.congestion = Pacer()
    other, _ = connect(pair.a, pair.b, pair.settings, source_port=50_000)
    pair.write(4 * 1024)
    target = pair.region_b
    other.post_send(SendRequest(1, WorkOpcode.RDMA_WRITE, pair.region_a, 0, 4096, target.address, target.rkey))
    pair.loop.run()
    assert statuses(other) == statuses(pair.qp_a) == [WcStatus.SUCCESS]
    # This pacer counts from when a packet starts: each time the wire is busy when one is due costs it half a packet.
    assert [step.split("psn=")[1][0] for step in pair.transcript if ">>" in step] == list("00112323")


def test_a_nic_without_a_link_says_so() -> None:
    loop = EventLoop()
    nic, peer = Nic(planned_nic(1, gateway=2), loop), Nic(planned_nic(2, gateway=1), loop)
    qp, _ = connect(nic, peer, Pair().settings, source_port=49152)
    with pytest.raises(RuntimeError, match="expected a NIC with a link; call `attach` before anything is posted"):
        qp.post_send(SendRequest(1, WorkOpcode.SEND))


def test_registered_memory_must_fit() -> None:
    nic = Nic(planned_nic(1, gateway=2), EventLoop())
    with pytest.raises(ValueError, match="expected 10 B of memory, found 9 B"):
        nic.register(10, memoryview(bytearray(9)))
    first, second = nic.register(10), nic.register(10)
    assert first.rkey != second.rkey
    assert not first.holds(second.address, 1)
