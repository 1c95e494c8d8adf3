"""DCQCN's parameters as the model takes them, from the scenario's options: integers, every one with its value.

Three presets. `paper`: the values of the paper where they are published; of R_HAI (200 Mb/s) and of the least rate
(100 Mb/s) it gives none, these two are those of its authors' simulator. `connectx`: the defaults of ConnectX's firmware
(mlxconfig), under its own names. `hpcc`: those of HPCC's simulator, in which rates follow the link's and a CNP may go
every microsecond.

What the firmware counts otherwise: DCE_TCP_G is the weight of the old alpha, of 1024, so g = 1 - G / 1024.
INITIAL_ALPHA_VALUE is a fraction of 1024. RPG_GD is the logarithm of the divisor of that 10-bit alpha in a cut: 11
divides alpha by 2, as the paper does. RPG_MIN_DEC_FAC is the percentage of the rate that a cut leaves at least.

References: Zhu et al., Congestion Control for Large-Scale RDMA Deployments (SIGCOMM 2015); Linux
drivers/infiniband/hw/mlx5/cong.c (the firmware's parameters); HPCC's simulator, simulation/run.py and
src/point-to-point/model/rdma-hw.cc.
Known limits: of the firmware's algorithm only the parameters are public, so `connectx` is DCQCN with its values. Its
R_AI of 5 Mb/s brings a lost 10 Gb/s back in tens of milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from testbed.scenario.congestion import OWN_NAMES, DcqcnOptions, FirmwareOptions
from testbed.units import MICROSECOND

ALPHA_ONE = 1 << 32
"""alpha = 1: alpha is an integer number of 2^-32."""
_FIRMWARE_ONE = 1 << 10
_MEGABIT = 10**6
_PAPER_GD = 11


@dataclass(frozen=True, slots=True)
class DcqcnParameters:
    """Fractions are in units of 2^-32 (`ALPHA_ONE`), times in ps, rates in bit/s; `DcqcnOptions` says what each does.

    `alpha_by_period`: alpha_update is ``period``. `cut_shift`: a cut takes alpha / 2^cut_shift of the rate, 1 in the
    paper. `byte_counter` 0: bytes never raise the rate.
    """

    g: int
    initial_alpha: int
    alpha_timer_ps: int
    alpha_by_period: bool
    cnp_interval_ps: int
    increase_timer_ps: int
    byte_counter: int
    fast_recovery: int
    additive_bps: int
    hyper_bps: int
    hyper_growth: bool
    min_rate_bps: int
    cut_interval_ps: int
    max_cut: int
    clamp_target: str
    cut_shift: int


CONNECTX = FirmwareOptions(
    RPG_TIME_RESET=300,
    RPG_BYTE_RESET=32767,
    RPG_THRESHOLD=1,
    RPG_AI_RATE=5,
    RPG_HAI_RATE=50,
    RPG_GD=11,
    RPG_MIN_DEC_FAC=50,
    RPG_MIN_RATE=1,
    DCE_TCP_G=1019,
    DCE_TCP_RTT=1,
    RATE_REDUCE_MONITOR_PERIOD=4,
    INITIAL_ALPHA_VALUE=1023,
    MIN_TIME_BETWEEN_CNPS=4,
    CLAMP_TGT_RATE=False,
    CLAMP_TGT_RATE_AFTER_TIME_INC=True,
)

_PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "g": 1 / 256,
        "initial_alpha": 1.0,
        "alpha_timer": 55 * MICROSECOND,
        "alpha_update": "cnp",
        "cnp_interval": 50 * MICROSECOND,
        "increase_timer": 55 * MICROSECOND,
        "byte_counter": 10_000_000,
        "fast_recovery": 5,
        "additive": 40 * _MEGABIT,
        "hyper": 200 * _MEGABIT,
        "hyper_growth": True,
        "min_rate": 100 * _MEGABIT,
        "cut_interval": 0,
        "max_cut": 1.0,
        "clamp_target": "always",
    }
)


def parameters(options: DcqcnOptions, line_rate_bps: int) -> DcqcnParameters:
    """Return the parameters of `options` for a link of `line_rate_bps`: its own go before the firmware's, and these
    before the preset's (`contradictions` says when both are there).
    """
    values = dict(_preset(options.preset, line_rate_bps))
    values |= _from_firmware(options.firmware)
    values |= {name: value for name in _PAPER if (value := getattr(options, name)) is not None}
    gd = options.firmware.RPG_GD
    return DcqcnParameters(
        g=_fixed(values["g"]),
        initial_alpha=_fixed(values["initial_alpha"]),
        alpha_timer_ps=values["alpha_timer"],
        alpha_by_period=values["alpha_update"] == "period",
        cnp_interval_ps=values["cnp_interval"],
        increase_timer_ps=values["increase_timer"],
        byte_counter=values["byte_counter"],
        fast_recovery=values["fast_recovery"],
        additive_bps=values["additive"],
        hyper_bps=values["hyper"],
        hyper_growth=values["hyper_growth"],
        min_rate_bps=min(values["min_rate"], line_rate_bps),
        cut_interval_ps=values["cut_interval"],
        max_cut=_fixed(values["max_cut"]),
        clamp_target=values["clamp_target"],
        cut_shift=(_PAPER_GD if gd is None else gd) - 10,
    )


def _fixed(fraction: float) -> int:
    """Return a fraction from 0 to 1 in units of 2^-32, the nearest: one product of two doubles, exact everywhere."""
    return max(1, round(fraction * ALPHA_ONE))


def _preset(name: str, line_rate_bps: int) -> Mapping[str, Any]:
    if name == "paper":
        return _PAPER
    by_period = {**_PAPER, "alpha_update": "period", "hyper_growth": False}
    if name == "connectx":
        return by_period | _from_firmware(CONNECTX)
    return by_period | {
        "alpha_timer": MICROSECOND,
        "cnp_interval": MICROSECOND,
        "increase_timer": 300 * MICROSECOND,
        "byte_counter": 0,
        "fast_recovery": 1,
        "additive": line_rate_bps // 5_000,
        "hyper": line_rate_bps // 500,
        "min_rate": 1_000 * _MEGABIT,
        "cut_interval": 4 * MICROSECOND,
        "clamp_target": "after-increase",
    }


_CONVERSIONS: Mapping[str, Any] = MappingProxyType(
    {
        "RPG_TIME_RESET": lambda value: value * MICROSECOND,
        "RPG_BYTE_RESET": int,
        "RPG_THRESHOLD": int,
        "RPG_AI_RATE": lambda value: value * _MEGABIT,
        "RPG_HAI_RATE": lambda value: value * _MEGABIT,
        "RPG_MIN_RATE": lambda value: value * _MEGABIT,
        "RPG_MIN_DEC_FAC": lambda value: 1 - value / 100,
        "DCE_TCP_G": lambda value: (_FIRMWARE_ONE - value) / _FIRMWARE_ONE,
        "DCE_TCP_RTT": lambda value: value * MICROSECOND,
        "RATE_REDUCE_MONITOR_PERIOD": lambda value: value * MICROSECOND,
        "INITIAL_ALPHA_VALUE": lambda value: value / _FIRMWARE_ONE,
        "MIN_TIME_BETWEEN_CNPS": lambda value: value * MICROSECOND,
    }
)
"""From the firmware's units to ours, but for the two switches of the target."""


def _from_firmware(firmware: FirmwareOptions) -> dict[str, Any]:
    """Return what `firmware` sets, under our names and in our units."""
    values = {
        OWN_NAMES[name]: convert(value)
        for name, convert in _CONVERSIONS.items()
        if (value := getattr(firmware, name)) is not None
    }
    if firmware.CLAMP_TGT_RATE:
        values["clamp_target"] = "always"
    elif firmware.CLAMP_TGT_RATE_AFTER_TIME_INC is not None:
        values["clamp_target"] = "after-increase" if firmware.CLAMP_TGT_RATE_AFTER_TIME_INC else "after-bytes"
    elif firmware.CLAMP_TGT_RATE is False:
        values["clamp_target"] = "after-increase"
    return values
