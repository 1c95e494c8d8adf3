"""Figures are medians with their range, and tables show them."""

import pytest

from benchmarks.figures import Spread, Table


def test_a_spread_shows_median_and_range() -> None:
    spread = Spread.of([51_000.4, 70_000, 52_000])
    assert (spread.median, spread.lowest, spread.highest) == (52_000, 51_000.4, 70_000)
    assert spread.text() == "52,000 (51,000-70,000)"
    assert spread.text(".1f") == "52000.0 (51000.4-70000.0)"


def test_one_measurement_has_no_range() -> None:
    assert Spread.of([0.25]).text(".0%") == "25%"


def test_no_measurement_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="expected at least one measurement"):
        Spread.of([])


def test_a_table_as_markdown() -> None:
    table = Table("Speed", ("", "us"), (("write | read", "8.1"),))
    assert table.markdown() == "**Speed**\n\n|  | us |\n| --- | ---: |\n| write \\| read | 8.1 |"


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="expected 2 cells"):
        Table("Speed", ("", "us"), (("write",),))
