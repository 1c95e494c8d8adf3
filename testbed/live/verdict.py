"""What a live run's lateness means for what real applications saw: ok, degraded or invalid.

A real application measures in wall time. What it sees of the fabric is right to within the lateness of the events on
its frames' way, and one packet's serialisation is the smallest time that the model itself distinguishes there. So:

    ok         99 % of the events ran less than one packet time late, and the process slept a fifth of the time or more
    degraded   99 % of them less than ten packet times late: order and shares are right, single delays may not be
    invalid    anything worse: what applications measured is the machine's speed, not the fabric's

A packet time is that of a full packet on the fastest link, in wall time. A fifth of sleep is room for bursts: a process
that never sleeps falls behind at the first one.

`safe_factor` is the factor that would have been enough: the work of a second of model time stays the same, so at factor
*k* with the process busy for the share *b*, k * b / 0.5 leaves it half asleep; where it fell behind, the pace that it
did keep takes the place of *k*; and 99 % of the lateness seen must fit into a packet time.
"""

from dataclasses import dataclass
from enum import Enum
from math import ceil

BUSY_LIMIT = 0.8
DEGRADED_PACKETS = 10
_COMFORTABLE = 0.5


class Verdict(Enum):
    """How far a live run can be believed."""

    OK = "ok"
    DEGRADED = "degraded"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Pace:
    """How a live run went: `late_ns` is the lateness that 99 % of the events did not exceed, `packet_ns` a packet time,
    `busy` the share of wall time that the process did not sleep, `model_ps` and `wall_ns` how far both clocks came.
    """

    factor: int
    late_ns: int
    packet_ns: int
    busy: float
    model_ps: int
    wall_ns: int

    @property
    def kept_factor(self) -> float:
        """The pace that the run really kept: wall time over model time."""
        return self.wall_ns * 1000 / self.model_ps if self.model_ps else float(self.factor)


def judge(pace: Pace) -> Verdict:
    """Return the verdict on a run."""
    if pace.late_ns < pace.packet_ns and pace.busy <= BUSY_LIMIT:
        return Verdict.OK
    return Verdict.DEGRADED if pace.late_ns < DEGRADED_PACKETS * pace.packet_ns else Verdict.INVALID


def safe_factor(pace: Pace) -> int:
    """Return a factor at which this machine would have kept up with this run; that of the run when it did."""
    if judge(pace) is Verdict.OK:
        return pace.factor
    for_work = max(pace.factor, pace.kept_factor) * pace.busy / _COMFORTABLE
    for_lateness = pace.factor * pace.late_ns / pace.packet_ns if pace.busy <= BUSY_LIMIT else 0.0
    return max(pace.factor + 1, ceil(for_work), ceil(for_lateness))
