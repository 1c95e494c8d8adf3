"""A trace several times over."""

from pathlib import Path

import pytest

from tests.traffic.traces.kit import goal
from tests.traffic.traces.make_traces import CHAKRA, TRACES
from traffic.traces.limits import MAXIMUM_NODES
from traffic.traces.load import load_trace
from traffic.traces.matching import match
from traffic.traces.model import Marker
from traffic.traces.order import order
from traffic.traces.repeat import repeat


def test_once_is_the_trace(tmp_path: Path) -> None:
    trace = goal(tmp_path, "num_ranks 1", "rank 0 {", "calc 5", "}")
    assert repeat(trace, 1) is trace


def test_a_marker_is_between_all_of_one_and_all_of_the_next(tmp_path: Path) -> None:
    trace = goal(tmp_path, "num_ranks 1", "rank 0 {", "a: calc 5", "b: calc 6", "b requires a", "c: calc 7", "}")
    nodes = repeat(trace, 2).ranks[0].nodes
    assert [(node.identity, node.after) for node in nodes] == [
        ("a", ()), ("b", (0,)), ("c", ()), ("iteration 1", (1, 2)), ("a@1", (3,)), ("b@1", (4,)), ("c@1", (3,)),
    ]  # fmt: skip
    assert nodes[3].work == Marker("iteration")


@pytest.mark.parametrize("name", [*CHAKRA, "param", "halo.goal"])
def test_collectives_and_messages_are_as_many_times_as_many(name: str) -> None:
    trace = load_trace([TRACES / name])
    once, thrice = match(trace), match(repeat(trace, 3))
    assert len(thrice.collectives) == 3 * len(once.collectives)
    assert len(thrice.messages) == 3 * len(once.messages)
    assert order(repeat(trace, 3), thrice).critical_path_ps <= 3 * order(trace, once).critical_path_ps


def test_too_often(tmp_path: Path) -> None:
    trace = goal(tmp_path, "num_ranks 2", "rank 0 {", *["calc 1"] * 400, "}", "rank 1 {", "}")
    with pytest.raises(
        ValueError, match=f"expected at most {MAXIMUM_NODES // 400} iterations of 400 nodes, found 9000"
    ):
        repeat(trace, 9000)
