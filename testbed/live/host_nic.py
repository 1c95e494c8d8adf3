"""A NIC with a kernel behind it: frames of real applications share the link with the queue pairs' packets.

    kernel --> TAP --> kernel queue --\\
    queue pairs --------------------- >--> dequeue() --> transmitter      (in turn, frame by frame)

    receive(frame) --> RoCE: the NIC's own, as ever; with Soft-RoCE, what a kernel has sent --> TAP --> kernel
                   \\-> anything else --> TAP --> kernel

The kernel queue is as long as a Linux interface's by default, drop-tail, one for each priority: a pause holds up the
kernel's frames of that priority like the RDMA ones. Control frames of RDMA (ACKs, CNPs) go before both.

What a routed fabric does not carry stays here: ARP is answered (`arp`), and frames to many (broadcast, multicast) or of
another IP version are dropped and counted, as a leaf that routes would. A bridged fabric carries everything.

Known limits: offloads of a real NIC (segmentation, checksums) are the kernel's work here.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence

from testbed.engine.classes import traffic_class
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.fabric import plan
from testbed.live.arp import is_arp, proxy_reply
from testbed.scenario.qos import PRIORITIES
from traffic.nic.nic import DropHandler, Nic
from traffic.wire.opcodes import ROCE_UDP_PORT

KERNEL_QUEUE_FRAMES = 1000
"""Linux's default `txqueuelen`."""

READ_BYTES = 9216 + 18
_READS = 64
"""Frames that are read at a time: a host that sends without end must not keep the clock from its other work."""

# Why a NIC drops a frame of its host's kernel, or for it.
KERNEL_QUEUE_FULL = "kernel_queue_full"
NOT_ROUTED = "not_routed"
HOST_BUSY = "rx_out_of_buffer"

_ETHERTYPE_OF = {4: b"\x08\x00", 6: b"\x86\xdd"}
_SHORTEST = {4: 14 + 20, 6: 14 + 40}
"""A frame with less than a whole IP header is none that a router forwards."""
_MARKED = 3
"""The two bits of a traffic class that say "congestion experienced"."""
_UDP = 17
_ROCE_PORT = ROCE_UDP_PORT.to_bytes(2, "big")
_TO_MANY = 1
"""The bit of a MAC address's first byte that says multicast or broadcast."""


class KernelFrame(Frame):
    """A frame that a host's kernel has sent: RoCE in it belongs to no queue pair of a modelled NIC."""

    __slots__ = ()


class HostNic(Nic):
    """A NIC whose host has a kernel, reached by the file of the host's TAP.

    Attributes:
        soft_roce: whether the kernel takes RoCE that kernels send; else it finds no queue pair, as in a real RDMA NIC.
        on_gone: called with the TAP's file when the host's interface is gone.
        kernel_sent_frames, kernel_received_frames: passed between kernel and link. kernel_dropped: frames by reason.
    """

    __slots__ = (
        "_bridged", "_coming", "_ethertype", "_file", "_kernel", "_kernel_turn", "_now_ps", "_router_mac", "_shortest",
        "_waiting", "kernel_dropped", "kernel_received_frames", "kernel_sent_frames", "on_gone", "soft_roce",
    )  # fmt: skip

    def __init__(
        self,
        planned: plan.Nic,
        loop: EventLoop,
        *,
        ip_version: int = 4,
        on_drop: DropHandler | None = None,
        priority_by_traffic_class: Sequence[int] = bytes(256),
    ) -> None:
        super().__init__(
            planned,
            loop,
            ip_version=ip_version,
            on_drop=on_drop,
            priority_by_traffic_class=priority_by_traffic_class,
        )
        self.kernel_sent_frames = self.kernel_received_frames = 0
        self.kernel_dropped: dict[str, int] = {}
        self.on_other_frame = self._to_kernel
        self.soft_roce = False
        self._bridged = not planned.gateway_mac
        self._ethertype = _ETHERTYPE_OF[ip_version]
        self._router_mac = bytes.fromhex(planned.gateway_mac.replace(":", ""))
        self._file = -1
        self._now_ps: Callable[[], int] = lambda: loop.now
        self._kernel: tuple[deque[Frame], ...] = tuple(deque() for _ in range(PRIORITIES))
        self._waiting = self._coming = 0
        self._shortest = _SHORTEST[ip_version]
        self.on_gone: Callable[[int], None] = _ignore
        self._kernel_turn = False

    def connect_kernel(self, file: int, now_ps: Callable[[], int]) -> None:
        """Exchange frames with the kernel by `file` (a TAP's, non-blocking); `now_ps` says when what comes in comes."""
        self._file = file
        self._now_ps = now_ps

    # --- from the kernel ----------------------------------------------------------------------------------------------

    def take_from_kernel(self) -> None:
        """Read what the kernel has sent; what is more than `_READS` comes with the next call."""
        for _ in range(_READS):
            try:
                data = os.read(self._file, READ_BYTES)
            except BlockingIOError:
                return
            except OSError:  # somebody in the host has removed the interface
                self.on_gone(self._file)
                return
            self._take(data)

    def _take(self, data: bytes) -> None:
        if self._bridged and len(data) >= self._shortest:
            self._wants_to_send(data)
        elif is_arp(data):
            reply = proxy_reply(data, self._router_mac, self.ip)
            if reply is not None:
                self._write(reply)
        elif data[0] & _TO_MANY or data[12:14] != self._ethertype or len(data) < self._shortest:
            self._kernel_drop(NOT_ROUTED, Frame(data))
        else:
            self._wants_to_send(data)

    def _wants_to_send(self, data: bytes) -> None:
        frame = KernelFrame(data, priority=self.priority_by_traffic_class[traffic_class(data) or 0])
        if self._waiting + self._coming >= KERNEL_QUEUE_FRAMES:
            self._kernel_drop(KERNEL_QUEUE_FULL, frame)
            return
        self._coming += 1
        self.loop.at(self._now_ps(), self._enqueue, frame)

    def _enqueue(self, frame: Frame) -> None:
        """The kernel hands over a frame, at its model time."""
        self._coming -= 1
        self._kernel[frame.priority].append(frame)
        self._waiting += 1
        self._transmitter.kick()

    def _kernel_drop(self, reason: str, frame: Frame) -> None:
        self.kernel_dropped[reason] = self.kernel_dropped.get(reason, 0) + 1
        if reason != NOT_ROUTED and self.on_drop is not None:
            self.on_drop(self.name, reason, frame)

    # --- sending ------------------------------------------------------------------------------------------------------

    def dequeue(self) -> Frame | None:
        """Hand the next frame to the wire: RDMA and the kernel take turns when both have one."""
        if self._waiting and not self._control and (self._kernel_turn or not super().has_more()):
            frame = self._next_of_kernel()
            if frame is not None:
                self._kernel_turn = False
                return frame
        self._kernel_turn = True
        return super().dequeue() or self._next_of_kernel()

    def _next_of_kernel(self) -> Frame | None:
        """Return the kernel's next frame: of the highest priority that is not paused."""
        paused = self._transmitter.paused_mask
        for priority in range(PRIORITIES - 1, -1, -1):
            queue = self._kernel[priority]
            if queue and not paused >> priority & 1:
                self._waiting -= 1
                self.kernel_sent_frames += 1
                return queue.popleft()
        return None

    def has_more(self) -> bool:
        """Return whether `dequeue` may have a frame."""
        return super().has_more() or self._kernel_may_send()

    def _kernel_may_send(self) -> bool:
        paused = self._transmitter.paused_mask
        return bool(self._waiting) and any(
            queue and not paused >> priority & 1 for priority, queue in enumerate(self._kernel)
        )

    # --- to the kernel ------------------------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> None:
        """Handle a frame whose last bit has arrived."""
        if self.soft_roce and isinstance(frame, KernelFrame):
            if _is_roce(frame.data) and (traffic_class(frame.data) or 0) & _MARKED == _MARKED:
                self.counters.np_ecn_marked_roce_packets += 1
            self._to_kernel(frame)
        else:
            super().receive(frame)

    def _to_kernel(self, frame: Frame) -> None:
        if self._write(frame.data):
            self.kernel_received_frames += 1
        else:
            self._kernel_drop(HOST_BUSY, frame)

    def _write(self, data: bytes) -> bool:
        """Hand bytes to the kernel; False when it cannot take them now (or the host's interface is down)."""
        try:
            os.write(self._file, data)
        except OSError:
            return False
        return True


def _is_roce(data: bytes) -> bool:
    """Whether a frame is RoCEv2 over IPv4: what Soft-RoCE sends."""
    return data[12:14] == _ETHERTYPE_OF[4] and data[23] == _UDP and data[36:38] == _ROCE_PORT


def _ignore(_file: int) -> None:
    """Nobody wants to know."""
