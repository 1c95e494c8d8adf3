"""What a switch says about itself: frozen snapshots for telemetry and reports, by the names that operators know.

Names follow FBOSS's HwPortStats and SONiC's counters: queue watermark, ECN-marked packets, WRED and tail drops by
queue; priority group (pg) use and headroom; PFC frames in and out, XON frames, and time paused.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """One egress queue. `watermark_bytes` is since the last look (`Switch.clear_watermarks`), `peak_bytes` ever.

    `out_bytes` are frames' bytes without FCS; `dropped` are frames by reason. `threshold_bytes` is the dynamic limit
    now; None: a lossless queue has none. `paused`: whether the far end has paused it; `in_storm`: the watchdog's view.
    """

    priority: int
    queue_bytes: int
    watermark_bytes: int
    peak_bytes: int
    out_packets: int
    out_bytes: int
    ecn_marked_packets: int
    dropped: Mapping[str, int]
    threshold_bytes: int | None = None
    paused: bool = False
    in_storm: bool = False


@dataclass(frozen=True, slots=True)
class GroupStatistics:
    """One ingress priority group: bytes held, shared ones and those in the headroom; its threshold now, XOFF, drops."""

    priority: int
    held_bytes: int
    shared_bytes: int
    headroom_bytes: int
    headroom_peak_bytes: int
    headroom_limit_bytes: int
    threshold_bytes: int
    lossless: bool
    xoff: bool
    dropped: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PauseStatistics:
    """Pause frames of one priority at a port; `priority` None: PAUSE, which names none.

    `in_pfc`, `in_pfc_xon`: received, that pause and that let go on; `out_pfc`, `out_pfc_xon`: sent.
    `rx_pfc_duration_ps`:
    for how long the port has been paused; `rx_pfc_transitions`: how often it was.
    """

    priority: int | None
    in_pfc: int
    in_pfc_xon: int
    out_pfc: int
    out_pfc_xon: int
    rx_pfc_duration_ps: int
    rx_pfc_transitions: int


@dataclass(frozen=True, slots=True)
class CreditStatistics:
    """Credits of one virtual lane at a port, in blocks of 64 bytes.

    Sending: `credit_wait_ps`, for how long frames have waited for credit with the wire free for them (InfiniBand's
    PortXmitWait), and `credit_waits`, how many had to; `waiting`: one does now; `credits_blocks`: left to send.
    Receiving: of the lane's `buffer_blocks`, those held now and the most ever.
    """

    priority: int
    credit_wait_ps: int
    credit_waits: int
    waiting: bool
    credits_blocks: int
    buffer_blocks: int
    held_blocks: int
    peak_blocks: int


@dataclass(frozen=True, slots=True)
class PortStatistics:
    """One port: `queues` by priority (one, of priority 0, without traffic classes), `groups` and `pauses` (both empty
    then).

    `sent_bytes` are on the wire, overhead included; `paused_mask` has bit p set while priority p must not be sent.
    `storms_detected`, `storms_restored` are the watchdog's. `credits` are those of each virtual lane, empty without.
    """

    name: str
    rate_bps: int
    sent_bytes: int
    sent_frames: int
    busy_ps: int
    paused_mask: int
    queues: tuple[QueueStatistics, ...]
    groups: tuple[GroupStatistics, ...] = ()
    pauses: tuple[PauseStatistics, ...] = ()
    storms_detected: int = 0
    storms_restored: int = 0
    credits: tuple[CreditStatistics, ...] = ()


@dataclass(frozen=True, slots=True)
class SwitchStatistics:
    """One switch: its memory, and its ports by name. `shared_bytes` is the part that all share, 0 without classes."""

    name: str
    buffer_bytes: int
    used_bytes: int
    peak_bytes: int
    shared_bytes: int
    shared_used_bytes: int
    ports: Mapping[str, PortStatistics]
