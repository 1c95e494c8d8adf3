"""Sizes of a benchmark: each form, its units, and what is no size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.bench.sizes import MOST_SIZES, parse_sizes
from testbed.errors import ScenarioError

K, M, G = 2**10, 2**20, 2**30


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4096", (4096,)),
        ("1K", (K,)),
        ("1k,2KiB,2m", (K, 2 * K, 2 * M)),
        ("8B", (8,)),
        ("1G", (G,)),
        ("1M:8M:2", (M, 2 * M, 4 * M, 8 * M)),
        ("1M:8M", (M, 2 * M, 4 * M, 8 * M)),
        ("1M:64M:4", (M, 4 * M, 16 * M, 64 * M)),
        ("1M:7M:2", (M, 2 * M, 4 * M)),
        ("1M:3M:+1M", (M, 2 * M, 3 * M)),
        ("4M,1M:2M:2, 8", (4 * M, M, 2 * M, 8)),
        ("1M:1M:2", (M,)),
    ],
)
def test_forms(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected a size in bytes, or with K, M or G, found ''"),
        ("1T", "expected a size in bytes, or with K, M or G, found '1T'"),
        ("-4", "expected a size in bytes, or with K, M or G, found '-4'"),
        ("1.5M", "expected a size in bytes, or with K, M or G, found '1.5M'"),
        ("4,", "expected a size in bytes, or with K, M or G, found ''"),
        ("6", "expected sizes of whole float32 elements (4 bytes), found 6"),
        ("0", "expected sizes of whole float32 elements (4 bytes), found 0"),
        ("4:16:+2", "expected sizes of whole float32 elements (4 bytes), found 6"),
        ("2M:1M:2", "expected the smallest size first, found '2M:1M:2'"),
        ("1M:2M:1", "expected a factor of 2 or more, or +STEP, found '1'"),
        ("1M:2M:+0", "expected a factor of 2 or more, or +STEP, found '+0'"),
        ("1M:2M:x", "expected a factor of 2 or more, or +STEP, found 'x'"),
        ("1M:2M:2:2", "expected MIN:MAX:FACTOR, found '1M:2M:2:2'"),
        ("4:1G:+4", f"expected at most {MOST_SIZES} sizes, found more"),
    ],
)
def test_what_is_no_size_is_said_with_an_example(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_sizes(text)
    assert str(caught.value) == f"--sizes {text}: {problem}; for example 1M:64M:2, 1M:8M:+1M or 64K,1M,16M"


@given(first=st.integers(1, 2**20), last=st.integers(1, 2**28), factor=st.integers(2, 9))
def test_a_factor_gives_a_geometric_series_that_ends_before_the_maximum(first: int, last: int, factor: int) -> None:
    first, last = 4 * min(first, last), 4 * max(first, last)
    sizes = parse_sizes(f"{first}:{last}:{factor}")
    assert sizes == tuple(first * factor**n for n in range(len(sizes)))
    assert sizes[-1] <= last < sizes[-1] * factor


@given(first=st.integers(1, 2**20), step=st.integers(1, 2**20), number=st.integers(1, MOST_SIZES))
def test_a_step_gives_an_arithmetic_series(first: int, step: int, number: int) -> None:
    sizes = parse_sizes(f"{4 * first}:{4 * (first + step * number) - 4}:+{4 * step}")
    assert sizes == tuple(4 * (first + step * n) for n in range(number))


@given(st.text())
def test_any_text_is_sizes_or_a_scenario_error(text: str) -> None:
    try:
        sizes = parse_sizes(text)
    except ScenarioError:
        return
    assert sizes
    assert all(size > 0 and size % 4 == 0 for size in sizes)
