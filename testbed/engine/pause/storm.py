"""A NIC that pauses for ever: the fault `pause-storm`. Its receive pipeline is stuck, so it tells its switch to pause,
again and again, until somebody resets it.

References: C. Guo et al., RDMA over commodity Ethernet at scale (SIGCOMM 2016), section 4.3.
"""

from testbed.engine.loop import EventLoop
from testbed.engine.pause.sender import PauseSender


class PauseStorm:
    """Pauses `priority` by `sender`, the NIC's, from `at_ps` until `until_ps` (None: for good)."""

    def __init__(self, loop: EventLoop, sender: PauseSender, priority: int, at_ps: int, until_ps: int | None) -> None:
        self._sender = sender
        self._priority = priority
        loop.at(at_ps, self._begin)
        if until_ps is not None:
            loop.at(until_ps, self._end)

    def _begin(self, _nothing: None) -> None:
        self._sender.pause(self._priority)

    def _end(self, _nothing: None) -> None:
        self._sender.resume(self._priority)
