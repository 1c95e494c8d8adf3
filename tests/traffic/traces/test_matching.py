"""What does not fit together is found before anything runs, with rank and node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traffic.traces.kit import goal, without, write_chakra
from tests.traffic.traces.make_traces import ChakraRank
from traffic.traces.chakra.et_def_pb2 import CollectiveCommType as Kind
from traffic.traces.load import load_trace
from traffic.traces.matching import match
from traffic.traces.model import Collective, Node, RankTrace, Trace
from traffic.traces.order import order
from traffic.traces.places import TraceError


def mistakes(trace: Trace, directory: Path) -> list[str]:
    with pytest.raises(TraceError) as caught:
        order(trace, match(trace))
    return without(str(caught.value), [directory]).splitlines()


def ranks(directory: Path, *built: ChakraRank) -> Trace:
    return load_trace([write_chakra(directory, *built)])


def test_collectives_are_matched_by_order(tmp_path: Path) -> None:
    one, two = ChakraRank(), ChakraRank()
    one.collective("a", Kind.ALL_REDUCE, 64)
    one.collective("b", Kind.ALL_REDUCE, 128)
    two.compute("c", 5)
    two.collective("d", Kind.ALL_REDUCE, 64)
    two.collective("e", Kind.ALL_REDUCE, 128)
    found = match(ranks(tmp_path, one, two)).collectives
    assert [(each.number, each.work.size_bytes, each.positions) for each in found] == [
        (0, 64, (0, 1)),
        (1, 128, (1, 2)),
    ]


def test_a_collective_that_a_rank_lacks(tmp_path: Path) -> None:
    built = [ChakraRank() for _ in range(3)]
    for rank in built:
        rank.collective("a", Kind.ALL_REDUCE, 64)
    built[0].collective("b", Kind.ALL_GATHER, 64)
    assert mistakes(ranks(tmp_path, *built), tmp_path) == [
        "t.0.et: byte 60: rank 0, node 1 (b): all-gather number 2 of all ranks: expected every rank of the group to "
        "have it, found none at rank 1 and 1 more"
    ]


def test_a_collective_that_a_rank_has_otherwise(tmp_path: Path) -> None:
    one, two = ChakraRank(), ChakraRank()
    one.collective("a", Kind.ALL_REDUCE, 64)
    two.collective("x", Kind.BROADCAST, 64)
    assert mistakes(ranks(tmp_path, one, two), tmp_path) == [
        "t.1.et: byte 8: rank 1, node 0 (x): expected collective number 1 of all ranks to be all-reduce of 64 bytes as "
        "at rank 0 (node 0 (a)), found broadcast of 64 bytes"
    ]


def test_a_collective_of_a_group_that_the_rank_is_not_in(tmp_path: Path) -> None:
    built = [ChakraRank() for _ in range(3)]
    for rank in built:
        rank.collective("a", Kind.ALL_REDUCE, 64, group="5")
    (tmp_path / "g.json").write_text('{"5": [0, 1]}')
    assert mistakes(ranks(tmp_path, *built), tmp_path) == [
        "t.2.et: byte 8: rank 2, node 0 (a): expected a collective of a group that this rank is in, found group 5, "
        "ranks 0, 1"
    ]


def test_messages_are_matched_in_order_of_each_tag(tmp_path: Path) -> None:
    trace = goal(
        tmp_path, "num_ranks 2", "rank 0 {", "send 1b to 1 tag 1", "send 2b to 1", "send 3b to 1 tag 1", "}",
        "rank 1 {", "recv 2b from 0", "recv 1b from 0 tag 1", "recv 3b from 0 tag 1", "}",
    )  # fmt: skip
    assert [(each.send, each.receive) for each in match(trace).messages] == [
        ((0, 0), (1, 1)), ((0, 1), (1, 0)), ((0, 2), (1, 2)),
    ]  # fmt: skip


def test_a_receive_from_anyone_takes_what_no_other_takes(tmp_path: Path) -> None:
    trace = goal(
        tmp_path, "num_ranks 3", "rank 0 {", "recv 8b from -1 tag -1", "recv 8b from 1", "}",
        "rank 1 {", "send 8b to 0", "}", "rank 2 {", "send 8b to 0 tag 9", "}",
    )  # fmt: skip
    assert [(each.send, each.receive) for each in match(trace).messages] == [((1, 0), (0, 1)), ((2, 0), (0, 0))]


def test_open_receives_take_the_first_that_fits_by_source(tmp_path: Path) -> None:
    """The exact receive first, then those that leave source or tag open, then the one that leaves both open."""
    trace = goal(
        tmp_path, "num_ranks 3", "rank 0 {", "recv 8b from -1 tag -1", "recv 8b from -1 tag 5", "recv 8b from 2 tag -1",
        "recv 8b from 1 tag 5", "}",
        "rank 1 {", "send 8b to 0 tag 5", "send 8b to 0 tag 7", "}",
        "rank 2 {", "send 8b to 0 tag 5", "send 8b to 0 tag 6", "}",
    )  # fmt: skip
    assert [(each.send, each.receive) for each in match(trace).messages] == [
        ((1, 0), (0, 3)), ((1, 1), (0, 0)), ((2, 0), (0, 1)), ((2, 1), (0, 2)),
    ]  # fmt: skip


def all_to_all(sizes: list[int], splits: list[tuple[int, ...] | None]) -> Trace:
    works = [Collective("all-to-all", size, split_bytes=split) for size, split in zip(sizes, splits, strict=True)]
    nodes = [Node("1", "", f"{rank}:1", work) for rank, work in enumerate(works)]
    return Trace("-", ("t",), tuple(RankTrace(rank, "t", (node,)) for rank, node in enumerate(nodes)), {})


@pytest.mark.parametrize("splits", [[(1, 2, 3), None, None], [None, (1, 2, 3), None], [None, None, (1, 2, 3)]])
def test_whichever_rank_divides_unevenly_sizes_may_differ(splits: list[tuple[int, ...] | None]) -> None:
    (found,) = match(all_to_all([6, 9, 12], splits)).collectives
    assert found.members == (0, 1, 2)


def test_an_even_all_to_all_has_one_size(tmp_path: Path) -> None:
    assert mistakes(all_to_all([6, 6, 9], [None, None, None]), tmp_path) == [
        "t:2:1: rank 2, 1: expected collective number 1 of all ranks to be all-to-all of 6 bytes as at rank 0 (1), "
        "found all-to-all of 9 bytes"
    ]


def test_messages_without_another_end(tmp_path: Path) -> None:
    trace = goal(
        tmp_path, "num_ranks 2", "rank 0 {", "l1: send 8b to 1 tag 3", "send 8b to 0", "}",
        "rank 1 {", "l1: recv 8b from 0 tag 4", "}",
    )  # fmt: skip
    assert mistakes(trace, tmp_path) == [
        "t.goal:4:1: rank 0, line 4: expected another rank, 0 to 1, as the peer, found 0",
        "t.goal:7:1: rank 1, node l1 (recv): expected a send from rank 0 with tag 4, found none left",
        "t.goal:3:1: rank 0, node l1 (send): expected a receive at rank 1 from rank 0 with tag 3, found none left",
    ]


def test_a_message_of_another_size(tmp_path: Path) -> None:
    trace = goal(tmp_path, "num_ranks 2", "rank 0 {", "l1: send 8b to 1", "}", "rank 1 {", "l1: recv 9b from 0", "}")
    assert mistakes(trace, tmp_path) == [
        "t.goal:6:1: rank 1, node l1 (recv): expected the 9 bytes of this receive to be sent, found a send of 8 at "
        "rank 0 (node l1 (send))"
    ]


def test_ranks_that_wait_for_each_other(tmp_path: Path) -> None:
    lines = ["num_ranks 2"]
    for rank in range(2):
        lines += [f"rank {rank} {{", f"r: recv 8b from {1 - rank}", f"s: send 8b to {1 - rank}", "s requires r", "}"]
    assert mistakes(goal(tmp_path, *lines), tmp_path) == [
        "t.goal:3:1: rank 0, node r (recv): expected ranks that can all go on, found a circle of waiting with ranks 1: "
        "4 nodes can never end, this is the first of them"
    ]


def test_collectives_of_two_groups_in_opposite_orders_do_not_wait(tmp_path: Path) -> None:
    """Each group has a stream of its own."""
    one, two = ChakraRank(), ChakraRank()
    for rank, groups in ((one, "12"), (two, "21")):
        for group in groups:
            rank.collective(group, Kind.ALL_REDUCE, 64, group=group)
    trace = ranks(tmp_path, one, two)
    assert order(trace, match(trace)).critical_path_ps == 0


def test_the_critical_path_goes_over_ranks(tmp_path: Path) -> None:
    """10 ns at rank 0, then, by a message, 5 ns at rank 1; its own 12 ns beside that end earlier."""
    trace = goal(
        tmp_path, "num_ranks 2", "rank 0 {", "a: calc 10", "s: send 8b to 1", "s requires a", "}",
        "rank 1 {", "r: recv 8b from 0", "b: calc 5", "b requires r", "c: calc 12 cpu 1", "}",
    )  # fmt: skip
    found = order(trace, match(trace))
    assert (found.critical_path_ps, found.ends_at) == (15_000, (1, 1))


def test_only_the_first_mistakes_are_listed(tmp_path: Path) -> None:
    lines = ["num_ranks 2", "rank 0 {", *["send 8b to 1"] * 30, "}", "rank 1 {", "}"]
    found = mistakes(goal(tmp_path, *lines), tmp_path)
    assert len(found) == 21
    assert found[-1] == "t.goal: and 10 more such mistakes"
