"""Who waits for whom: what the critical path takes from a collective, and what only a circle of waiting is made of."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tests.traffic.traces.kit import goal, write_chakra, write_param
from tests.traffic.traces.make_traces import ChakraRank
from tests.traffic.traces.test_param import execution_trace, node, tensor
from traffic.traces.chakra.et_def_pb2 import CollectiveCommType as Kind
from traffic.traces.chakra.et_def_pb2 import NodeType
from traffic.traces.load import load_trace
from traffic.traces.matching import match
from traffic.traces.model import Trace
from traffic.traces.order import order
from traffic.traces.places import TraceError
from traffic.traces.waiting import waits

N = 3
ROOT = 1
EVERYONE = range(N)
ALL = {(source, destination) for source in EVERYONE for destination in EVERYONE}
FROM_ROOT = {(ROOT, destination) for destination in EVERYONE}
TO_ROOT = {(source, ROOT) for source in EVERYONE}
OWN = {(rank, rank) for rank in EVERYONE}


def trace_of(directory: Path, kind: Kind, size: int) -> Trace:
    """Each rank computes, comes to the collective, and computes again."""
    ranks = [ChakraRank() for _ in EVERYONE]
    for rank in ranks:
        before = rank.compute("before", 1)
        attributes = {"comm_type": int(kind), "comm_size": size, "root": ROOT}
        rank.compute("behind", 1, rank.node("c", NodeType.COMM_COLL_NODE, [before], **attributes))
    return load_trace([write_chakra(directory, *ranks)])


def waiting(trace: Trace, bytes_factor: Fraction = Fraction(1)) -> set[tuple[int, int]]:
    """Return the pairs of which the second waits for the first: 5 ps before the collective and 1 behind it are 6."""
    matching, found = match(trace), set()
    for source, destination in ALL:
        durations = [[0] * len(rank.nodes) for rank in trace.ranks]
        durations[source][0], durations[destination][-1] = 5, 1
        length = order(trace, matching, durations, bytes_factor).critical_path_ps
        assert length in (5, 6)
        if length == 6:
            found.add((source, destination))
    return found


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        (Kind.ALL_REDUCE, 4000, ALL),
        (Kind.ALL_REDUCE, 4, ALL),
        (Kind.ALL_REDUCE, 0, OWN),
        (Kind.REDUCE_SCATTER, 4000, ALL),
        (Kind.REDUCE_SCATTER, 4, OWN | {(source, 0) for source in EVERYONE}),
        (Kind.ALL_GATHER, 4000, ALL),
        (Kind.ALL_TO_ALL, 4000, ALL),
        (Kind.ALL_TO_ALL, 8, OWN | {(source, destination) for source in EVERYONE for destination in (0, 1)}),
        (Kind.BROADCAST, 4000, OWN | FROM_ROOT),
        (Kind.BROADCAST, 0, OWN),
        (Kind.SCATTER, 4000, OWN | FROM_ROOT),
        (Kind.SCATTER, 4, OWN | {(ROOT, 0)}),
        (Kind.REDUCE, 4000, OWN | TO_ROOT),
        (Kind.REDUCE, 4, OWN | TO_ROOT),
        (Kind.GATHER, 4000, OWN | TO_ROOT),
        (Kind.GATHER, 0, OWN),
        (Kind.BARRIER, 0, ALL),
    ],
)
def test_ranks_wait_for_those_whose_data_they_need(
    tmp_path: Path, kind: Kind, size: int, expected: set[tuple[int, int]]
) -> None:
    assert waiting(trace_of(tmp_path, kind, size)) == expected


@pytest.mark.parametrize(
    ("kind", "size", "full", "expected"),
    [
        (Kind.SCATTER, 12, FROM_ROOT, {(ROOT, 0)}),
        (Kind.GATHER, 4, TO_ROOT, {(0, ROOT)}),
        (Kind.ALL_GATHER, 4, ALL, {(0, destination) for destination in EVERYONE}),
    ],
)
def test_sizes_are_scaled(
    tmp_path: Path, kind: Kind, size: int, full: set[tuple[int, int]], expected: set[tuple[int, int]]
) -> None:
    """Twelve bytes in all are an element for each of three; a third of them is one for the first alone."""
    trace = trace_of(tmp_path, kind, size)
    assert waiting(trace) == OWN | full
    assert waiting(trace, Fraction(1, 3)) == OWN | expected


def test_an_uneven_split_says_who_gets_something(tmp_path: Path) -> None:
    """Rank 1 has nothing for itself and for rank 2, rank 2 nothing for rank 0."""
    traces = []
    for split in ([1, 2, 3], [4, 0, 0], [0, 2, 2]):
        values = [tensor(4 * sum(split)), 0, ["0", ""], 0, "all_to_allv", split, []]
        traces.append(execution_trace(node(2, values)))
    trace = load_trace([write_param(tmp_path, *traces)])
    (together,) = match(trace).collectives
    found = {(s, d) for sources, destinations in waits(trace, together) for s in sources for d in destinations}
    assert found == {(0, 0), (0, 1), (0, 2), (1, 0), (2, 1), (2, 2)}


def test_whether_ranks_can_go_on_does_not_depend_on_who_waits(tmp_path: Path) -> None:
    """Rank 0, a broadcast's root, sends behind it what rank 1 receives before it: a root that waits would never."""
    ranks = [ChakraRank() for _ in range(2)]
    attributes = {"comm_type": int(Kind.BROADCAST), "comm_size": 8, "root": 0}
    ranks[0].send("s", 1, 8, 0, ranks[0].node("c", NodeType.COMM_COLL_NODE, [], **attributes))
    ranks[1].node("c", NodeType.COMM_COLL_NODE, [ranks[1].receive("r", 0, 8, 0)], **attributes)
    trace = load_trace([write_chakra(tmp_path, *ranks)])
    with pytest.raises(TraceError, match=r"circle of waiting with ranks 1: 4 nodes can never end"):
        order(trace, match(trace))


def test_what_comes_after_the_start_of_a_receive_does_not_wait_for_the_message(tmp_path: Path) -> None:
    """Both receive first and send as soon as they do: no circle. Each computes for 7 ns from then on."""
    lines = ["num_ranks 2"]
    for rank in range(2):
        lines += [
            f"rank {rank} {{", "w: calc 5", f"r: recv 8b from {1 - rank}", f"s: send 8b to {1 - rank}",
            "c: calc 7 cpu 1", "s requires w", "s irequires r", "c irequires r", "}",
        ]  # fmt: skip
    trace = goal(tmp_path, *lines)
    assert order(trace, match(trace)).critical_path_ps == 7_000
