"""What a watcher sees at one moment, as frozen values. Model time in picoseconds, wall time in seconds."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PortView:
    """A port: the share of its link's rate that it used since the last look, and the most that waited in its queue.

    `queue_history`: bytes, from look to look, the last one last; empty for a NIC's port, whose queue is not the
    fabric's.
    """

    name: str
    utilisation: float
    queue_history: tuple[int, ...]
    paused: bool

    @property
    def queue_bytes(self) -> int:
        """The most that waited since the last look."""
        return self.queue_history[-1] if self.queue_history else 0


@dataclass(frozen=True, slots=True)
class RankView:
    """A rank of a job: the share of its data that it has, and what it waits for and how long already (None: nothing).

    `share` is None for a rank that receives nothing.
    """

    name: str
    job: str
    share: float | None
    waits_for: str | None
    waiting_ps: int


@dataclass(frozen=True, slots=True)
class JobView:
    """A job: the share of its data that has arrived; whether it is done, and whether it failed."""

    name: str
    share: float
    done: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class View:
    """Everything. `share`: of the workload's packets that have been sent. `hops_per_s`: packet-hops a second of wall
    time, and `model_ps_per_s` model time a second, both since the last look. Counts are since the run began.
    """

    title: str
    now_ps: int
    wall_s: float
    model_ps_per_s: float
    hops_per_s: float
    share: float
    jobs: tuple[JobView, ...]
    ranks: tuple[RankView, ...]
    ports: tuple[PortView, ...]
    paused_now: int
    pauses: int
    drops: Mapping[str, int]
    marks: int
    cnps: int
    retransmissions: int

    @property
    def worst(self) -> RankView | None:
        """The rank that has waited longest for what it waits for now.

        The receiver of a flow does nothing but wait, so it counts only where nobody else waits.
        """
        waiting = [rank for rank in self.ranks if rank.waits_for is not None and rank.waiting_ps]
        receivers = Counter(rank.job for rank in self.ranks if rank.share is not None)
        return max(waiting, key=lambda rank: (receivers[rank.job] > 1, rank.waiting_ps), default=None)
