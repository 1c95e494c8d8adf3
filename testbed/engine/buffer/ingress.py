"""Ingress accounting of one (port, priority): whether an arriving frame may enter the memory, and what it is counted
as.

    1. reserved   the group's own minimum, as far as it reaches
    2. shared     the rest, while the group's shared bytes stay within its threshold T = alpha * (B - used); a lossy
                  group may take whatever is free
    3. headroom   lossless only, the whole frame: the group is congested, and its sender is told to pause
    otherwise it is dropped: `headroom_full` (lossless), `shared_full` (lossy)

A lossless group that a policy makes lossy keeps its threshold, and drops at it (`ingress_threshold`) instead of
pausing.

A frame that leaves frees headroom first, then shared, then reserved bytes. A group that has paused its sender lets it
go on when its headroom is empty and its shared bytes are `xon_offset` below the threshold (or are none).

References: SONiC's buffer model (ingress pool, priority groups, dynamic_th); FBOSS `PortPgConfig`.
Known limits: the ingress group of a lossy class has no threshold of its own; its egress queue has.
"""

from typing import Protocol

from testbed.engine.buffer.memory import Alpha, SharedMemory
from testbed.engine.reasons import HEADROOM_FULL, INGRESS_THRESHOLD, SHARED_FULL


class Congestion(Protocol):
    """Who is told when a lossless group needs its sender to pause, and when no longer."""

    def congested(self, group: "IngressGroup") -> None:
        """A frame has gone into the headroom."""

    def relieved(self, group: "IngressGroup") -> None:
        """The group is below its resume point again."""


class IngressGroup:
    """One priority group of one port.

    Attributes:
        port: the number of the port. priority: 0 to 7.
        used_bytes: reserved and shared bytes in use; shared_bytes: those of them that are shared.
        headroom_used_bytes, headroom_peak_bytes: of `headroom_bytes`.
        lossless: whether headroom and pauses protect it. xoff: whether its sender has been told to pause.
        was_lossy: whether it once gave up that protection; its headroom may have been in use when it took it up again.
        waiting_bytes: how many of its bytes wait in the egress queue of each port, by port number.
        dropped: refused frames by reason.
    """

    __slots__ = (
        "_alpha", "_congestion", "_memory", "_reserved", "_xon_offset", "dropped", "headroom_bytes",
        "headroom_peak_bytes", "headroom_used_bytes", "lossless", "port", "priority", "shared_bytes", "used_bytes",
        "waiting_bytes", "was_lossy", "xoff",
    )  # fmt: skip

    def __init__(self, memory: SharedMemory, port: int, priority: int, reserved_bytes: int, ports: int) -> None:
        """A lossy group of a switch with `ports` ports, numbered from 1; `protect` makes it lossless."""
        self.port = port
        self.priority = priority
        self.lossless = self.xoff = self.was_lossy = False
        self.used_bytes = self.shared_bytes = 0
        self.headroom_bytes = self.headroom_used_bytes = self.headroom_peak_bytes = 0
        self.waiting_bytes = [0] * (ports + 1)
        self.dropped: dict[str, int] = {}
        self._memory = memory
        self._reserved = reserved_bytes
        self._alpha: Alpha | None = None
        self._xon_offset = 0
        self._congestion: Congestion | None = None

    def protect(self, congestion: Congestion, alpha: Alpha, headroom_bytes: int, xon_offset_bytes: int) -> None:
        """Make the group lossless: `congestion` is told when its sender must pause."""
        self._congestion = congestion
        self._xon_offset = xon_offset_bytes
        self.headroom_bytes = headroom_bytes
        self._alpha = alpha
        self.lossless = True

    @property
    def can_be_lossless(self) -> bool:
        """Whether the group has headroom and somebody who pauses its sender."""
        return self._congestion is not None

    def set_lossless(self, lossless: bool) -> None:
        """Give up the group's protection, or take it up again. Raises ValueError for a group that never had any.

        What is still in the headroom then takes room from what is under way, so the sender must pause at once.
        """
        if lossless and not self.can_be_lossless:
            raise ValueError(f"priority {self.priority} of port {self.port} has no headroom: it is not in qos.lossless")
        self.lossless = lossless
        self.was_lossy = self.was_lossy or (not lossless and self.can_be_lossless)
        if not lossless and self.xoff:
            self._resume()
        elif lossless and self.headroom_used_bytes:
            self._pause()

    def set_alpha(self, alpha: Alpha) -> None:
        """Change the factor of the group's threshold."""
        self._alpha = alpha
        if self.xoff and self.may_resume():
            self._resume()

    @property
    def held_bytes(self) -> int:
        """All bytes of the group in the memory."""
        return self.used_bytes + self.headroom_used_bytes

    def threshold(self) -> int:
        """Return T: how many shared bytes the group may hold now."""
        free = self._memory.shared_free_bytes
        return free + self.shared_bytes if self._alpha is None else self._alpha.threshold(free)

    def admit(self, size: int) -> str | None:
        """Count an arriving frame of `size` bytes, or return the reason why it is dropped."""
        memory = self._memory
        used = self.used_bytes + size
        shared = used - self._reserved
        if shared > 0:
            free = memory.shared_bytes - memory.shared_used_bytes
            more = shared - self.shared_bytes
            alpha = self._alpha
            if more > free or (alpha is not None and shared * alpha.denominator > alpha.numerator * free):
                return self._admit_to_headroom(size, more > free)
            self.shared_bytes = shared
            memory.shared_used_bytes += more
        self.used_bytes = used
        memory.used_bytes = used = memory.used_bytes + size
        if used > memory.peak_bytes:
            memory.peak_bytes = used
        return None

    def _admit_to_headroom(self, size: int, is_full: bool) -> str | None:
        """There is no room in the shared memory: it `is_full`, or the group is at its threshold."""
        if not self.lossless:
            return self._refuse(SHARED_FULL if is_full else INGRESS_THRESHOLD)
        headroom = self.headroom_used_bytes + size
        if headroom > self.headroom_bytes:
            reason = self._refuse(HEADROOM_FULL)
        else:
            reason = None
            self.headroom_used_bytes = headroom
            self.headroom_peak_bytes = max(self.headroom_peak_bytes, headroom)
            memory = self._memory
            memory.used_bytes += size
            memory.peak_bytes = max(memory.peak_bytes, memory.used_bytes)
        self._pause()
        return reason

    def _pause(self) -> None:
        if not self.xoff and self._congestion is not None:
            self.xoff = True
            self._congestion.congested(self)

    def _refuse(self, reason: str) -> str:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        return reason

    def release(self, size: int) -> None:
        """Free a frame of `size` bytes: it starts to leave, or is dropped behind the ingress."""
        memory = self._memory
        memory.used_bytes -= size
        headroom = self.headroom_used_bytes
        if headroom:
            freed = size if size < headroom else headroom
            self.headroom_used_bytes = headroom - freed
            size -= freed
        self.used_bytes = used = self.used_bytes - size
        before = self.shared_bytes
        if before:
            after = used - self._reserved
            if after < 0:
                after = 0
            self.shared_bytes = after
            memory.shared_used_bytes -= before - after
        if self.xoff and self.may_resume():
            self._resume()

    def may_resume(self) -> bool:
        """Whether the group is below its resume point."""
        return self.headroom_used_bytes == 0 and self.shared_bytes <= max(self.threshold() - self._xon_offset, 0)

    def resume_if_relieved(self) -> bool:
        """Let the sender go on if the threshold has risen that far meanwhile; return whether it was."""
        if self.xoff and self.may_resume():
            self._resume()
        return not self.xoff

    def _resume(self) -> None:
        self.xoff = False
        assert self._congestion is not None
        self._congestion.relieved(self)

    def could_resume_with(self, held_bytes: int, shared_used_bytes: int) -> bool:
        """Whether the group would resume if it held only `held_bytes`, and all groups `shared_used_bytes` of the shared
        memory: what the search for deadlocks asks."""
        headroom = max(self.headroom_used_bytes - (self.held_bytes - held_bytes), 0)
        if headroom or self._alpha is None:
            return not headroom
        threshold = self._alpha.threshold(self._memory.shared_bytes - shared_used_bytes)
        return self.shared_part(held_bytes) <= max(threshold - self._xon_offset, 0)

    def shared_part(self, held_bytes: int) -> int:
        """Return how many of `held_bytes` would be in the shared memory: what neither headroom nor minimum holds."""
        headroom = max(self.headroom_used_bytes - (self.held_bytes - held_bytes), 0)
        return max(held_bytes - headroom - self._reserved, 0)
