"""Which factor this machine can hold: measured in about a second, with the scenario's own work.

Two trials of the scenario, with the real switches beneath them, both live:

1. **Work.** One at a factor of 1, at which the process never sleeps: it shows what a packet costs from sender to
   receiver. If all NICs send at their links' rates at once, with full packets, as many packets a second as they then
   send must cost half a second at most.
2. **Lateness.** Another one at that factor. What 99 of 100 events were late may be half a packet's time at most
   (`verdict` asks for less than one).

The larger of the two, rounded up to two digits. The beginning of each trial is left out: whatever comes for the first
time, a rule that Open vSwitch has not looked up yet, takes longer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from statistics import median

from testbed.engine.loop import EventLoop
from testbed.live.clock import REAL_WALL, LiveClock, Wall
from testbed.live.lateness import Lateness

TRIAL_NS = 400_000_000
WARM_UP_NS = 100_000_000
_WINDOWS = 3
_BUSY = 0.5
_PACKET_SHARE = 0.5
_LEAST_FACTOR = 10


@dataclass(frozen=True, slots=True)
class Trial:
    """A fresh trial, ready to run: its loop, and how many data packets its NICs have sent so far."""

    loop: EventLoop
    sent_packets: Callable[[], int]


def calibrated(trial: Callable[[], Trial], packet_ps: int, nics: int, wall: Wall = REAL_WALL) -> int:
    """Return the factor for `nics` NICs, each of which can send a full packet every `packet_ps`; `trial` makes a fresh
    trial each time."""
    cost_ns = packet_cost_ns(trial(), wall)
    for_work = max(_LEAST_FACTOR, ceil(factor_for_work(cost_ns, packet_ps, nics)))
    late_ns = lateness_ns(trial(), for_work, wall)
    return rounded_up(max(for_work, factor_for_lateness(late_ns, packet_ps)))


def packet_cost_ns(trial: Trial, wall: Wall = REAL_WALL) -> float:
    """Run a trial as fast as it goes; return the wall time that it takes for each data packet; 0 if it sends none."""
    clock = LiveClock(trial.loop, 1, wall)
    clock.run_for(WARM_UP_NS, lambda: _is_over(trial))
    before_packets, before_ns = trial.sent_packets(), wall.now_ns()
    clock.run_for(TRIAL_NS, lambda: _is_over(trial))
    clock.close()
    packets = trial.sent_packets() - before_packets
    if packets:
        return (wall.now_ns() - before_ns) / packets
    return clock.busy_ns / before_packets if before_packets else 0.0


def _is_over(trial: Trial) -> bool:
    return trial.loop.next_time() is None


def factor_for_work(cost_ns: float, packet_ps: int, nics: int) -> float:
    """Return the least factor for packets that cost `cost_ns` each, when each NIC sends one every `packet_ps`."""
    return cost_ns * 1000 * nics / packet_ps / _BUSY


def lateness_ns(trial: Trial, factor: int, wall: Wall = REAL_WALL) -> int:
    """Run a trial live; return what 99 of 100 events were not later than: the middle one of three measurements, since
    the machine has other things to do now and then."""
    clock = LiveClock(trial.loop, factor, wall)
    clock.run_for(WARM_UP_NS, lambda: _is_over(trial))
    found = []
    for _ in range(_WINDOWS):
        clock.restart()
        clock.lateness = Lateness()
        clock.run_for(TRIAL_NS // 2, lambda: _is_over(trial))
        found.append(clock.lateness.percentile_ns(0.99))
    clock.close()
    return int(median(found))


def factor_for_lateness(late_ns: int, packet_ps: int) -> float:
    """Return the least factor at which a packet takes long enough for events that are `late_ns` late."""
    return late_ns * 1000 / (_PACKET_SHARE * packet_ps)


def rounded_up(factor: float) -> int:
    """Return the next whole number with two digits and zeros."""
    whole = ceil(factor)
    unit = int(10 ** max(0, len(str(whole)) - 2))
    return -(-whole // unit) * unit
