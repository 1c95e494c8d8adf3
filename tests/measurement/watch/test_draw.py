"""A view drawn for terminals of many sizes: golden pictures, and that it fits whatever the size."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from testbed.measurement.watch.draw import draw
from testbed.measurement.watch.view import View
from tests.conftest import GoldenCheck
from tests.measurement.watch.examples import BUSY, EMPTY, LARGE, QUIET

HERE = Path(__file__).parent
VIEWS = {"quiet": QUIET, "busy": BUSY, "large": LARGE, "empty": EMPTY}


class AsciiStream(io.StringIO):
    """A terminal that has no other letters."""

    encoding = "ascii"


def drawn(view: View, width: int, height: int, *, ascii_only: bool = False) -> str:
    stream = AsciiStream() if ascii_only else io.StringIO()
    console = Console(
        file=stream, width=width, height=height, color_system=None, force_terminal=False, highlight=False, markup=False
    )
    console.print(draw(view, console))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "width", "height"),
    [("quiet", 80, 24), ("busy", 80, 24), ("busy", 140, 40), ("large", 80, 24), ("empty", 80, 24), ("busy", 60, 24)],
)
def test_pictures(name: str, width: int, height: int, golden: GoldenCheck) -> None:
    golden(HERE / f"{name}-{width}x{height}.txt", drawn(VIEWS[name], width, height))


def test_without_other_letters_than_ascii(golden: GoldenCheck) -> None:
    text = drawn(BUSY, 80, 24, ascii_only=True)
    golden(HERE / "busy-ascii.txt", text)
    assert text.isascii()


@settings(deadline=None)
@given(
    name=st.sampled_from(sorted(VIEWS)),
    width=st.integers(min_value=40, max_value=250),
    height=st.integers(min_value=16, max_value=90),
)
def test_it_fits(name: str, width: int, height: int) -> None:
    lines = drawn(VIEWS[name], width, height).splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width


def test_what_does_not_fit_is_counted() -> None:
    text = drawn(LARGE, 80, 24)
    rows = text.count("  h") + text.count("│ h")
    assert f"{128 - rows} more ranks, further on" in text
    assert "h127" in text, "who is furthest behind comes first"
    assert "leaf399-eth1" in text, "the busiest port comes first"


def test_the_longest_wait_is_that_of_a_collective_if_there_is_one() -> None:
    assert BUSY.worst is not None
    assert (BUSY.worst.name, BUSY.worst.job) == ("h15", "ring all-reduce (workload.0)")
    assert EMPTY.worst is None
