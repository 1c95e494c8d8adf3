"""Expectations against a summary: equality, bounds, shares, quantities, and paths that are not there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.scenario.expectations import BadCondition, Expectation, condition, evaluate

SUMMARY: dict[str, Any] = {
    "title": "A run",
    "drops": {"total": 1, "by_reason": {"fault": 1}},
    "stalls": {"stall_ps_by_rank": {"h0": 0, "h1": 4_295_089_521_440}},
    "collectives": [
        {
            "verified": True,
            "size_bytes": 4194304,
            "time_ps": 745_123_000,
            "busbw_gbps": 84.5,
            "stall_ps_by_rank": [0, 5],
        }
    ],
}


def judge(path: str, value: Any) -> Expectation:
    (result,) = evaluate({path: value}, SUMMARY)
    assert result.name == path
    return result


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("drops.total", 1),
        ("title", "A run"),
        ("collectives.0.verified", True),
        ("collectives.0.size_bytes", "4MiB"),
        ("collectives.0.size_bytes", 4194304),
        ("collectives.0.stall_ps_by_rank", (0, 5)),
        ("collectives.0.time_ps", {"at_most": "800us"}),
        ("collectives.0.time_ps", {"at_least": 745_123_000, "at_most": 745_123_000}),
        ("collectives.0.time_ps", {"of": "745us", "within": "0.1%"}),
        ("collectives.0.busbw_gbps", {"at_least": 84}),
        ("stalls.stall_ps_by_rank.h1", {"of": "4.295s", "within": "1%"}),
        ("collectives.0.busbw_gbps", {"at_least": "84.5Gbps"}),
        ("drops.by_reason.fault", {"of": 1, "within": "0%"}),
    ],
)
def test_holds(path: str, value: Any) -> None:
    assert judge(path, value).ok


@pytest.mark.parametrize(
    ("path", "value", "detail"),
    [
        ("drops.total", 0, "expected 0, found 1"),
        ("drops.total", True, "expected true, found 1"),
        ("collectives.0.verified", 1, "expected 1, found true"),
        ("collectives.0.time_ps", {"at_most": "700us"}, "expected at most 700us, found 745.123us"),
        ("collectives.0.time_ps", {"of": "700us", "within": "1%"}, "expected 700us within 1%, found 745.123us"),
        (
            "collectives.0.busbw_gbps",
            {"at_least": 90, "at_most": 100},
            "expected at least 90 and at most 100, found 84.5 Gb/s",
        ),
        ("collectives.0.busbw_gbps", {"at_least": "84501Mbps"}, "expected at least 84501Mbps, found 84.5 Gb/s"),
        ("title", {"at_least": 3}, "expected at least 3, found A run"),
        ("collectives.0.time_ps", 700_000_000, "expected 700us, found 745.123us"),
        (
            "collectives.0.time_ps",
            {"at_least": 1_234_567, "at_most": 700_000_500},
            "expected at least 1.234567us and at most 700.0005us, found 745.123us",
        ),
        ("collectives.0.time_ps", {"of": 10**12, "within": "1%"}, "expected 1s within 1%, found 745.123us"),
        ("collectives.0.time_ps", 0.5, "expected 0.5, found 745.123us"),
        ("collectives.0.size_bytes", 2097152, "expected 2MiB, found 4MiB"),
        ("collectives.0.size_bytes", "2MiB", "expected 2MiB, found 4MiB"),
        (
            "stalls.stall_ps_by_rank.h1",
            {"of": "4.3s", "within": "0.1%"},
            "expected 4.3s within 0.1%, found 4.29508952144s",
        ),
        ("drops.totl", 0, "expected 0, found no 'totl' in drops; did you mean 'total'?"),
        ("drops.by_reason.overflow", 0, "expected 0, found no 'overflow' in drops.by_reason; there are fault"),
        ("collectives.1.verified", True, "expected true, found no '1' in collectives, which is a list of 1 item"),
        ("drops.total.x", 1, "expected 1, found no 'x' in drops.total, which is 1"),
    ],
)
def test_fails_with_what_was_found(path: str, value: Any, detail: str) -> None:
    result = judge(path, value)
    assert not result.ok
    assert result.detail == detail


def test_expectations_keep_the_order_of_the_scenario() -> None:
    results = evaluate({"title": "A run", "drops.total": 0}, SUMMARY)
    assert [(result.name, result.ok) for result in results] == [("title", True), ("drops.total", False)]


@given(st.integers(1, 10**15), st.integers(0, 100), st.integers(0, 2 * 10**15))
def test_within_is_a_share_of_the_value(middle: int, percent: int, found: int) -> None:
    """|found - of| <= of * share, in whole numbers."""
    bound = condition("duration_ps", {"of": middle, "within": f"{percent}%"})
    assert bound.holds(found) == (abs(found - middle) * 100 <= middle * percent)


@pytest.mark.parametrize(
    "value",
    [None, float("nan"), {}, {"of": 1}, {"within": "1%"}, {"of": 1, "within": "1%", "at_most": 2}, {"at_most": None}],
)
def test_malformed(value: Any) -> None:
    with pytest.raises(BadCondition):
        condition("drops.total", value)
