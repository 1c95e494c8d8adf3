"""What a switch and a NIC do with their traffic classes: the sections ``fabric.qos`` and what hangs below them.

There are eight priorities, 0 to 7; a priority is at once a traffic class (its egress queue) and a priority group (its
ingress accounting), as in most deployments. A frame's priority follows from its DSCP.

Names follow SONiC and the papers; `alpha` is the factor of the dynamic threshold T = alpha * (B - used).
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from testbed.scenario.quantities import SizeBytes, TimePs
from testbed.scenario.section import Section

PRIORITIES = 8


def _whole_number(key: Any) -> Any:
    """A key of a mapping is text in the document: ``3`` is meant as the number."""
    return int(key) if isinstance(key, str) and key.isdecimal() and key == str(int(key)) else key


Priority = Annotated[int, Field(ge=0, le=7, examples=[3])]
Weight = Annotated[int, Field(ge=1, le=127, examples=[2])]
PriorityKey = Annotated[int, BeforeValidator(_whole_number), Field(ge=0, le=7, examples=[3])]
DscpKey = Annotated[int, BeforeValidator(_whole_number), Field(ge=0, le=63, examples=[26])]


def _auto_or_size(value: Any) -> str:
    return "auto" if value == "auto" else "size"


Headroom = Annotated[
    Annotated[Literal["auto"], Tag("auto")] | Annotated[SizeBytes, Tag("size")], Discriminator(_auto_or_size)
]


class EcnOptions(Section):
    """Marking on an egress queue: RED's ramp from `kmin` to `kmax` up to `pmax`, all above; or a `step` at `kmin`.

    `by`: ``bytes`` in the queue, or ``time`` a frame has waited (then `tmin` and `tmax` are the ramp's ends). `wred`:
    frames that cannot be marked (non-ECT) are dropped with the same probability. Defaults are SONiC's for lossless
    queues (AZURE_LOSSLESS).
    """

    kmin: SizeBytes = Field(default=2**20, ge=0)
    kmax: SizeBytes = Field(default=2 * 2**20, ge=0)
    pmax: float = Field(default=0.05, ge=0, le=1)
    by: Literal["bytes", "time"] = "bytes"
    tmin: TimePs = 80_000_000
    tmax: TimePs = 160_000_000
    wred: bool = False


class WatchdogOptions(Section):
    """The PFC watchdog of every lossless egress queue (SONiC's pfcwd): a queue that is paused for `detect` with frames
    in it is in a storm: its frames are dropped (`drop`), sent in spite of the pause (`forward`) or only counted
    (`alert`), until no pause has come for `restore`. Times of real switches are 100 ms and more."""

    detect: TimePs = Field(default=200_000_000_000, gt=0)
    restore: TimePs = Field(default=200_000_000_000, gt=0)
    poll: TimePs = Field(default=100_000_000_000, gt=0)
    action: Literal["drop", "forward", "alert"] = "drop"


class PfcOptions(Section):
    """Priority flow control (802.1Qbb) for the lossless priorities, or PAUSE (802.3x) for the whole link.

    `quanta`: the pause time that an XOFF asks for, in quanta of 512 bit times. `xon_offset`: how far below its
    threshold the ingress accounting must fall before XON. `headroom`: for what arrives after XOFF, per port and
    priority; ``auto`` computes it from the link's rate and delay, the MTU and `response`. `response`: from a pause
    frame's last bit to the sender's obedience. `refresh`: the share of the pause time after which XOFF is sent again.
    """

    kind: Literal["pfc", "pause"] = "pfc"
    quanta: int = Field(default=0xFFFF, ge=1, le=0xFFFF)
    xon_offset: SizeBytes = Field(default=3 * 1024, ge=0)
    headroom: Headroom = "auto"
    response: TimePs = 500_000
    refresh: float = Field(default=0.5, gt=0, lt=1)
    watchdog: WatchdogOptions | None = None


class CreditOptions(Section):
    """Credits for the lossless priorities, as InfiniBand has them for its virtual lanes, instead of PFC.

    `vl_buffer`: the receive buffer of each port and lane, at most 128KiB; ``auto``: just enough for the link's full
    rate. `growth`: a sender is told of new credit as soon as there is so much; and of any, `update` after it was told
    last.
    """

    vl_buffer: Headroom = "auto"
    update: TimePs = Field(default=10_000_000, gt=0)
    growth: SizeBytes = Field(default=8 * 1024, ge=0)


class QosOptions(Section):
    """Traffic classes of every switch.

    `dscp`: the priority of each DSCP that is not in the default map (24 to 31 -> 3, 48 and 56 -> 6, others -> 0).
    `lossless`: priorities that flow control protects when `pfc` or `credits` is set (not both). `strict`: priorities
    served before all others, the highest first; the rest share by `weights` (deficit round robin; default 1).
    `ingress_alpha`, `egress_alpha`: dynamic thresholds; lossless priorities have no egress limit. `reserved`: bytes
    that each port and priority has for itself.
    """

    dscp: dict[DscpKey, Priority] = Field(default_factory=dict)
    lossless: tuple[Priority, ...] = (3,)
    strict: tuple[Priority, ...] = (6, 7)
    weights: dict[PriorityKey, Weight] = Field(default_factory=dict)
    ingress_alpha: float = Field(default=0.125, gt=0, le=128)
    egress_alpha: float = Field(default=1.0, gt=0, le=128)
    reserved: SizeBytes = Field(default=4 * 1024, ge=0)
    ecn: dict[PriorityKey, EcnOptions] = Field(default_factory=dict)
    pfc: PfcOptions | None = None
    credits: CreditOptions | None = None

    @property
    def has_flow_control(self) -> bool:
        """Whether the lossless priorities are so."""
        return self.pfc is not None or self.credits is not None
