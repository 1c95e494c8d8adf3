"""A lane's buffer as the ingress group of a switch's port: memory of its own, of which nothing is shared.

It pauses nobody and cannot overflow: what arrives has been allowed for. `vl_buffer_full` would be the reason of a drop
if a sender ignored its limit.
"""

from testbed.engine.buffer.ingress import IngressGroup
from testbed.engine.buffer.memory import SharedMemory
from testbed.engine.credit.arithmetic import blocks_of
from testbed.engine.credit.lane import Lane
from testbed.engine.reasons import VL_BUFFER_FULL
from testbed.fabric.buffers import BLOCK_BYTES


class CreditedGroup(IngressGroup):
    """The group of (`port`, lane's priority), whose bytes are those of the frames in `lane`."""

    __slots__ = ("lane",)

    def __init__(self, memory: SharedMemory, port: int, ports: int, lane: Lane) -> None:
        super().__init__(memory, port, lane.priority, 0, ports)
        self.lane = lane
        self.lossless = True

    @property
    def can_be_lossless(self) -> bool:
        return True

    def set_lossless(self, lossless: bool) -> None:
        """Raises ValueError if it shall not be lossless: credits are not given up."""
        if not lossless:
            raise ValueError(f"priority {self.priority} of port {self.port} has credits, and so is always lossless")

    def threshold(self) -> int:
        """Return the bytes of the lane's buffer."""
        return self.lane.size_blocks * BLOCK_BYTES

    def admit(self, size: int) -> str | None:
        """Count an arriving frame of `size` bytes."""
        if not self.lane.arrive(blocks_of(size)):
            return self._refuse(VL_BUFFER_FULL)
        self.used_bytes += size
        memory = self._memory
        memory.used_bytes = used = memory.used_bytes + size
        if used > memory.peak_bytes:
            memory.peak_bytes = used
        return None

    def release(self, size: int) -> None:
        """Free a frame of `size` bytes: its credits go back to the sender."""
        self._memory.used_bytes -= size
        self.used_bytes -= size
        self.lane.free(blocks_of(size))

    def least_blocks_of(self, held_bytes: int) -> int:
        """Return how many blocks `held_bytes` of the group's bytes take at least: what the search for deadlocks asks.

        Of a part of the frames it is not known where blocks are only begun.
        """
        return self.lane.used_blocks if held_bytes >= self.used_bytes else blocks_of(held_bytes)
