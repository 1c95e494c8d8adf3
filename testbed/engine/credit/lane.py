"""The receive buffer of one lane at one end of a link."""

from collections.abc import Callable

from testbed.engine.credit.arithmetic import MODULUS


class Lane:
    """A buffer of `size_blocks`. `on_freed` is called with the lane's priority when blocks become free.

    Attributes:
        received: ABR, the blocks received so far, as a counter that wraps.
        used_blocks: held now; peak_blocks: the most there ever were.
    """

    __slots__ = ("_on_freed", "peak_blocks", "priority", "received", "size_blocks", "used_blocks")

    def __init__(self, priority: int, size_blocks: int, on_freed: Callable[[int], None]) -> None:
        self.priority = priority
        self.size_blocks = size_blocks
        self.received = self.used_blocks = self.peak_blocks = 0
        self._on_freed = on_freed

    @property
    def limit(self) -> int:
        """FCCL: ABR + free blocks."""
        return (self.received + self.size_blocks - self.used_blocks) % MODULUS

    def arrive(self, blocks: int) -> bool:
        """Take `blocks`; return False if there is no room (a sender that ignores its limit): they are not held."""
        self.received = (self.received + blocks) % MODULUS
        used = self.used_blocks + blocks
        if used > self.size_blocks:
            return False
        self.used_blocks = used
        if used > self.peak_blocks:
            self.peak_blocks = used
        return True

    def free(self, blocks: int) -> None:
        """Give `blocks` back."""
        self.used_blocks -= blocks
        self._on_freed(self.priority)

    def pass_on(self, blocks: int) -> None:
        """Take `blocks` and give them back at once: a NIC, which keeps nothing."""
        if blocks > self.peak_blocks:
            self.peak_blocks = blocks
        self.received = (self.received + blocks) % MODULUS
        self._on_freed(self.priority)

    def resynchronise(self, sent: int) -> None:
        """The far end says that it has sent `sent` (FCTBS): what is missing of it has been lost on the way."""
        if sent != self.received:
            self.received = sent
            self._on_freed(self.priority)
