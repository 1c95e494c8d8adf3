"""GOAL: the grammar, and line and column of every mistake."""

from pathlib import Path

import pytest

from tests.traffic.traces.kit import goal, refusal, write_goal
from traffic.traces import draft
from traffic.traces.limits import MAXIMUM_LINE
from traffic.traces.model import Compute, Receive, Send


def test_every_operation(tmp_path: Path) -> None:
    trace = goal(
        tmp_path,
        "/* two",
        "ranks */ num_ranks 2 // here",
        "rank 0 {",
        "l1: calc 5000 cpu 2",
        "l2: send 1024b to 1 tag 5 cpu 0 nic 0",
        "send 8b to 1",
        "l2 requires l1",
        "l4 irequires l1",
        "l4: calc 1",
        "}",
        "rank 1 {",
        "l1: recv 1024b from 0 tag 5",
        "recv 8b from -1 tag -1 cpu 1",
        "}",
    )
    first, second = (rank.nodes for rank in trace.ranks)
    assert [node.work for node in first] == [
        Compute(5_000_000, "cpu 2"), Send(1, 1024, 5), Send(1, 8, 0), Compute(1000, "cpu 0"),
    ]  # fmt: skip
    assert [(node.identity, node.after, node.after_start) for node in first] == [
        ("l1", (), ()), ("l2", (0,), ()), ("line 6", (), ()), ("l4", (), (0,)),
    ]  # fmt: skip
    assert [node.work for node in second] == [Receive(0, 1024, 5), Receive(None, 8, None)]
    assert [node.place for node in second] == ["12:1", "13:1"]


def test_ranks_in_any_order(tmp_path: Path) -> None:
    trace = goal(tmp_path, "num_ranks 2", "rank 1 {", "calc 2", "}", "rank 0 {", "}")
    assert [(rank.rank, len(rank.nodes)) for rank in trace.ranks] == [(0, 0), (1, 1)]


TWO = ("num_ranks 2", "rank 0 {")
TIME = "a time in ns, a number from 0 to 10000000000000"
MISTAKES: list[tuple[tuple[str, ...], str]] = [
    ((*TWO, "calc many", "}"), f"3:6: expected {TIME}, found 'many'"),
    ((*TWO, "calc 9999999999999999999"), f"3:6: expected {TIME}, found '9999999999999999999'"),
    ((*TWO, "l1: send 8b"), "3:12: expected 'to', found the end of the line"),
    ((*TWO, "send 8 to 1"), "3:8: expected 'b', found 'to'"),
    ((*TWO, "send 8b from 1"), "3:9: expected 'to', found 'from'"),
    ((*TWO, "send 8b to 2"), "3:12: expected a rank, a number from 0 to 1, found '2'"),
    ((*TWO, "calc 8 size 3"), "3:8: expected 'cpu' or 'nic' or the end of the line, found 'size'"),
    ((*TWO, "l1: put 8b"), "3:5: expected an operation ('calc', 'send', 'recv'), a label or '}', found 'put'"),
    ((*TWO, "l1: calc 1", "l1 requires l9", "}"), "4:1: expected a label of rank 0, found 'l9'"),
    ((*TWO, "l1: calc 1", "l1: calc 1", "}"), "4:1: expected one node l1, found a second one"),
    (
        (*TWO, "a: calc 1", "b: calc 1", "a requires b", "b irequires a", "}"),
        "3:1: expected dependencies without a circle, found a after b after a",
    ),
    ((*TWO, "calc 1"), "3:1: expected a '}' that ends rank 0, found the end of the file"),
    ((*TWO, "}"), "3:1: expected 2 ranks, found none with number 1"),
    ((*TWO, "}", "rank 0 {", "}"), "4:1: expected rank 0 once, found it again"),
    (("num_ranks 0",), "1:11: expected how many ranks there are, a number from 1 to 4096, found '0'"),
    ((*TWO, "calc 5 ;"), "3:8: expected a word, a number, '{', '}' or ':', found ';'"),
    ((*TWO, "x" * (MAXIMUM_LINE + 5)), f"3:1: expected a line of at most {MAXIMUM_LINE} characters, found more"),
]


@pytest.mark.parametrize(("lines", "expected"), MISTAKES, ids=[lines[-1][:20] for lines, _ in MISTAKES])
def test_a_mistake_has_line_and_column(tmp_path: Path, lines: tuple[str, ...], expected: str) -> None:
    assert refusal(write_goal(tmp_path, *lines)) == f"t.goal:{expected}"


@pytest.mark.parametrize("verb", ["requires", "irequires"])
def test_dependencies_of_one_node_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    monkeypatch.setattr(draft, "MAXIMUM_DEPENDENCIES", 3)
    lines = [*TWO, "a: calc 1", "b: calc 1", *["b requires a"] * 3]
    assert refusal(write_goal(tmp_path, *lines, f"b {verb} a", "}")) == (
        "t.goal:8:1: expected at most 3 dependencies of a node, found more"
    )
    assert len(goal(tmp_path, *lines, "}", "rank 1 {", "}").ranks[0].nodes) == 2
