"""Chakra traces: the real wire format, read back, and every way in which a file can be broken."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traffic.traces.generate import PROTO, generate
from tests.traffic.traces.kit import refusal, write_chakra
from tests.traffic.traces.make_traces import ChakraRank, frame
from traffic.traces.chakra.et_def_pb2 import (
    AttributeProto,
    CollectiveCommType,
    GlobalMetadata,
    Int32List,
    IOInfo,
    Node,
    NodeType,
)
from traffic.traces.limits import MAXIMUM_MESSAGE_BYTES
from traffic.traces.load import load_trace
from traffic.traces.model import Collective, Compute, Marker, Receive, Send, Unknown


def test_the_module_is_that_of_the_definition(tmp_path: Path) -> None:
    generate(tmp_path)
    for name in ("et_def_pb2.py", "et_def_pb2.pyi"):
        assert (tmp_path / name).read_text() == (PROTO.parent / name).read_text(), f"{name} is stale: run generate.py"


# --- the wire format, by another decoder ------------------------------------------------------------------------------


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Yield (number, wire type, value) of a message's fields: protobuf's encoding guide, and nothing else."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire_type = key >> 3, key & 7
        value: int | bytes
        if wire_type == 0:
            value, at = varint(data, at)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            assert wire_type == 2
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        yield number, wire_type, value


def test_a_file_is_what_the_format_says_byte_by_byte() -> None:
    rank = ChakraRank()
    first = rank.compute("a", 7)
    rank.collective("b", CollectiveCommType.ALL_TO_ALL, 4096, first, group="5")
    messages, at = [], 0
    while at < len(rank.data):
        length, at = varint(rank.data, at)
        messages.append(rank.data[at : at + length])
        at += length
    metadata, compute, collective = messages
    assert list(fields(metadata)) == [(1, 2, b"0.0.4")]
    assert [(number, value) for number, _, value in fields(compute) if number != 10] == [(2, b"a"), (3, 4), (7, 7)]
    plain = {number: value for number, _, value in fields(collective) if number != 10}
    assert plain == {1: 1, 2: b"b", 3: 7, 5: b"\0"}  # id, name, type COMM_COLL, data_deps [0] packed
    attributes = [{n: v for n, _, v in fields(value)} for number, _, value in fields(collective) if number == 10]
    assert attributes == [
        {1: b"is_cpu_op", 27: 0},
        {1: b"comm_type", 9: 6},
        {1: b"comm_size", 9: 4096},
        {1: b"pg_name", 29: b"5"},
    ]


def test_bytes_by_hand_are_read(tmp_path: Path) -> None:
    node = b"\x08\x2a\x12\x03mul\x18\x04\x38\x03\x52\x0e\x0a\x09is_cpu_op\xd8\x01\x01"
    (tmp_path / "hand.0.et").write_bytes(bytes([7]) + b"\x0a\x050.0.4" + bytes([len(node)]) + node)
    (read,) = load_trace([tmp_path]).ranks[0].nodes
    assert (read.identity, read.name, read.work, read.place) == ("42", "mul", Compute(3_000_000, "cpu"), "byte 8")


# --- round trip -------------------------------------------------------------------------------------------------------

works = st.one_of(
    st.builds(Compute, st.integers(1, 10**6).map(lambda us: us * 10**6), st.sampled_from(["gpu", "cpu"])),
    st.builds(Send, st.integers(0, 4000), st.integers(0, 2**40), st.integers(0, 2**62)),
    st.builds(Receive, st.integers(0, 4000), st.integers(0, 2**40), st.integers(0, 2**62)),
)


@given(st.lists(st.tuples(works, st.text(max_size=20)), max_size=30), st.data())
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, str]], data: st.DataObject
) -> None:
    rank, expected = ChakraRank(), []
    for number, (work, name) in enumerate(steps):
        after = sorted(data.draw(st.sets(st.integers(0, number - 1), max_size=3))) if number else []
        if isinstance(work, Compute):
            rank.node(name, NodeType.COMP_NODE, after, work.duration_ps // 10**6, is_cpu_op=work.stream == "cpu")
        elif isinstance(work, Send):
            rank.send(name, work.peer, work.size_bytes, work.tag, *after)
        elif isinstance(work, Receive):
            assert work.peer is not None
            assert work.tag is not None
            rank.receive(name, work.peer, work.size_bytes, work.tag, *after)
        expected.append((str(number), work, tuple(after)))
    trace = load_trace([write_chakra(tmp_path_factory.mktemp("round"), rank)])
    assert [(node.identity, node.work, node.after) for node in trace.ranks[0].nodes] == expected


@pytest.mark.parametrize("field", ["int32_val", "int64_val", "uint32_val", "uint64_val", "sint32_val", "fixed64_val",
                                   "sfixed32_val", "double_val"])  # fmt: skip
def test_any_type_of_number_will_do(tmp_path: Path, field: str) -> None:
    rank = ChakraRank()
    node = Node(id=1, type=NodeType.COMM_SEND_NODE)
    for name, value in (("comm_dst", 1), ("comm_size", 4096), ("comm_tag", 3)):
        node.attr.append(AttributeProto(name=name, **{field: value}))  # type: ignore[arg-type]
    rank.data += frame(node)
    (read,) = load_trace([write_chakra(tmp_path, rank)]).ranks[0].nodes
    assert read.work == Send(1, 4096, 3)


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    rank = ChakraRank()
    rank.compute("a", 1)
    (tmp_path / "t.0.et.gz").write_bytes(gzip.compress(rank.data))
    assert load_trace([tmp_path]).ranks[0].nodes[0].work == Compute(10**6)


def test_gathers_count_the_whole_buffer(tmp_path: Path) -> None:
    ranks = [ChakraRank() for _ in range(4)]
    for rank in ranks:
        rank.collective("g", CollectiveCommType.ALL_GATHER, 1000)
        rank.collective("s", CollectiveCommType.REDUCE_SCATTER, 4000)
    read = load_trace([write_chakra(tmp_path, *ranks)]).ranks[0].nodes
    assert [node.work for node in read] == [Collective("all-gather", 4000), Collective("reduce-scatter", 4000)]


# --- what is not understood -------------------------------------------------------------------------------------------


def test_unknown_nodes_keep_their_name_and_their_dependencies(tmp_path: Path) -> None:
    rank = ChakraRank()
    first = rank.compute("a", 1)
    rank.data += frame(Node(id=50, type=NodeType.STORAGE_NODE, data_deps=[first]))
    rank.data += frame(Node(id=51, type=99, data_deps=[50]))  # type: ignore[arg-type]
    rank.data += frame(Node(id=52, type=NodeType.COMM_SEND_NODE, data_deps=[51]))
    rank.data += frame(Node(id=53, type=NodeType.METADATA_NODE, name="x"))
    nodes = load_trace([write_chakra(tmp_path, rank)]).ranks[0].nodes
    assert [node.work for node in nodes[1:]] == [
        Unknown("STORAGE_NODE"), Unknown("node type 99"), Unknown("COMM_SEND_NODE without comm_dst"),
        Marker("METADATA_NODE"),
    ]  # fmt: skip
    assert [node.after for node in nodes] == [(), (0,), (1,), (2,), ()]


def test_operations_without_a_duration_are_unknown(tmp_path: Path) -> None:
    rank = ChakraRank()
    rank.node("roofline", NodeType.COMP_NODE, [], num_ops=1000, tensor_size=10)
    (node,) = load_trace([write_chakra(tmp_path, rank)]).ranks[0].nodes
    assert node.work == Unknown("COMP_NODE with num_ops and no duration")


def test_a_control_dependency_on_a_call_that_is_left_out_is_counted(tmp_path: Path) -> None:
    rank = ChakraRank()
    rank.data += frame(Node(id=1, type=NodeType.COMP_NODE, duration_micros=1, ctrl_deps=[7]))
    rank.data += frame(Node(id=2, type=NodeType.COMP_NODE, duration_micros=1, ctrl_deps=[1]))
    trace = load_trace([write_chakra(tmp_path, rank)]).ranks[0]
    assert [node.after for node in trace.nodes] == [(), (0,)]
    assert trace.left_out == {"dependencies on calls that the file does not have": 1}


# --- groups -----------------------------------------------------------------------------------------------------------


def _with_collective(group: str, *, metadata: str | None = None) -> ChakraRank:
    rank = ChakraRank()
    if metadata is not None:
        node = Node(id=90, name="## process_group:init ##", type=NodeType.METADATA_NODE, inputs=IOInfo(values=metadata))
        rank.data += frame(node)
    rank.collective("c", CollectiveCommType.ALL_REDUCE, 64, group=group)
    return rank


def test_groups_of_a_file(tmp_path: Path) -> None:
    write_chakra(tmp_path, *[_with_collective("7") for _ in range(3)])
    (tmp_path / "groups.json").write_text('{"7": [2, 0, 1]}')
    trace = load_trace([tmp_path])
    assert (trace.groups, trace.inferred) == ({"7": (2, 0, 1)}, ())


def test_groups_of_metadata_as_converters_write_it(tmp_path: Path) -> None:
    values = str(
        ['[{"pg_name": "0", "ranks": [], "group_size": 3}, {"pg_name": "3", "ranks": [0, 2], "group_size": 2}]']
    )
    ranks = [_with_collective("3", metadata=values), ChakraRank(), _with_collective("3", metadata=values)]
    trace = load_trace([write_chakra(tmp_path, *ranks)])
    assert (trace.groups, trace.inferred) == ({"3": (0, 2)}, ())


def test_a_group_that_nothing_defines_is_who_uses_it(tmp_path: Path) -> None:
    ranks = [_with_collective("9"), ChakraRank(), _with_collective("9")]
    trace = load_trace([write_chakra(tmp_path, *ranks)])
    assert (trace.groups, trace.inferred) == ({"9": (0, 2)}, ("9",))


def test_files_must_agree_on_a_group(tmp_path: Path) -> None:
    one, other = (str([f'[{{"pg_name": "3", "ranks": {ranks}}}]']) for ranks in ([0, 1], [1, 0]))
    ranks = [_with_collective("3", metadata=one), _with_collective("3", metadata=other)]
    text = refusal(write_chakra(tmp_path, *ranks))
    assert text == "t.1.et: expected group 3 to be [0, 1] as before, found [1, 0]"


# --- broken files -----------------------------------------------------------------------------------------------------


def _broken(tmp_path: Path, data: bytes) -> str:
    (tmp_path / "t.0.et").write_bytes(data)
    return refusal(tmp_path)


def test_cut_short_in_a_message(tmp_path: Path) -> None:
    rank = ChakraRank()
    rank.compute("a", 1)
    assert _broken(tmp_path, rank.data[:-1]) == (
        "t.0.et: byte 8: expected a message of 23 bytes, found the end of the file after 22 of them: it is cut short"
    )


def test_every_way_to_cut_a_file_is_an_error_or_a_whole_message(tmp_path: Path) -> None:
    rank = ChakraRank()
    ends = {len(rank.data)}
    for number in range(3):
        rank.compute(f"n{number}", 200)
        ends.add(len(rank.data))
    for length in range(2, len(rank.data)):
        if length not in ends:
            assert "byte " in _broken(tmp_path, rank.data[:length])


def test_cut_short_in_a_length(tmp_path: Path) -> None:
    text = _broken(tmp_path, ChakraRank().data + b"\x80")
    assert text == "t.0.et: byte 8: expected a message's length, found the end of the file within it"


def test_a_huge_length_takes_no_memory(tmp_path: Path) -> None:
    text = _broken(tmp_path, ChakraRank().data + b"\xff\xff\xff\xff\x0f")
    most = f"expected a message's length, at most {MAXIMUM_MESSAGE_BYTES} bytes"
    assert text == f"t.0.et: byte 8: {most}, found {2**32 - 1}"


def test_a_length_without_end(tmp_path: Path) -> None:
    assert _broken(tmp_path, ChakraRank().data + b"\xff" * 12).endswith("found no end of the number")


def test_bytes_that_are_no_node(tmp_path: Path) -> None:
    text = _broken(tmp_path, ChakraRank().data + b"\x03\x0a\xff\xff")
    assert text.startswith("t.0.et: byte 8: expected a message of a Chakra node, found 3 bytes that are none")


def test_a_node_twice(tmp_path: Path) -> None:
    node = frame(Node(id=4, type=NodeType.COMP_NODE))
    text = _broken(tmp_path, ChakraRank().data + node + node)
    assert text == "t.0.et: byte 13: expected one node 4, found a second one"


def test_a_dependency_on_nothing(tmp_path: Path) -> None:
    rank = ChakraRank()
    rank.compute("a", 1, 77)
    text = _broken(tmp_path, rank.data)
    assert text == "t.0.et: byte 8: expected node 0 to depend on nodes of this file, found '77', which is none"


def test_a_circle(tmp_path: Path) -> None:
    rank = ChakraRank()
    rank.compute("free", 1)
    rank.compute("a", 1, 0, 2)
    rank.compute("b", 1, 1)
    text = _broken(tmp_path, rank.data)
    assert text.endswith("expected dependencies without a circle, found 1 after 2 after 1")


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("comm_size", AttributeProto(name="comm_size", int64_val=-1), "-1"),
        ("comm_size", AttributeProto(name="comm_size", string_val="big"), "'big'"),
        ("comm_dst", AttributeProto(name="comm_dst", int32_list=Int32List(values=[1])), "(1,)"),
    ],
)
def test_an_attribute_that_cannot_be(tmp_path: Path, name: str, value: AttributeProto, found: str) -> None:
    right = [AttributeProto(name=key, int64_val=1) for key in ("comm_dst", "comm_size") if key != name]
    node = Node(id=3, name="s", type=NodeType.COMM_SEND_NODE, attr=[*right, value])
    text = _broken(tmp_path, ChakraRank().data + frame(node))
    assert text.startswith("t.0.et: byte 8: node 3 ('s'): expected a whole number from 0 to ")
    assert text.endswith(f" as '{name}', found {found}")


def test_an_empty_file(tmp_path: Path) -> None:
    assert _broken(tmp_path, b"").endswith("found an empty file")


def test_metadata_alone_is_a_trace_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.0.et").write_bytes(frame(GlobalMetadata()) + frame(Node(id=1, type=NodeType.COMP_NODE)))
    assert len(load_trace([tmp_path]).ranks[0].nodes) == 1
