"""What a run measured, as frozen values: all that the report needs, and nothing that refers to the running fabric."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from testbed.engine.statistics import SwitchStatistics
    from testbed.fabric.plan import FabricPlan
    from testbed.measurement.causes.model import Explanation
    from testbed.measurement.events import Events
    from testbed.measurement.live import LiveRecord
    from testbed.measurement.pauses import PauseReport
    from testbed.measurement.series import SeriesRecord
    from testbed.scenario.model import Scenario
    from traffic.nic.congestion import CongestionSample, CongestionStatistics
    from traffic.nvlink import NvlinkStatistics
    from traffic.results import CollectiveResult, FlowResult, ReplayResult, TraceResult


@dataclass(frozen=True, slots=True)
class DropRecord:
    """One frame that was lost: when, where (a port or switch), why, and which packet it was.

    `kind` is data, ack, nak, cnp, pause or other; `source` and `destination` are host names, `qp` and `psn` the RoCE
    header's; these four are None for a frame that is not RoCE.
    """

    time_ps: int
    where: str
    reason: str
    kind: str
    source: str | None
    destination: str | None
    qp: int | None
    psn: int | None


@dataclass(frozen=True, slots=True)
class PortRecord:
    """One port's counters at the end: frames and bytes on the wire (overhead included), the time the wire was busy, the
    most bytes its queue held, and drops at it by reason.

    `credit_wait_ps` is the time for which the port had frames and no credit for them; None: its link has no credits.
    """

    name: str
    node: str
    peer: str
    rate_bps: int
    sent_frames: int
    sent_bytes: int
    data_packets: int
    busy_ps: int
    peak_queue_bytes: int
    dropped: Mapping[str, int]
    credit_wait_ps: int | None = None


@dataclass(frozen=True, slots=True)
class OvsRecord:
    """Open vSwitch and its controller in numbers: frames in and out of all ports, fences among them, frames that came
    out unasked, and the OpenFlow messages sent."""

    frames_in: int
    frames_out: int
    fences: int
    unsolicited: int
    flow_mods: int
    group_mods: int
    packet_ins: int
    packet_outs: int


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that must hold in every run whatever the scenario."""

    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class WallRecord:
    """What the run cost on this machine; the one part of the results that differs from run to run. `datapath` is where
    Open vSwitch forwarded: ``user`` or ``kernel``."""

    seconds: float
    startup_seconds: float
    packet_hops: int
    packet_hops_per_second: float
    peak_memory_bytes: int
    datapath: str = "user"


@dataclass(frozen=True)
class Measurements:
    """All results of a run.

    `failure` is the reason why the workload did not finish (a QP in error), None when it did. `nics` maps host
    interface names to counters under their mlx5 names. `switches` are the switches' own counters by queue and priority
    group; `pauses` is what flow control did, None without it. `congestion` has the congestion control of every queue
    pair that has sent, `congestion_samples` every change of one if these were asked for, in the order of time.
    `control` counts what controller and switches did during the run; empty when that was nothing. `live` is how the
    live clock fared, None on the virtual one. `explanation` says what every stall is due to; None if nobody asked.
    `series` and `events` are what happened when; None where that was switched off. `nvlink` has each host's domain.
    """

    scenario: "Scenario"
    plan: "FabricPlan"
    versions: Mapping[str, str]
    duration_ps: int
    collectives: "tuple[CollectiveResult, ...]"
    flows: "tuple[FlowResult, ...]"
    failure: str | None
    drops: tuple[DropRecord, ...]
    ports: tuple[PortRecord, ...]
    nics: Mapping[str, Mapping[str, int]]
    retransmitted_packets: int
    ovs: OvsRecord
    invariants: tuple[Invariant, ...]
    wall: WallRecord
    control: Mapping[str, int] = field(default_factory=dict)
    switches: "Mapping[str, SwitchStatistics]" = field(default_factory=dict)
    pauses: "PauseReport | None" = None
    congestion: "tuple[CongestionStatistics, ...]" = ()
    congestion_samples: "tuple[CongestionSample, ...]" = ()
    nvlink: "tuple[NvlinkStatistics, ...]" = ()
    live: "LiveRecord | None" = None
    explanation: "Explanation | None" = None
    series: "SeriesRecord | None" = None
    events: "Events | None" = None
    traces: "tuple[TraceResult, ...]" = ()
    replays: "tuple[ReplayResult, ...]" = ()
