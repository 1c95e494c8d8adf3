"""What is measured of a run on the live clock."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LiveRecord:
    """How the live clock fared. `verdict`: ok, degraded or invalid (`testbed.live.verdict`).

    `late_*_ns` are lateness of events in ns of wall time: what half and 99 % of them did not exceed, and the worst;
    `packet_ns` is a full packet's time on the fastest link; `busy` the share of wall time that the engine did not
    sleep. `kernel_*`: frames between the hosts' kernels and their NICs.
    """

    rate_factor: int
    verdict: str
    safe_rate_factor: int
    wall_ns: int
    events: int
    late_median_ns: int
    late_99_ns: int
    late_worst_ns: int
    packet_ns: int
    busy: float
    kernel_sent_frames: int
    kernel_received_frames: int
    kernel_dropped: Mapping[str, int]
