"""The forwarder over Open vSwitch's kernel datapath: the same proof of a drop, on other grounds.

The kernel handles a frame within the call that writes it into a TAP. Either it has an entry for the frame and carries
it out at once, or the frame *misses* and waits in a queue for ovs-vswitchd, which decides, tells the kernel of it, and
has it carry out the frame:

    write() -- entry ------------------------------------> TAP of the output port      within the call
           \\-- miss --> queue --> ovs-vswitchd --> kernel -> TAP of the output port      later

So a frame may be overtaken by one written after it, and a fence that the kernel has an entry for would return before a
frame that missed is decided on. Four rules make an answer mean what it means in the userspace datapath:

fences miss     A fence has its number in its source address, and the flow that returns it copies that address to the
                destination. What an action reads is part of the kernel's entry, so no entry ever fits a second fence:
                each takes the way through the queue.
one queue       All that misses waits in one queue, in the order of writing: the engine stays on one processor
                (`testbed.outside.kernel_datapath.on_one_processor`) and ovs-vswitchd has one thread for each queue
                (`n-handler-threads`). It carries out what it takes from there one by one; so when a fence is back,
                every frame written before it has been decided on and carried out.
no second queue A switch port's TAP has no queueing discipline in front of it: what is carried out is in the TAP when
                the call returns.
copies wait     A frame whose identity is already on its way waits for that one's answer. Answers are told apart by
                identity alone, and with two of the same, one could have the other's TOS.

The queue is a socket's buffer: an ordinary user's, of 208 KiB as Linux has it, holds 25 RoCE frames of 4 KiB (8.25 KiB
of memory each), and 12 of a kernel's with 9000 bytes (16.25 KiB each). What it cannot take is lost, and counted (`lost`
in the datapath's statistics, which must be 0 at the end). So no more than `UNANSWERED_LIMIT` frames of all ports are
without an answer.

Known limits: what an application has the kernel look up again (connection tracking, and a select group without a
selection method, whose hash is another one at each boot) is counted again too: the run then fails, as counters differ.
"""

import os

from testbed.engine.frame import Frame
from testbed.engine.identity import identity
from testbed.errors import TestbedError
from testbed.outside.ovs_forwarder import FENCE_TYPE, OvsDatapath, OvsSwitch

UNANSWERED_LIMIT = 12
_FENCE_TO = bytes.fromhex("0200000000fe")
_FENCE_FROM = b"\x06"
"""The first byte of a fence's source address: unicast, locally administered."""


class KernelSwitch(OvsSwitch):
    """The forwarder of one switch in the kernel."""

    def __init__(self, datapath: "KernelDatapath", name: str) -> None:
        super().__init__(datapath, name)
        self._kernel = datapath

    def submit(self, in_port: int, frame: Frame) -> None:
        """Write `frame` into Open vSwitch by `in_port`, once there is room and no copy of it is on its way."""
        self._kernel.make_room_in_queue()
        copies = self.waiting.get(identity(frame.data))
        if copies:
            self.answer(copies[0])
        super().submit(in_port, frame)


class KernelDatapath(OvsDatapath):
    """All switches of a run in the kernel. Make it, and use it, on one processor."""

    _submitted = 0
    """Frames submitted since it was last counted how many have no answer, and those that had none then."""

    def _switch(self, name: str) -> OvsSwitch:
        return KernelSwitch(self, name)

    def make_room_in_queue(self) -> None:
        """Wait until one frame more may miss for sure."""
        if self._submitted >= UNANSWERED_LIMIT:
            self.take_answers()
            while (unanswered := self._unanswered()) >= UNANSWERED_LIMIT:
                self._wait_for_oldest()
            self._submitted = unanswered
        self._submitted += 1

    def _unanswered(self) -> int:
        return sum(port.outstanding for switch in self.switches.values() for port in switch.ports.values())

    def _wait_for_oldest(self) -> None:
        oldest = next(frame for switch in self.switches.values() if (frame := switch.oldest()) is not None)
        self.wait(oldest)

    def _fence_frame(self, number: int) -> bytes:
        if len(os.sched_getaffinity(0)) != 1:
            raise TestbedError(
                "the engine was moved to several processors during the run, and with --datapath kernel the order of "
                "what Open vSwitch is asked rests on one; leave the process's affinity as it is"
            )
        source = _FENCE_FROM + number.to_bytes(5, "big")
        return _FENCE_TO + source + FENCE_TYPE + number.to_bytes(8, "big") + bytes(38)
