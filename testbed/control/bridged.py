"""Hosts on one Ethernet: switches may flood, so a NIC leaves alone what is addressed to somebody else.

With ``fabric.addressing: bridged`` frames carry the destination host's MAC address instead of the leaf's. A learning
switch that does not know it yet sends the frame everywhere, as a real one does, and a NIC that gets a frame for another
address discards it without a word: no drop, no error.
"""

from testbed.engine.frame import Frame
from testbed.engine.transmitter import Endpoint, Transmitter

_GROUP_BIT = 1


class MacFilter:
    """A NIC that takes frames for its own address, and those for groups (broadcast).

    Attributes:
        other_frames, other_data_frames: discarded: all, and those with RDMA payload.
    """

    def __init__(self, nic: Endpoint, mac: str) -> None:
        self.other_frames = self.other_data_frames = 0
        self.dequeue = nic.dequeue
        self.has_more = nic.has_more
        self._nic = nic
        self._mac = bytes.fromhex(mac.replace(":", ""))

    def attach(self, transmitter: Transmitter) -> None:
        """Send by `transmitter`."""
        self._nic.attach(transmitter)

    def receive(self, frame: Frame) -> None:
        """Hand a frame on if it is for this NIC."""
        data = frame.data
        if data[:6] == self._mac or data[0] & _GROUP_BIT:
            self._nic.receive(frame)
            return
        self.other_frames += 1
        if frame.is_data:
            self.other_data_frames += 1
