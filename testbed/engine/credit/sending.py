"""The sending side of one end of a link: what has been sent on each lane, what may be, and what waits.

A lane whose next frame has no credit is held as a paused priority is, by its bit in the transmitter's `paused_mask`; so
all that consults the mask skips it. The wait is counted from when the wire could have taken the frame, which is what
InfiniBand's PortXmitWait counts in ticks.

Known limits: time during which the wire was busy with another lane's frames counts as waiting, too.
"""

from collections.abc import Sequence

from testbed.engine.credit.arithmetic import MODULUS, may_send
from testbed.engine.holds import Holds
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter
from testbed.scenario.qos import PRIORITIES

_ALL = 0xFF


class SendingSide:
    """What `transmitter` may send on `lanes`, with `limit_blocks` to begin with.

    Attributes:
        lanes_mask: bit p is set if priority p is a lane; the others are never held.
        sent, limit: FCTBS and FCCL by priority, as counters that wrap.
        waits: frames that have had to wait, by priority.
        holds: when lanes waited, exactly, for whoever wants to know; None: nobody does.
    """

    __slots__ = (
        "_loop", "_needs", "_since_ps", "_wait_ps", "_waits", "holds", "lanes_mask", "limit", "sent", "transmitter",
    )  # fmt: skip

    def __init__(self, loop: EventLoop, transmitter: Transmitter, lanes: Sequence[int], limit_blocks: int) -> None:
        self.transmitter = transmitter
        self.lanes_mask = sum(1 << lane for lane in lanes)
        self.sent = [0] * PRIORITIES
        self.limit = [limit_blocks] * PRIORITIES
        self.holds: Holds | None = None
        self._loop = loop
        self._needs = [0] * PRIORITIES
        self._since_ps = [0] * PRIORITIES
        self._wait_ps = [0] * PRIORITIES
        self._waits = [0] * PRIORITIES

    def allows(self, lane: int, blocks: int) -> bool:
        """Whether `blocks` may be sent now on `lane`, which need not be one."""
        return not self.lanes_mask >> lane & 1 or may_send(self.sent[lane], self.limit[lane], blocks)

    def spend(self, lane: int, blocks: int) -> None:
        """`blocks` are sent on `lane`; they may be."""
        self.sent[lane] = (self.sent[lane] + blocks) % MODULUS

    def credits(self, lane: int) -> int:
        """Return the blocks that may be sent on `lane` now."""
        return (self.limit[lane] - self.sent[lane]) % MODULUS

    def hold(self, lane: int, blocks: int, since_ps: int) -> None:
        """The next frame of `lane`, of `blocks`, has no credit; the wire can take it from `since_ps` on."""
        self._needs[lane] = blocks
        self._since_ps[lane] = since_ps
        self.transmitter.paused_mask |= 1 << lane
        if self.holds is not None:
            self.holds.begin(lane, since_ps)

    def held(self, lane: int) -> bool:
        """Whether `lane` waits for credit."""
        return bool(self.transmitter.paused_mask >> lane & 1)

    def needs(self, lane: int) -> int:
        """Return the blocks of the frame that waits; the lane must be held."""
        return self._needs[lane]

    def since_ps(self, lane: int) -> int:
        """Return since when it waits; the lane must be held."""
        return self._since_ps[lane]

    def grant(self, lane: int, limit: int) -> bool:
        """The far end says its `limit` (FCCL); return whether a frame that waited may go."""
        self.limit[lane] = limit
        if not self.held(lane) or not may_send(self.sent[lane], limit, self._needs[lane]):
            return False
        self.transmitter.paused_mask &= _ALL ^ 1 << lane
        waited_ps = self._loop.now - self._since_ps[lane]
        if self.holds is not None:
            self.holds.end(lane, self._loop.now)
        if waited_ps > 0:
            self._wait_ps[lane] += waited_ps
            self._waits[lane] += 1
        return True

    def wait_ps(self, lane: int) -> int:
        """Return for how long frames of `lane` have waited for credit so far, in all."""
        running = self._loop.now - self._since_ps[lane] if self.held(lane) else 0
        return self._wait_ps[lane] + max(running, 0)

    def waits(self, lane: int) -> int:
        """Return how many frames of `lane` have waited, one that waits now included."""
        return self._waits[lane] + (self.held(lane) and self._loop.now > self._since_ps[lane])
