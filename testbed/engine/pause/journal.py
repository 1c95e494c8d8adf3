"""Who paused whom: every pause from the decision to send XOFF to the decision to let the far end go on.

A pause has causes: the egress queues in which the frames of the congested ingress group wait when XOFF is decided. A
cause that is itself paused at that time hands the question on to the next switch, one that is not is where it all
began.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Cause:
    """Frames of a congested ingress group that wait in one egress queue: how many bytes, and whether the queue is
    paused (then `paused_by` is the port, at the other end of its link, that paused it)."""

    port: str
    bytes: int
    paused_by: str | None


@dataclass(slots=True)
class Pause:
    """One pause. `sender` is the port that sends XOFF, `paused` the port at the other end of its link, which must stop.

    `priority` is None for PAUSE, which stops all. `causes` is empty for a NIC that pauses. `end_ps` is None while it
    lasts.
    """

    start_ps: int
    sender: str
    paused: str
    priority: int | None
    causes: tuple[Cause, ...] = ()
    end_ps: int | None = None
    refreshes: int = 0


@dataclass(slots=True)
class StormEvent:
    """What a watchdog found: a queue (`port`, `priority`) in a storm at `time_ps`, what it did about it, and when the
    queue was restored."""

    time_ps: int
    port: str
    priority: int
    action: str
    restored_ps: int | None = None


@dataclass(slots=True)
class Journal:
    """All pauses and watchdog events of a run, in the order in which they began."""

    pauses: list[Pause] = field(default_factory=list)
    storms: list[StormEvent] = field(default_factory=list)
