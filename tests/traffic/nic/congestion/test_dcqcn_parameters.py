"""The presets restated from their sources, the firmware's names, and values that contradict each other."""

from typing import Any

import pytest

from testbed.errors import ScenarioError
from testbed.scenario.congestion import OWN_NAMES, DcqcnOptions, DctcpOptions, FirmwareOptions
from testbed.units import MICROSECOND
from traffic.nic.congestion import feedback_of
from traffic.nic.congestion.dcqcn_parameters import ALPHA_ONE, DcqcnParameters, parameters

LINE = 100_000_000_000
MEGABIT = 10**6


def resolved(**options: Any) -> DcqcnParameters:
    return parameters(DcqcnOptions.model_validate({"kind": "dcqcn", **options}), LINE)


def test_the_paper() -> None:
    found = resolved()
    assert found.g * 256 == ALPHA_ONE == found.initial_alpha
    assert found.alpha_timer_ps == found.increase_timer_ps == 55 * MICROSECOND
    assert found.cnp_interval_ps == 50 * MICROSECOND
    assert (found.byte_counter, found.fast_recovery) == (10_000_000, 5)
    assert (found.additive_bps, found.hyper_bps, found.min_rate_bps) == (40 * MEGABIT, 200 * MEGABIT, 100 * MEGABIT)
    assert (found.cut_shift, found.cut_interval_ps, found.max_cut) == (1, 0, ALPHA_ONE)
    assert (found.alpha_by_period, found.hyper_growth, found.clamp_target) == (False, True, "always")


def test_connectx() -> None:
    found = resolved(preset="connectx")
    assert found.g * 1024 == 5 * ALPHA_ONE  # DCE_TCP_G 1019 is what alpha keeps, of 1024
    assert found.initial_alpha * 1024 == 1023 * ALPHA_ONE
    assert (found.alpha_timer_ps, found.increase_timer_ps) == (MICROSECOND, 300 * MICROSECOND)
    assert (found.cnp_interval_ps, found.cut_interval_ps) == (4 * MICROSECOND, 4 * MICROSECOND)
    assert (found.byte_counter, found.fast_recovery) == (32767, 1)
    assert (found.additive_bps, found.hyper_bps, found.min_rate_bps) == (5 * MEGABIT, 50 * MEGABIT, MEGABIT)
    assert (found.cut_shift, found.max_cut) == (1, ALPHA_ONE // 2)
    assert (found.alpha_by_period, found.clamp_target) == (True, "after-increase")


def test_hpcc_follows_the_line_rate() -> None:
    found = resolved(preset="hpcc")
    assert (found.additive_bps, found.hyper_bps) == (5 * MEGABIT * 100 // 25, 50 * MEGABIT * 100 // 25)
    assert found.min_rate_bps == 1_000 * MEGABIT
    assert (found.alpha_timer_ps, found.increase_timer_ps) == (MICROSECOND, 300 * MICROSECOND)
    assert (found.byte_counter, found.fast_recovery, found.cut_interval_ps) == (0, 1, 4 * MICROSECOND)


@pytest.mark.parametrize(
    ("name", "value", "attribute", "expected"),
    [
        ("RPG_TIME_RESET", 200, "increase_timer_ps", 200 * MICROSECOND),
        ("RPG_BYTE_RESET", 1000, "byte_counter", 1000),
        ("RPG_THRESHOLD", 3, "fast_recovery", 3),
        ("RPG_AI_RATE", 7, "additive_bps", 7 * MEGABIT),
        ("RPG_HAI_RATE", 9, "hyper_bps", 9 * MEGABIT),
        ("RPG_MIN_RATE", 10, "min_rate_bps", 10 * MEGABIT),
        ("RPG_MIN_DEC_FAC", 75, "max_cut", ALPHA_ONE // 4),
        ("RPG_GD", 13, "cut_shift", 3),
        ("RPG_GD", 9, "cut_shift", -1),
        ("DCE_TCP_G", 1020, "g", ALPHA_ONE // 256),
        ("DCE_TCP_RTT", 5, "alpha_timer_ps", 5 * MICROSECOND),
        ("RATE_REDUCE_MONITOR_PERIOD", 6, "cut_interval_ps", 6 * MICROSECOND),
        ("INITIAL_ALPHA_VALUE", 512, "initial_alpha", ALPHA_ONE // 2),
        ("MIN_TIME_BETWEEN_CNPS", 2, "cnp_interval_ps", 2 * MICROSECOND),
        ("CLAMP_TGT_RATE", True, "clamp_target", "always"),
        ("CLAMP_TGT_RATE", False, "clamp_target", "after-increase"),
        ("CLAMP_TGT_RATE_AFTER_TIME_INC", True, "clamp_target", "after-increase"),
        ("CLAMP_TGT_RATE_AFTER_TIME_INC", False, "clamp_target", "after-bytes"),
    ],
)
def test_the_firmwares_names(name: str, value: int, attribute: str, expected: int | str) -> None:
    assert getattr(resolved(firmware={name: value}), attribute) == expected


def test_every_name_of_the_firmware_has_one_of_ours_but_for_the_divisor() -> None:
    assert set(FirmwareOptions.model_fields) - set(OWN_NAMES) == {"RPG_GD"}
    assert set(OWN_NAMES.values()) <= set(DcqcnOptions.model_fields)


def test_ours_goes_before_the_preset() -> None:
    assert resolved(preset="connectx", additive="1Gbps").additive_bps == 10**9


@pytest.mark.parametrize("theirs", sorted(OWN_NAMES))
def test_one_parameter_under_both_names_is_refused(theirs: str) -> None:
    ours = OWN_NAMES[theirs]
    twice: dict[str, Any] = {ours: 1, "firmware": FirmwareOptions().model_copy(update={theirs: 1})}
    options = DcqcnOptions(kind="dcqcn").model_copy(update=twice)
    text = (
        rf"^transport\.congestion\.firmware\.{theirs}: expected one of {ours} and firmware\.{theirs}, its other name, "
    )
    with pytest.raises(ScenarioError, match=text + "found both$"):
        feedback_of(options)


def test_a_window_that_begins_beyond_its_bound_is_refused() -> None:
    options = DctcpOptions.model_validate({"kind": "dctcp", "initial_window": "2MiB", "max_window": "1MiB"})
    text = r"^transport\.congestion\.initial_window: expected at most max_window, 1048576B, found 2097152B; "
    with pytest.raises(ScenarioError, match=text + "for example 1048576B$"):
        feedback_of(options)
