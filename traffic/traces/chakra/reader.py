"""Reads a Chakra execution trace: one file a rank, a GlobalMetadata and then nodes.

Dependencies are both those on data and those on control. A control dependency is on the calling operator, which
converters sometimes leave out of the file; one on a node that is not there is counted, and holds nothing up.

Groups come from a node of metadata named ``process_group:init``, whose input is PyTorch's list of process groups, or
from a file of communicator groups (`read_groups`).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any, BinaryIO

from google.protobuf.message import DecodeError

from traffic.traces.chakra.et_def_pb2 import GlobalMetadata, Node, NodeType
from traffic.traces.chakra.framing import read_messages
from traffic.traces.chakra.nodes import type_name, work_of
from traffic.traces.draft import RankDraft
from traffic.traces.limits import MAXIMUM_RANKS
from traffic.traces.model import RankTrace
from traffic.traces.places import mistake, shorten

Groups = dict[str, tuple[int, ...]]
_GROUPS_NODE = "process_group:init"


def read_chakra(stream: BinaryIO, file: str, rank: int) -> tuple[RankTrace, Groups]:
    """Return a rank's trace and the groups that the file defines. Raises TraceError with the byte of a mistake."""
    draft = RankDraft(rank, file)
    groups: Groups = {}
    messages = read_messages(stream, file)
    for offset, message in messages:
        _parse(GlobalMetadata(), message, file, offset)
        break
    else:
        raise mistake(file, "byte 0", "expected a Chakra trace: a message of metadata, then nodes, found an empty file")
    for offset, message in messages:
        node = Node()
        _parse(node, message, file, offset)
        _add(draft, node, f"byte {offset}", groups)
    return draft.finish(), groups


def _parse(into: GlobalMetadata | Node, message: bytes, file: str, offset: int) -> None:
    try:
        into.ParseFromString(message)
    except DecodeError as error:
        what = "of metadata" if isinstance(into, GlobalMetadata) else "of a Chakra node"
        text = f"expected a message {what}, found {len(message)} bytes that are none ({error})"
        raise mistake(file, f"byte {offset}", text) from error


def _add(draft: RankDraft, node: Node, place: str, groups: Groups) -> None:
    name = node.name or type_name(node.type)
    try:
        work = work_of(node, draft.rank)
        if node.type == NodeType.METADATA_NODE and _GROUPS_NODE in node.name and node.inputs.values:
            defined = _pytorch_groups(node.inputs.values)
            groups.update(defined)
    except ValueError as error:
        raise mistake(draft.file, place, f"node {node.id} ({shorten(name)}): {error}") from error
    data, control = [str(each) for each in node.data_deps], [str(each) for each in node.ctrl_deps]
    draft.add(str(node.id), name, place, work, data, optional=control)


def _pytorch_groups(values: str) -> Groups:
    """Return the groups of PyTorch's list of process groups, as converters write it: a list with one text of JSON.

    A group with no ranks is that of all. Raises ValueError when there is no such list.
    """
    try:
        (text,) = ast.literal_eval(values)
        found = {str(each["pg_name"]): _ranks(each["ranks"]) for each in json.loads(text)}
    except (SyntaxError, TypeError, KeyError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"expected a list of process groups in its inputs, found {shorten(values)}") from error
    return {name: ranks for name, ranks in found.items() if ranks}


def groups_of(found: Any, file: str) -> Groups:
    """Return the groups of a parsed file of communicator groups: ``{"1": [0, 1], "2": [2, 3]}``."""
    if not isinstance(found, Mapping):
        raise mistake(file, None, f'expected groups such as {{"1": [0, 1]}}, found {shorten(repr(found))}')
    groups = {}
    for name, ranks in found.items():
        try:
            groups[str(name)] = _ranks(ranks)
        except (TypeError, ValueError) as error:
            raise mistake(file, None, f"group {shorten(str(name))}: {error}") from error
    return groups


def _ranks(found: Any) -> tuple[int, ...]:
    right = isinstance(found, list) and all(isinstance(rank, int) and 0 <= rank < MAXIMUM_RANKS for rank in found)
    if not right or len(set(found)) < len(found):
        raise ValueError(f"expected a list of different ranks, found {shorten(repr(found))}")
    return tuple(found)
