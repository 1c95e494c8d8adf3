"""Blocks of 64 bytes, and counters of 12 bits that wrap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.engine.credit.arithmetic import MODULUS, blocks_of, may_send, wrapped
from testbed.fabric.buffers import BLOCK_BYTES, MOST_BLOCKS
from tests.engine.kit import STEADY


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (60, 1), (64, 1), (65, 2), (128, 2), (4158, 65), (4170, 66)])
def test_a_block_that_is_begun_counts(size: int, blocks: int) -> None:
    assert blocks_of(size) == blocks


def test_the_most_that_can_be_advertised_is_half_the_range() -> None:
    assert MOST_BLOCKS * BLOCK_BYTES == 128 * 1024
    assert MODULUS == 2 * MOST_BLOCKS == 2**12


@pytest.mark.parametrize("start", [0, 1, 2047, 2048, 4000, 4095])
def test_limit_to_the_block(start: int) -> None:
    limit = wrapped(start + 100)
    assert may_send(start, limit, 100)
    assert not may_send(start, limit, 101)


@pytest.mark.parametrize("start", [0, 2048, 4095])
def test_a_whole_advertisement(start: int) -> None:
    assert may_send(start, wrapped(start + MOST_BLOCKS), MOST_BLOCKS)
    assert not may_send(start, wrapped(start + MOST_BLOCKS), MOST_BLOCKS + 1)
    assert not may_send(start, start, 1)


@STEADY
@given(st.integers(0, 10**9), st.integers(0, MOST_BLOCKS), st.integers(1, MOST_BLOCKS - 1))
def test_counters_that_wrap_decide_as_those_that_do_not(sent: int, free: int, blocks: int) -> None:
    limit = sent + free
    assert may_send(wrapped(sent), wrapped(limit), blocks) == (sent + blocks <= limit)
