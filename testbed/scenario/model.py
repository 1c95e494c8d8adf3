"""What a scenario says, as frozen objects: the schema of the YAML (docs/scenarios.md is its manual).

Every section of the file is a class here and every key a field, with its default and its limits; the checker reports
what does not fit with file, line and column. Quantities are text in the file and integers here (`quantities`).

A field's ``examples`` are what an error message shows as a right value, where its default or its type shows none.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from testbed.scenario.collectives import AnyCollective, JobOptions
from testbed.scenario.congestion import CongestionOptions
from testbed.scenario.hosts import HostOptions
from testbed.scenario.qos import Priority, QosOptions
from testbed.scenario.quantities import RateBps, SizeBytes, TimePs
from testbed.scenario.replay import PacketReplay
from testbed.scenario.section import Section
from testbed.scenario.traces import TraceReplay


def _all_or_names(value: Any) -> str:
    return "all" if isinstance(value, str) else "names"


def _named_or_points(value: Any) -> str:
    return "named" if isinstance(value, str) else "points"


Name = Annotated[str, Field(examples=["h0"])]
PortName = Annotated[str, Field(examples=["leaf0-eth1"])]
LinkName = Annotated[str, Field(examples=["h0-leaf0"])]
Hosts = Annotated[
    Annotated[Literal["all"], Tag("all")] | Annotated[tuple[Name, ...], Tag("names")], Discriminator(_all_or_names)
]
Ports = Annotated[
    Annotated[Literal["all"], Tag("all")] | Annotated[tuple[PortName, ...], Tag("names")], Discriminator(_all_or_names)
]


# --- fabric ----------------------------------------------------------------------------------------------------------


class LinkOptions(Section):
    """A cable: how fast, how long."""

    rate: RateBps = 100_000_000_000
    delay: TimePs = 500_000


class TierLink(Section):
    """What the links of one tier have of their own; what is absent is as in ``fabric.link``."""

    rate: RateBps | None = None
    delay: TimePs | None = None


class SwitchOptions(Section):
    """A switch: `latency` from a frame's last bit in to its place in the egress queue; `buffer` in all."""

    latency: TimePs = Field(default=800_000, gt=0)
    buffer: SizeBytes = Field(default=32 * 2**20, gt=0)


class SingleSwitch(Section):
    """`hosts` on one switch."""

    kind: Literal["single-switch"]
    hosts: int = Field(default=2, ge=2, le=512)


class Dumbbell(Section):
    """Two switches with hosts on both sides and one link, `core`, between."""

    kind: Literal["dumbbell"]
    left: int = Field(default=2, ge=1, le=256)
    right: int = Field(default=2, ge=1, le=256)
    core: TierLink = TierLink()


class LeafSpine(Section):
    """Every leaf has one link, `uplink`, to every spine."""

    kind: Literal["leaf-spine"]
    leaves: int = Field(default=2, ge=1, le=64)
    spines: int = Field(default=2, ge=1, le=64)
    hosts_per_leaf: int = Field(default=2, ge=1, le=128)
    uplink: TierLink = TierLink()


class FatTree(Section):
    """The k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts."""

    kind: Literal["fat-tree"]
    k: int = Field(default=4, ge=2, le=16, multiple_of=2)
    aggregation: TierLink = TierLink()
    core: TierLink = TierLink()


class Ring(Section):
    """`switches` in a ring, each with `hosts_per_switch` hosts and one `link` to the next.

    A flow takes the shorter way round, so with five switches or more every flow of two hops has one way only: traffic
    clockwise stays clockwise.
    """

    kind: Literal["ring"]
    switches: int = Field(default=5, ge=3, le=64)
    hosts_per_switch: int = Field(default=1, ge=1, le=128)
    link: TierLink = TierLink()


Topology = Annotated[SingleSwitch | Dumbbell | LeafSpine | FatTree | Ring, Field(discriminator="kind")]


class NvlinkOptions(Section):
    """What joins the GPUs of one host: each has one port to it, `rate` in either direction. A message takes `latency`
    and its bytes' time at both ports."""

    rate: RateBps = 3_600_000_000_000
    latency: TimePs = 1_000_000


class FabricOptions(Section):
    """The fabric: its shape, its links (the hosts' and, unless the topology says otherwise, all), its switches.

    `addressing`: the switches are routers, and a host sends to its leaf's MAC address (``routed``), or they are
    bridges, and it sends to the other host's (``bridged``): what a learning switch needs.
    `qos`: traffic classes, marking and link-level flow control; none: each port has one queue, and frames that find the
    switch's memory full are dropped. `nvlink`: how ranks of one host talk; none: through their NICs.
    `host`: what hosts are; none: network namespaces of this machine.
    """

    topology: Topology
    nics_per_host: int = Field(default=1, ge=1, le=8)
    link: LinkOptions = LinkOptions()
    switch: SwitchOptions = SwitchOptions()
    ip: Literal["ipv4", "ipv6"] = "ipv4"
    addressing: Literal["routed", "bridged"] = "routed"
    qos: QosOptions | None = None
    nvlink: NvlinkOptions | None = None
    host: HostOptions | None = Field(default=None, examples=[{"kind": "container", "image": "debian:bookworm-slim"}])


# --- controller ------------------------------------------------------------------------------------------------------


class ControllerOptions(Section):
    """The Ryu application that programs the switches, and the policy that sees how they fare.

    `app`: a name of the project's own, or the path of a Ryu application. `policy`: its `kind` (a name of the project's
    own, or the path of a Python file) and its options; none: nothing is looked at. `interval`: how often the policy
    looks. `latency`: from what the controller is told to the effect of what it says, for policies and for packets sent
    up.
    """

    app: str = Field(default="l3-ecmp", min_length=1, examples=["l3-ecmp"])
    policy: dict[str, Any] | None = Field(default=None, examples=[{"kind": "adaptive-ecn"}])
    interval: TimePs = Field(default=50_000_000, gt=0)
    latency: TimePs = 10_000_000


# --- transport -------------------------------------------------------------------------------------------------------


class TransportOptions(Section):
    """RoCEv2 reliable connection, as the NICs are set. Defaults are NCCL's where it sets them (field facts 5.2).

    `ack_every`: the requester asks for an acknowledgement with every n-th packet, and with each message's last.
    `timeout`: the local ACK timeout is 4.096 us * 2^timeout. `retry_count`: timeouts and NAKs without progress that a
    QP survives. `rnr_timer`: the code of the receiver-not-ready timer. `traffic_class`: the IP byte, DSCP and ECN.
    `ack_dscp`: the DSCP of ACKs and NAKs (none: that of the data). `cnp_dscp`: that of CNPs. `congestion`: how senders
    react to marks (none: not at all).
    """

    mtu: Literal[256, 512, 1024, 2048, 4096] = 4096
    qps_per_connection: int = Field(default=1, ge=1, le=64)
    ack_every: int = Field(default=16, ge=1, le=4096)
    timeout: int = Field(default=20, ge=1, le=31)
    retry_count: int = Field(default=7, ge=0, le=7)
    rnr_retry: int = Field(default=7, ge=0, le=7)
    rnr_timer: int = Field(default=12, ge=0, le=31)
    initial_psn: int = Field(default=0, ge=0, lt=2**24)
    traffic_class: int = Field(default=106, ge=0, le=255)
    ack_dscp: int | None = Field(default=None, ge=0, le=63, examples=[48])
    cnp_dscp: int = Field(default=48, ge=0, le=63)
    congestion: CongestionOptions | None = None


# --- workload --------------------------------------------------------------------------------------------------------


class Flow(Section):
    """One RDMA WRITE of `size` bytes from host to host, started at `start`."""

    source: Name
    destination: Name
    size: SizeBytes = Field(gt=0)
    start: TimePs = 0


class SizeShare(Section):
    """A point of a distribution of sizes: `share` of all flows have at most `size`."""

    size: SizeBytes = Field(gt=0)
    share: float = Field(ge=0, le=1, examples=[0.5])


Sizes = Annotated[
    Annotated[Annotated[str, Field(examples=["websearch"])], Tag("named")]
    | Annotated[tuple[SizeShare, ...], Tag("points")],
    Discriminator(_named_or_points),
]


class Flows(JobOptions):
    """Point-to-point transfers: each listed, or by `pattern` among `hosts`.

    Every host writes `size` bytes to the next (``ring``), to every other one (``all-to-all``), or to another one that
    the seed chooses, so that each receives once (``permutation``). `sources` hosts (none: all others) write to
    `destination` (none: the seed chooses; ``incast``). Or flows of `size`, or of `sizes`, begin at random times
    (Poisson) between random hosts, for `duration`, so that the hosts' links carry `load` (``random``).

    `every`: all but random ones are repeated, and begin again every so often for `duration`.
    """

    kind: Literal["flows"]
    pattern: Literal["listed", "ring", "all-to-all", "permutation", "incast", "random"] = "listed"
    hosts: Hosts = "all"
    size: SizeBytes | None = Field(default=None, gt=0)
    sizes: Sizes | None = Field(default=None, examples=["websearch"])
    sources: int | None = Field(default=None, ge=1, le=512, examples=[8])
    destination: Name | None = None
    load: float | None = Field(default=None, gt=0, le=1, examples=[0.3])
    every: TimePs | None = Field(default=None, gt=0, examples=["100us"])
    duration: TimePs | None = Field(default=None, gt=0, examples=["1ms"])
    flows: tuple[Flow, ...] = ()


Work = Annotated[AnyCollective | Flows | TraceReplay | PacketReplay, Field(discriminator="kind")]


# --- faults ----------------------------------------------------------------------------------------------------------

FrameKind = Literal["any", "data", "ack", "nak"]


class _LinkFault(Section):
    """A fault of one direction of a link: of what port `port` (``leaf0-eth1``, ``h3-eth0``) sends.

    `frames` says which frames count."""

    port: PortName
    frames: FrameKind = "data"


class DropNth(_LinkFault):
    """Drop the `nth` (1 is the first) of the frames, and with `count` as many in a row."""

    kind: Literal["drop"]
    nth: int = Field(ge=1)
    count: int = Field(default=1, ge=1)


class RandomLoss(_LinkFault):
    """Drop each frame with `probability`."""

    kind: Literal["loss"]
    probability: float = Field(gt=0, le=1, examples=[0.01])


class Corruption(_LinkFault):
    """Flip one bit of each frame with `probability`; its ICRC (or the FCS of a switch's port, if modelled) finds it."""

    kind: Literal["corrupt"]
    probability: float = Field(gt=0, le=1, examples=[0.01])


class LinkDown(Section):
    """Both directions of `link` (``leaf0-spine1``) lose every frame from `at` on, until `until` if given."""

    kind: Literal["link-down"]
    link: LinkName
    at: TimePs
    until: TimePs | None = None


class PauseStorm(Section):
    """The NIC at `port` (``h3-eth0``) pauses `priority` at its switch from `at` on, until `until` if given: its receive
    pipeline is stuck. It needs a fabric with ``qos.pfc``; with its kind ``pause`` the whole link is paused."""

    kind: Literal["pause-storm"]
    port: PortName
    priority: Priority = 3
    at: TimePs = 0
    until: TimePs | None = None


Fault = Annotated[DropNth | RandomLoss | Corruption | LinkDown | PauseStorm, Field(discriminator="kind")]


# --- measure and expect ----------------------------------------------------------------------------------------------


class MeasureOptions(Section):
    """What is recorded beside the summary: `capture` names ports whose frames go into a pcapng, or is ``all``.

    `openflow_log`: write down what switches and controller say to each other. `rates`: note every change of a queue
    pair's congestion control. `causes`: find out what every stall is due to. `series`: keep time series and events."""

    capture: Ports = ()
    openflow_log: bool = False
    rates: bool = False
    causes: bool = True
    series: bool = True


class Scenario(Section):
    """One scenario: what is built, what runs on it, what is broken, what is expected.

    `expect` maps a path in summary.json (``drops.total``, ``collectives.0.verified``) to the value it must have, or
    to bounds: see `testbed.scenario.expectations`.
    """

    title: str = Field(min_length=1, examples=["A ring All-Reduce"])
    message: str = Field(default="", examples=["What one will see"])
    seed: int = Field(default=1, ge=0)
    fabric: FabricOptions
    controller: ControllerOptions = ControllerOptions()
    transport: TransportOptions = TransportOptions()
    workload: tuple[Work, ...] = Field(min_length=1)
    faults: tuple[Fault, ...] = ()
    measure: MeasureOptions = MeasureOptions()
    expect: dict[str, Any] = Field(default_factory=dict)
