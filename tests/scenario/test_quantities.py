"""Quantities written back to text are exact."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.scenario.quantities import RATE, SIZE, TIME, Quantity


@pytest.mark.parametrize("quantity", [TIME, RATE, SIZE], ids=lambda quantity: quantity.name)
@given(value=st.integers(0, 10**18))
def test_text_and_back(quantity: Quantity, value: int) -> None:
    assert quantity.parse(quantity.text(value)) == value


def test_text_is_in_the_largest_whole_unit() -> None:
    assert [TIME.text(value) for value in (0, 500_000, 1_500_000, 10**12)] == ["0ps", "500ns", "1500ns", "1s"]
    assert [RATE.text(value) for value in (10**11, 16 * 10**11)] == ["100Gbps", "1600Gbps"]
    assert [SIZE.text(value) for value in (4 * 2**20, 4 * 10**6, 1001)] == ["4MiB", "4MB", "1001B"]
