"""Makes the traces of scenarios/traces: small ones of a training step each, true to their formats.

python -m tests.traffic.traces.make_traces
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from traffic.traces.chakra.et_def_pb2 import AttributeProto, CollectiveCommType, GlobalMetadata, Node, NodeType

TRACES = Path(__file__).parents[3] / "scenarios/traces"


def frame(message: GlobalMetadata | Node) -> bytes:
    """Return a message behind its length as a varint."""
    data = message.SerializeToString(deterministic=True)
    length, varint = len(data), bytearray()
    while length > 0x7F:
        varint.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*varint, length]) + data


class ChakraRank:
    """One rank's file under way. Each method adds a node behind `after` and returns its number."""

    def __init__(self) -> None:
        self.data = frame(GlobalMetadata(version="0.0.4"))
        self._nodes = 0

    def node(self, name: str, kind: NodeType, after: Sequence[int], duration_us: int = 0, **attributes: object) -> int:
        node = Node(id=self._nodes, name=name, type=kind, data_deps=after, duration_micros=duration_us)
        for key, value in attributes.items():
            node.attr.append(_attribute(key, value))
        self.data += frame(node)
        self._nodes += 1
        return self._nodes - 1

    def compute(self, name: str, duration_us: int, *after: int) -> int:
        return self.node(name, NodeType.COMP_NODE, after, duration_us, is_cpu_op=False)

    def collective(self, name: str, kind: int, size: int, *after: int, group: str = "") -> int:
        named = {"pg_name": group} if group else {}
        return self.node(name, NodeType.COMM_COLL_NODE, after, is_cpu_op=False, comm_type=kind, comm_size=size, **named)

    def send(self, name: str, peer: int, size: int, tag: int, *after: int) -> int:
        return self.node(
            name, NodeType.COMM_SEND_NODE, after, is_cpu_op=False, comm_dst=peer, comm_size=size, comm_tag=tag
        )

    def receive(self, name: str, peer: int, size: int, tag: int, *after: int) -> int:
        return self.node(
            name, NodeType.COMM_RECV_NODE, after, is_cpu_op=False, comm_src=peer, comm_size=size, comm_tag=tag
        )


def _attribute(name: str, value: object) -> AttributeProto:
    if isinstance(value, bool):
        return AttributeProto(name=name, bool_val=value)
    if isinstance(value, int):
        return AttributeProto(name=name, int64_val=value)
    return AttributeProto(name=name, string_val=str(value))


def data_parallel(rank: ChakraRank, _number: int) -> None:
    """Four layers forward, backward in the reverse order; each layer's gradient is all-reduced while the next one is
    computed, and the optimizer waits for all of them."""
    last = rank.compute("load batch", 20)
    for layer in range(4):
        last = rank.compute(f"forward {layer}", 40, last)
    gradients = []
    for layer in reversed(range(4)):
        last = rank.compute(f"backward {layer}", 80, last)
        gradients.append(rank.collective(f"all-reduce {layer}", CollectiveCommType.ALL_REDUCE, 1 << 20, last))
    rank.compute("optimizer", 30, last, *gradients)


def fsdp(rank: ChakraRank, _number: int) -> None:
    """Each layer's parameters are gathered before it is computed, one layer ahead; its gradient is reduce-scattered."""
    shard, layers = 128 << 10, 3
    kinds = CollectiveCommType
    gathered = [rank.collective("gather 0", kinds.ALL_GATHER, shard)]
    last: tuple[int, ...] = ()
    for layer in range(layers):
        if layer + 1 < layers:
            gathered.append(rank.collective(f"gather {layer + 1}", kinds.ALL_GATHER, shard, gathered[-1]))
        last = (rank.compute(f"forward {layer}", 50, gathered[layer], *last),)
    scattered = []
    for layer in reversed(range(layers)):
        again = rank.collective(f"gather {layer} again", kinds.ALL_GATHER, shard, *last)
        last = (rank.compute(f"backward {layer}", 100, again, *last),)
        scattered.append(rank.collective(f"reduce-scatter {layer}", kinds.REDUCE_SCATTER, shard * 4, *last))
    rank.compute("optimizer", 20, *scattered)


def moe(rank: ChakraRank, number: int) -> None:
    """Two expert layers in groups of four ranks: tokens go to their experts (dispatch) and come back (combine).
    Then the gradient of what all share is all-reduced over everyone."""
    group = "1" if number < 4 else "2"
    last = rank.compute("attention 0", 60)
    for layer in range(2):
        kinds = CollectiveCommType
        dispatch = rank.collective(f"dispatch {layer}", kinds.ALL_TO_ALL, 512 << 10, last, group=group)
        experts = rank.compute(f"experts {layer}", 90 + 10 * (number % 4), dispatch)
        combine = rank.collective(f"combine {layer}", kinds.ALL_TO_ALL, 512 << 10, experts, group=group)
        last = rank.compute(f"attention {layer + 1}", 60, combine)
    rank.node("load next batch", NodeType.STORAGE_NODE, [last])
    rank.collective("all-reduce shared", CollectiveCommType.ALL_REDUCE, 1 << 20, last)


def pipeline(rank: ChakraRank, number: int) -> None:
    """Four stages, three microbatches: activations go to the next stage, gradients come back."""
    stages, microbatches, size = 4, 3, 256 << 10
    last: tuple[int, ...] = ()
    for batch in range(microbatches):
        got = (rank.receive(f"activation {batch}", number - 1, size, batch),) if number else ()
        last = (rank.compute(f"forward {batch}", 50, *last, *got),)
        if number + 1 < stages:
            rank.send(f"activation {batch}", number + 1, size, batch, *last)
    for batch in range(microbatches):
        tag = 100 + batch
        got = (rank.receive(f"gradient {batch}", number + 1, size, tag),) if number + 1 < stages else ()
        last = (rank.compute(f"backward {batch}", 100, *last, *got),)
        if number:
            rank.send(f"gradient {batch}", number - 1, size, tag, *last)


CHAKRA: dict[str, tuple[int, Callable[[ChakraRank, int], None]]] = {
    "data-parallel": (4, data_parallel),
    "fsdp": (4, fsdp),
    "moe": (8, moe),
    "pipeline": (4, pipeline),
}
MOE_GROUPS = {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}


def param_rank(number: int, ranks: int = 4) -> dict[str, Any]:
    """Return a PyTorch execution trace of a data-parallel step: two all-reduces that are waited for, and a barrier."""
    groups = json.dumps([{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [],
                          "group_size": ranks, "group_count": 1}])  # fmt: skip
    nodes = [
        _param_node(1, "[pytorch|profiler|execution_trace|process]", []),
        _param_node(2, "[pytorch|profiler|execution_trace|thread]", []),
        _param_node(3, "## process_group:init ##", [groups], ["String"]),
        _param_node(4, "aten::addmm", [[10, 11, 0, 4096, 4, f"cuda:{number}"]], ["Tensor(float)"]),
    ]
    for index, elements in enumerate((65536, 131072)):
        tensor = [20 + index, 30 + index, 0, elements, 4, f"cuda:{number}"]
        values = [tensor, [index, False], ["0", "default_pg"], number, "allreduce", [], [], 0, 1, ranks]
        types = ["Tensor(float)", "Tuple[Int,Bool]", "Tuple[String,String]", "Int", "String", "GenericList[]",
                 "GenericList[]", "Int", "Int", "Int"]  # fmt: skip
        node = _param_node(5 + index, "record_param_comms", values, types, outputs=[tensor])
        node["attrs"] += [
            {"name": "collective_name", "type": "string", "value": "allreduce"},
            {"name": "dtype", "type": "string", "value": "Float"},
            {"name": "in_msg_nelems", "type": "uint64", "value": elements},
            {"name": "out_msg_nelems", "type": "uint64", "value": elements},
            {"name": "in_split_size", "type": "string", "value": "[]"},
            {"name": "pg_name", "type": "string", "value": "0"},
            {"name": "pg_size", "type": "uint64", "value": ranks},
        ]
        nodes.append(node)
    for index in range(2):
        values = [[index, False], ["0", "default_pg"], number, "wait", [], [], 0, 1, ranks]
        nodes.append(_param_node(7 + index, "record_param_comms", values, ["Tuple[Int,Bool]"]))
    values = [[2, False], ["0", "default_pg"], number, "barrier", [], [], 0, 1, ranks]
    nodes.append(_param_node(9, "record_param_comms", values, ["Tuple[Int,Bool]"]))
    return {"schema": "1.1.0-chakra.0.0.4", "pid": 1000 + number, "time": "2025-01-01 00:00:00", "start_ts": 0,
            "nodes": nodes, "finish_ts": 1}  # fmt: skip


def _param_node(
    number: int, name: str, values: list[Any], types: Sequence[str] = (), outputs: Sequence[Any] = ()
) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "ctrl_deps": max(1, number - 1),
        "inputs": {"values": values, "shapes": [], "types": list(types)},
        "outputs": {"values": list(outputs), "shapes": [], "types": ["Tensor(float)"] * len(outputs)},
        "attrs": [{"name": "rf_id", "type": "uint64", "value": number}],
    }


def goal_schedule() -> Iterator[str]:
    """Yield the lines of a GOAL schedule: two rounds of a halo exchange around a ring of four ranks."""
    ranks, size = 4, 200_000
    yield "// a halo exchange around a ring: compute, exchange with both neighbours, compute again"
    yield f"num_ranks {ranks}"
    for rank in range(ranks):
        left, right = (rank - 1) % ranks, (rank + 1) % ranks
        yield f"\nrank {rank} {{"
        for turn in range(2):
            yield f"c{turn}: calc {20_000 + 5_000 * rank}"
            if turn:
                yield from (f"c{turn} requires r{turn - 1}{side}" for side in "lr")
            yield f"s{turn}l: send {size}b to {left} tag {turn}"
            yield f"s{turn}r: send {size}b to {right} tag {turn}"
            yield from (f"s{turn}{side} requires c{turn}" for side in "lr")
            yield f"r{turn}l: recv {size}b from {left} tag {turn}"
            yield f"r{turn}r: recv {size}b from {right} tag {turn}"
            yield from (f"r{turn}{side} irequires c{turn}" for side in "lr")
        yield "}"


def make(directory: Path) -> None:
    """Write all traces below `directory`."""
    for name, (ranks, build) in CHAKRA.items():
        (directory / name).mkdir(parents=True, exist_ok=True)
        for number in range(ranks):
            rank = ChakraRank()
            build(rank, number)
            (directory / name / f"{name}.{number}.et").write_bytes(rank.data)
    (directory / "moe/groups.json").write_text(json.dumps(MOE_GROUPS) + "\n")
    (directory / "param").mkdir(exist_ok=True)
    for number in range(4):
        (directory / f"param/et_{number}.json").write_text(json.dumps(param_rank(number), indent=1) + "\n")
    (directory / "halo.goal").write_text("\n".join(goal_schedule()) + "\n")


if __name__ == "__main__":
    make(TRACES)
