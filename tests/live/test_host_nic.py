"""A NIC with a kernel behind it, which here is one end of a socket pair that keeps frames apart."""

import os
import socket
from collections.abc import Iterator
from dataclasses import replace

import pytest

from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.fabric.plan import Nic as PlannedNic
from testbed.live.host_nic import (
    HOST_BUSY,
    KERNEL_QUEUE_FRAMES,
    KERNEL_QUEUE_FULL,
    NOT_ROUTED,
    HostNic,
    KernelFrame,
)

PLANNED = PlannedNic(
    name="h0-eth0", host="h0", index=0, mac="02:00:00:00:00:00", ipv4="10.0.0.1", ipv6="fd00::1",
    gateway_mac="02:01:00:00:00:01",
)  # fmt: skip
TO_ROUTER = bytes.fromhex("020100000001") + bytes.fromhex("020000000000")
ROCE_CLASS = 26 << 2
"""DSCP 26: priority 3; anything else here has priority 0."""


class Wire:
    """The sending side of the NIC's link, which the test asks for frames."""

    rate_bps = 100_000_000_000

    def __init__(self) -> None:
        self.paused_mask = 0
        self.kicks = 0

    def kick(self) -> None:
        self.kicks += 1


class Bench:
    """A NIC, its wire, and the kernel's end of its TAP."""

    def __init__(self, planned: PlannedNic = PLANNED) -> None:
        self.loop = EventLoop()
        self.dropped: list[str] = []
        self.nic = HostNic(
            planned,
            self.loop,
            on_drop=lambda _where, reason, _frame: self.dropped.append(reason),
            priority_by_traffic_class=priority_by_traffic_class({}),
        )
        self.wire = Wire()
        self.nic.attach(self.wire)
        self.kernel, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._file = os.dup(ours.fileno())
        ours.close()
        os.set_blocking(self._file, False)
        self.nic.connect_kernel(self._file, lambda: self.loop.now)

    def send(self, *frames: bytes) -> None:
        """Let the kernel send frames, and the NIC take them."""
        for frame in frames:
            self.kernel.send(frame)
        self.nic.take_from_kernel()
        self.loop.run()

    def close(self) -> None:
        self.kernel.close()
        os.close(self._file)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


def ip(mark: int, traffic_class: int = 0, destination: bytes = TO_ROUTER) -> bytes:
    return destination + b"\x08\x00\x45" + bytes([traffic_class]) + bytes(42) + mark.to_bytes(2, "big")


def left(bench: Bench) -> list[int]:
    """Return the marks of the frames that leave, in their order."""
    marks = []
    while (frame := bench.nic.dequeue()) is not None:
        marks.append(int.from_bytes(frame.data[-2:], "big"))
    return marks


def test_the_kernels_frames_leave_in_their_order(bench: Bench) -> None:
    bench.send(ip(1), ip(2), ip(3))
    assert bench.wire.kicks == 3
    assert bench.nic.has_more()
    assert left(bench) == [1, 2, 3]
    assert not bench.nic.has_more()
    assert bench.nic.kernel_sent_frames == 3


def test_a_paused_priority_waits_and_others_pass(bench: Bench) -> None:
    bench.send(ip(1, ROCE_CLASS), ip(2))
    bench.wire.paused_mask = 1 << 3
    assert left(bench) == [2]
    assert not bench.nic.has_more()
    bench.wire.paused_mask = 0
    assert bench.nic.has_more()
    assert left(bench) == [1]


def test_rdma_control_frames_go_first(bench: Bench) -> None:
    bench.send(ip(1), ip(2))
    for mark in (11, 12):
        bench.nic.send_control(ip(mark))
    assert left(bench) == [11, 12, 1, 2]


def test_the_queue_is_as_long_as_an_interfaces(bench: Bench) -> None:
    for start in range(0, KERNEL_QUEUE_FRAMES + 5, 5):
        bench.send(*(ip(start + i) for i in range(5)))
    assert len(left(bench)) == KERNEL_QUEUE_FRAMES
    assert bench.dropped == [KERNEL_QUEUE_FULL] * 5
    assert bench.nic.kernel_dropped == {KERNEL_QUEUE_FULL: 5}


@pytest.mark.parametrize(
    "frame",
    [
        ip(1, destination=b"\xff" * 6 + bytes(6)),
        ip(1, destination=bytes.fromhex("01005e000001") + bytes(6)),
        TO_ROUTER + b"\x86\xdd" + bytes(50),
        TO_ROUTER + b"\x88\xcc" + bytes(50),
    ],
    ids=["broadcast", "multicast", "IPv6 on an IPv4 fabric", "LLDP"],
)
def test_what_a_router_does_not_forward_stays(bench: Bench, frame: bytes) -> None:
    bench.send(frame)
    assert left(bench) == []
    assert bench.nic.kernel_dropped == {NOT_ROUTED: 1}
    assert bench.dropped == []  # it never was in the fabric


def test_arp_is_answered_at_once(bench: Bench) -> None:
    question = bytes.fromhex("ffffffffffff020000000000080600010800060400010200000000000a0000010000000000000a030002")
    bench.send(question)
    reply = bench.kernel.recv(100)
    assert reply[:14] == bytes.fromhex("0200000000000201000000010806")
    assert reply[22:32] == bytes.fromhex("0201000000010a030002")
    assert left(bench) == []


@pytest.mark.parametrize("length", [14, 20, 33])
def test_a_frame_without_a_whole_ip_header_stays(bench: Bench, length: int) -> None:
    bench.send((TO_ROUTER + b"\x08\x00" + bytes(40))[:length])
    assert left(bench) == []
    assert bench.nic.kernel_dropped == {NOT_ROUTED: 1}


def test_a_host_that_sends_without_end_is_read_in_portions_and_bounded(bench: Bench) -> None:
    sent = 0
    while True:
        try:
            bench.kernel.send(ip(sent % 65536), socket.MSG_DONTWAIT)
        except BlockingIOError:
            break
        sent += 1
    bench.nic.take_from_kernel()
    before = len(bench.loop._heap)
    assert 0 < before <= 64
    bench.loop.run()
    assert len(left(bench)) == before


def test_an_interface_that_is_gone_is_forgotten(bench: Bench) -> None:
    gone: list[int] = []
    bench.nic.on_gone = gone.append
    bench.nic.connect_kernel(os.open("/", os.O_RDONLY), lambda: 0)
    bench.nic.take_from_kernel()
    assert len(gone) == 1
    os.close(gone[0])


def test_what_is_not_roce_goes_to_the_kernel(bench: Bench) -> None:
    bench.nic.receive(Frame(ip(7)))
    assert bench.kernel.recv(100) == ip(7)
    assert bench.nic.kernel_received_frames == 1
    assert bench.nic.statistics()["rx_other_frames"] == 1


def test_a_kernel_that_takes_nothing_loses_frames_by_name(bench: Bench) -> None:
    frames = 0
    while not bench.dropped:
        bench.nic.receive(Frame(ip(frames % 65536)))
        frames += 1
    assert bench.dropped == [HOST_BUSY]
    assert bench.nic.kernel_received_frames == frames - 1


def test_a_bridged_fabric_carries_questions_and_broadcasts() -> None:
    bench = Bench(replace(PLANNED, gateway_mac=""))
    question = b"\xff" * 6 + bytes.fromhex("020000000000") + b"\x08\x06" + bytes(28)
    bench.send(question, b"\x33\x33" + bytes(70))
    sent = [bench.nic.dequeue(), bench.nic.dequeue()]
    assert [frame.data for frame in sent if frame] == [question, b"\x33\x33" + bytes(70)]
    assert bench.nic.kernel_dropped == {}
    bench.close()


def test_a_bridged_fabric_carries_nothing_that_is_no_packet() -> None:
    bench = Bench(replace(PLANNED, gateway_mac=""))
    bench.send(bytes(6) + bytes.fromhex("020000000000") + b"\x08\x00")
    assert bench.nic.dequeue() is None
    assert bench.nic.kernel_dropped == {NOT_ROUTED: 1}
    bench.close()


# --- Soft-RoCE -------------------------------------------------------------------------------------------------------


def roce_from_a_kernel(traffic_class: int) -> KernelFrame:
    """Return what passes for RoCE: a UDP datagram to port 4791 with a header that no modelled NIC takes."""
    ipv4 = b"\x45" + bytes([traffic_class]) + (60).to_bytes(2, "big") + bytes(5) + b"\x11" + bytes(10)
    udp = bytes(2) + (4791).to_bytes(2, "big") + (40).to_bytes(2, "big") + bytes(2)
    return KernelFrame(TO_ROUTER + b"\x08\x00" + ipv4 + udp + bytes(32))


def test_roce_that_a_kernel_sent_is_for_a_kernel_with_soft_roce(bench: Bench) -> None:
    bench.nic.soft_roce = True
    plain, marked = roce_from_a_kernel(ROCE_CLASS | 2), roce_from_a_kernel(ROCE_CLASS | 3)
    for frame in (plain, marked):
        bench.nic.receive(frame)
    assert [bench.kernel.recv(9000) for _ in range(2)] == [plain.data, marked.data]
    assert bench.nic.counters.np_ecn_marked_roce_packets == 1
    assert bench.dropped == []


def test_roce_of_modelled_nics_stays_theirs(bench: Bench) -> None:
    bench.nic.soft_roce = True
    bench.nic.receive(Frame(roce_from_a_kernel(ROCE_CLASS).data))
    assert len(bench.dropped) == 1
    assert bench.nic.kernel_received_frames == 0


def test_a_mark_on_tcp_is_no_mark_on_roce(bench: Bench) -> None:
    bench.nic.soft_roce = True
    bench.nic.receive(KernelFrame(ip(1, traffic_class=3)))
    assert bench.nic.counters.np_ecn_marked_roce_packets == 0
    assert bench.nic.kernel_received_frames == 1


def test_without_soft_roce_no_kernel_gets_roce(bench: Bench) -> None:
    bench.nic.receive(roce_from_a_kernel(ROCE_CLASS))
    assert len(bench.dropped) == 1
    assert bench.nic.kernel_received_frames == 0


def test_what_a_switch_copies_is_still_a_kernels(bench: Bench) -> None:
    bench.send(ip(1))
    frame = bench.nic.dequeue()
    assert frame is not None
    copy = frame.again(ip(2))
    assert isinstance(copy, KernelFrame)
    assert (copy.data, frame.data) == (ip(2), ip(1))
