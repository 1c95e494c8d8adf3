"""How much memory the numbers of a replay take, before they take it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tests.traffic.traces.kit import goal, write_chakra
from tests.traffic.traces.make_traces import ChakraRank
from traffic.trace_replay.memory import Numbers
from traffic.trace_replay.script import Script, write_script
from traffic.traces.casting import Options
from traffic.traces.chakra.et_def_pb2 import CollectiveCommType as Kind
from traffic.traces.load import load_trace
from traffic.traces.matching import match
from traffic.traces.model import Trace

RANKS = 3


def script_of(trace: Trace) -> Script:
    return write_script(trace, match(trace), range(len(trace.ranks)), Options())


def peak_bytes(script: Script) -> int:
    """The most memory at a time when the first rank is through with every collective before the others are."""
    np.random.PCG64(1)  # numpy imports its generators with the first of them, which is no memory of a replay
    tracemalloc.start()
    try:
        numbers = Numbers(script, seed=1)
        for rank in range(RANKS):
            for call in script.calls:
                numbers.bring(call, rank)
        for transfer in script.transfers:
            numbers.write(transfer)
            numbers.compare(transfer)
        for call in script.calls:
            for rank in range(RANKS):
                numbers.check(call, rank)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [Kind.BROADCAST, Kind.ALL_REDUCE, Kind.ALL_TO_ALL])
def test_all_true_results_can_be_there_at_once(tmp_path: Path, kind: Kind) -> None:
    ranks = [ChakraRank() for _ in range(RANKS)]
    for rank in ranks:
        for name in "abcdefgh":
            rank.collective(name, kind, 3 * 200_000)
    script = script_of(load_trace([write_chakra(tmp_path, *ranks)]))
    needed_bytes = Numbers.needed_bytes(script)
    assert peak_bytes(script) <= needed_bytes + 100_000  # Python's own objects are little beside the arrays
    assert needed_bytes < 1.1 * peak_bytes(script)


def test_a_long_message_is_compared_as_a_whole(tmp_path: Path) -> None:
    trace = goal(
        tmp_path, "num_ranks 3", "rank 0 {", "send 3000000b to 1", "}", "rank 1 {", "recv 3000000b from 0", "}",
        "rank 2 {", "}",
    )  # fmt: skip
    script = script_of(trace)
    needed_bytes = Numbers.needed_bytes(script)
    assert needed_bytes == 3 * 3_000_000 + 2 * 3_000_000
    assert peak_bytes(script) <= needed_bytes + 100_000
