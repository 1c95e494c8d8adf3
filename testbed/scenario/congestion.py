"""How senders react to congestion: the section ``transport.congestion``, one class for each kind.

A kind is a plug-in of the NIC's (`traffic.nic.congestion`), which says what its options do. A value that is left out is
that of the preset, where a kind has presets. DCQCN's parameters can also be given under the names and in the units of
ConnectX's firmware (`FirmwareOptions`); `OWN_NAMES` says which is which.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from testbed.scenario.quantities import RateBps, SizeBytes, TimePs
from testbed.scenario.section import Section


class NoCongestionControl(Section):
    """Every QP sends at line rate. With `cnp_interval`, receivers still answer marks with CNPs, which senders
    ignore."""

    kind: Literal["none"]
    cnp_interval: TimePs | None = Field(default=None, gt=0, examples=["50us"])


class FirmwareOptions(Section):
    """DCQCN's parameters as mlxconfig names and counts them: times in us, rates in Mb/s, fractions of 2^10."""

    RPG_TIME_RESET: int | None = Field(default=None, ge=1, le=131071, examples=[300])
    RPG_BYTE_RESET: int | None = Field(default=None, ge=0, le=32767, examples=[32767])
    RPG_THRESHOLD: int | None = Field(default=None, ge=1, le=31, examples=[1])
    RPG_AI_RATE: int | None = Field(default=None, ge=1, le=131071, examples=[5])
    RPG_HAI_RATE: int | None = Field(default=None, ge=1, le=131071, examples=[50])
    RPG_GD: int | None = Field(default=None, ge=0, le=15, examples=[11])
    RPG_MIN_DEC_FAC: int | None = Field(default=None, ge=1, le=100, examples=[50])
    RPG_MIN_RATE: int | None = Field(default=None, ge=1, le=131071, examples=[1])
    DCE_TCP_G: int | None = Field(default=None, ge=0, le=1023, examples=[1019])
    DCE_TCP_RTT: int | None = Field(default=None, ge=1, le=131071, examples=[1])
    RATE_REDUCE_MONITOR_PERIOD: int | None = Field(default=None, ge=0, le=131071, examples=[4])
    INITIAL_ALPHA_VALUE: int | None = Field(default=None, ge=1, le=1023, examples=[1023])
    MIN_TIME_BETWEEN_CNPS: int | None = Field(default=None, ge=0, le=4095, examples=[4])
    CLAMP_TGT_RATE: bool | None = None
    CLAMP_TGT_RATE_AFTER_TIME_INC: bool | None = None


class DcqcnOptions(Section):
    """DCQCN. Each parameter has the value of `preset` unless it is given here, or in `firmware` by its other name.

    `g`: weight of the newest mark in alpha. `alpha_timer`: alpha decays once in it without a CNP. `alpha_update`: alpha
    rises with each CNP (``cnp``, the paper) or once in `alpha_timer` if CNPs came (``period``, the firmware).
    `cnp_interval`: the receiver's least time between CNPs of one QP. `increase_timer`, `byte_counter`: how often the
    rate is raised (0B: never by bytes). `fast_recovery`: F, the rounds of fast recovery. `additive`, `hyper`: R_AI and
    R_HAI. `hyper_growth`: whether the i-th hyper increase adds i * R_HAI. `min_rate`: no cut goes below.
    `cut_interval`: the least time between two cuts. `max_cut`: the most that one cut takes, a share of the rate.
    `clamp_target`: when a cut lowers the target to the rate: ``always``, ``after-increase`` (the timer raised the rate
    since the last cut) or ``after-bytes`` (the byte counter did).
    """

    kind: Literal["dcqcn"]
    preset: Literal["paper", "connectx", "hpcc"] = "paper"
    g: float | None = Field(default=None, gt=0, le=1, examples=[0.00390625])
    initial_alpha: float | None = Field(default=None, gt=0, le=1, examples=[1.0])
    alpha_timer: TimePs | None = Field(default=None, gt=0, examples=["55us"])
    alpha_update: Literal["cnp", "period"] | None = None
    cnp_interval: TimePs | None = Field(default=None, ge=0, examples=["50us"])
    increase_timer: TimePs | None = Field(default=None, gt=0, examples=["55us"])
    byte_counter: SizeBytes | None = Field(default=None, ge=0, examples=["10MB"])
    fast_recovery: int | None = Field(default=None, ge=1, le=100, examples=[5])
    additive: RateBps | None = Field(default=None, examples=["40Mbps"])
    hyper: RateBps | None = Field(default=None, examples=["200Mbps"])
    hyper_growth: bool | None = None
    min_rate: RateBps | None = Field(default=None, examples=["100Mbps"])
    cut_interval: TimePs | None = Field(default=None, ge=0, examples=["4us"])
    max_cut: float | None = Field(default=None, gt=0, le=1, examples=[0.5])
    clamp_target: Literal["always", "after-increase", "after-bytes"] | None = None
    firmware: FirmwareOptions = FirmwareOptions()


class DctcpOptions(Section):
    """DCTCP's window on a QP. `g`: weight of the newest window in alpha. Windows hold whole packets, at least one.

    `initial_window`: at the start; `max_window`: no growth beyond.
    """

    kind: Literal["dctcp"]
    g: float = Field(default=0.0625, gt=0, le=1)
    initial_window: SizeBytes = Field(default=128 * 1024, gt=0)
    max_window: SizeBytes = Field(default=4 * 2**20, gt=0)


CongestionOptions = Annotated[NoCongestionControl | DcqcnOptions | DctcpOptions, Field(discriminator="kind")]


OWN_NAMES = {
    "RPG_TIME_RESET": "increase_timer",
    "RPG_BYTE_RESET": "byte_counter",
    "RPG_THRESHOLD": "fast_recovery",
    "RPG_AI_RATE": "additive",
    "RPG_HAI_RATE": "hyper",
    "RPG_MIN_RATE": "min_rate",
    "RPG_MIN_DEC_FAC": "max_cut",
    "DCE_TCP_G": "g",
    "DCE_TCP_RTT": "alpha_timer",
    "RATE_REDUCE_MONITOR_PERIOD": "cut_interval",
    "INITIAL_ALPHA_VALUE": "initial_alpha",
    "MIN_TIME_BETWEEN_CNPS": "cnp_interval",
    "CLAMP_TGT_RATE": "clamp_target",
    "CLAMP_TGT_RATE_AFTER_TIME_INC": "clamp_target",
}
"""The firmware's names and ours for the same parameter. RPG_GD, the divisor of alpha in a cut, has no other name: in
the paper it is 2."""


def contradictions(options: CongestionOptions | None) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what the values of one section cannot be together: the path of the later value in it, and what is wrong."""
    if isinstance(options, DcqcnOptions):
        for theirs, ours in OWN_NAMES.items():
            if getattr(options.firmware, theirs) is not None and getattr(options, ours) is not None:
                yield ("firmware", theirs), f"expected one of {ours} and firmware.{theirs}, its other name, found both"
    elif isinstance(options, DctcpOptions) and options.initial_window > options.max_window:
        text = f"expected at most max_window, {options.max_window}B, found {options.initial_window}B"
        yield ("initial_window",), f"{text}; for example {options.max_window}B"
