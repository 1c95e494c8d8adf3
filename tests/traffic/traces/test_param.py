"""PyTorch execution traces as PARAM reads them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.traces.kit import refusal, write_param
from tests.traffic.traces.make_traces import param_rank
from traffic.traces.load import load_trace
from traffic.traces.model import Collective, Compute, Marker, Receive, Send, Unknown

GROUPS = json.dumps([{"pg_name": "0", "ranks": []}, {"pg_name": "4", "ranks": [2, 0, 1]}])


def node(number: int, values: list[Any], types: list[str] | None = None, **attributes: object) -> dict[str, Any]:
    """Return a ``record_param_comms`` node."""
    return {
        "id": number,
        "name": "record_param_comms",
        "ctrl_deps": 1,
        "inputs": {"values": values, "shapes": [], "types": types or ["Tensor(float)"]},
        "outputs": {"values": values[:1], "shapes": [], "types": types or ["Tensor(float)"]},
        "attrs": [{"name": name, "type": "", "value": value} for name, value in attributes.items()],
    }


def execution_trace(*nodes: dict[str, Any], schema: str = "1.0.3-chakra.0.0.4") -> dict[str, Any]:
    init = {"id": 1, "name": "## process_group:init ##", "inputs": {"values": [GROUPS]}, "outputs": {}, "attrs": []}
    return {"schema": schema, "pid": 1, "nodes": [init, *nodes]}


def tensor(elements: int) -> list[Any]:
    return [1, 2, 0, elements, 4, "cuda:0"]


def read(tmp_path: Path, *nodes: dict[str, Any]) -> list[Any]:
    """Return rank 0's work of `nodes`; three ranks have the same."""
    return [
        each.work for each in load_trace([write_param(tmp_path, *[execution_trace(*nodes)] * 3)]).ranks[0].nodes[1:]
    ]


def test_a_step_with_waits() -> None:
    trace = load_trace([Path("scenarios/traces/param")])
    nodes = trace.ranks[0].nodes
    assert [each.work for each in nodes] == [
        Marker("process_group:init"),
        Collective("all-reduce", 65536 * 4),
        Collective("all-reduce", 131072 * 4),
        Marker("wait"),
        Marker("wait"),
        Collective("barrier", 0),
    ]
    assert [(each.after, each.after_start) for each in nodes] == [
        ((), ()), ((), (0,)), ((), (1,)), ((1,), (2,)), ((3, 2), ()), ((4,), ()),
    ]  # fmt: skip
    assert trace.ranks[0].left_out == {"operators and labels without a duration": 3}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("allreduce", "all-reduce"),
        ("allreduce_coalesced", "all-reduce"),
        ("_allgather_base", "all-gather"),
        ("allgather_into_tensor_coalesced", "all-gather"),
        ("reduce_scatter_tensor_coalesced", "reduce-scatter"),
        ("all_to_allv", "all-to-all"),
    ],
)
def test_names_of_collectives(tmp_path: Path, name: str, kind: str) -> None:
    (work,) = read(tmp_path, node(2, [tensor(100), 0, ["4", ""], 0, name, [], []]))
    assert work == Collective(kind, 400, "4")


def test_a_list_of_tensors_is_summed_up(tmp_path: Path) -> None:
    values = [[tensor(100), tensor(28)], 0, ["0", ""], 0, "allreduce", [], []]
    (work,) = read(tmp_path, node(2, values, ["GenericList[Tensor(c10::BFloat16),Tensor(c10::BFloat16)]"]))
    assert work == Collective("all-reduce", 256)


def test_attributes_go_before_positions(tmp_path: Path) -> None:
    values = [tensor(1), 0, ["0", ""], 0, "allgather", [], []]
    attributes = {"collective_name": "_allgather_base", "dtype": "BFloat16", "in_msg_nelems": 10, "out_msg_nelems": 30}
    (work,) = read(tmp_path, node(2, values, **attributes))
    assert work == Collective("all-gather", 60)


def test_peers_and_roots_are_ranks_of_the_group(tmp_path: Path) -> None:
    works = read(
        tmp_path,
        node(2, [tensor(4), 0, ["4", ""], 0, "send", [], []]),
        node(3, [tensor(4), 1, ["4", ""], 2, "recv", [], []]),
        node(4, [tensor(4), 2, ["4", ""], 1, "broadcast", [], []]),
    )
    assert works == [Send(2, 16), Receive(1, 16), Collective("broadcast", 16, "4", 0)]


def test_uneven_splits(tmp_path: Path) -> None:
    (work,) = read(tmp_path, node(2, [tensor(60), 0, ["0", ""], 0, "all_to_allv", [1, 2, 3], [2, 2, 2]]))
    assert work == Collective("all-to-all", 240, split_bytes=(40, 80, 120))


def test_what_is_not_understood_is_named(tmp_path: Path) -> None:
    works = read(
        tmp_path,
        node(2, [tensor(4), 0, ["0", ""], 0, "allgossip", [], []]),
        node(3, [9, ["0", ""], 0, "wait", [], []]),
    )
    assert works == [
        Unknown("record_param_comms allgossip"),
        Unknown("wait for a request that the trace does not have"),
    ]


def test_durations_that_a_linker_adds(tmp_path: Path) -> None:
    operator = {"id": 2, "name": "aten::mm", "inputs": {"values": []}, "outputs": {}, "exclusive_dur": 2.5}
    assert read(tmp_path, operator) == [Compute(2_500_000, "cpu")]


def test_packed(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"rank-{number}.json.gz").write_bytes(gzip.compress(json.dumps(param_rank(number)).encode()))
    assert len(load_trace([tmp_path]).ranks) == 4


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            execution_trace(schema="1.0.2"),
            "et_0.json: schema: expected 1.0.3 or later, such as 1.1.0-chakra.0.0.4, found '1.0.2'",
        ),
        (
            execution_trace(schema=f"1.1.{'9' * 5000}"),
            f"et_0.json: schema: expected 1.0.3 or later, such as 1.1.0-chakra.0.0.4, found '1.1.{'9' * 56}...'",
        ),
        ('{"schema": "1.1.0", "nodes": [,]}', "et_0.json:1:31: expected JSON, found expecting value"),
        ('{"schema": "1.1.0", "nodes": 3}', "et_0.json: nodes: expected a list, found '3'"),
        (
            '{"schema": "1.1.0", "nodes": [7]}',
            "et_0.json: nodes[0]: expected a node of an execution trace, found '7': "
            "TypeError: 'int' object is not subscriptable",
        ),
        (
            '{"schema": 1, "nodes": ' + "[" * 100_000,
            "et_0.json: expected JSON, found lists or mappings in each other without end",
        ),
    ],
)
def test_broken_files(tmp_path: Path, content: object, expected: str) -> None:
    assert refusal(write_param(tmp_path, content)) == expected


def test_a_wrong_number_names_its_node(tmp_path: Path) -> None:
    text = refusal(write_param(tmp_path, execution_trace(node(2, [tensor(-5), 0, ["0", ""], 0, "allreduce", [], []]))))
    assert text.startswith("et_0.json: nodes[1]: expected a node of an execution trace, found ")
    assert text.endswith("expected how many elements there are, found '-5'")
