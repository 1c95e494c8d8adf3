"""Reads a PyTorch execution trace, one JSON file a rank, as PARAM does: what its process did with others, in order.

A node named ``record_param_comms`` is a collective, a message or a wait; ``process_group:init`` lists the groups. In
schema 1.1.0 and later a node's attributes say what it is (``collective_name``, ``dtype``, ``in_msg_nelems``, ...); in
1.0.3 and later its inputs do, by position:

    tensor, request, (group, description), peer or rank, name, in split, out split

where waits and barriers have no tensor. A process issues one node after the other, and waits for none of them: only a
``wait`` holds it up, until the request of the same number in the same group has ended. Streams of one group run in
order anyway.

An execution trace has no times. Where another tool has added a node's ``exclusive_dur`` (in us), the process is busy
for it; all other operators are counted and left out.

References: facebookresearch/param et_replay (commsTraceParser.py, execution_trace.py); PyTorch, ExecutionTraceObserver.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.units import MICROSECOND
from traffic.traces.chakra.reader import Groups
from traffic.traces.draft import RankDraft
from traffic.traces.limits import MAXIMUM_RANKS, MAXIMUM_SIZE_BYTES, MAXIMUM_TIME_PS
from traffic.traces.model import ALL_RANKS, Collective, Compute, Marker, RankTrace, Receive, Send, Unknown, Work
from traffic.traces.places import TraceError, mistake, shorten

_OLDEST = (1, 0, 3)
_NODE = "record_param_comms"
_GROUPS_NODE = "process_group:init"
_KINDS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "alltoall": "all-to-all",
    "alltoallv": "all-to-all",
    "barrier": "barrier",
}
_NOT_IN_A_NAME = ("_", "-", "base", "intotensor", "tensor", "coalesced", "single")
_ELEMENT_BYTES = {
    "float": 4, "int": 4, "double": 8, "long": 8, "half": 2, "bfloat16": 2, "short": 2, "byte": 1, "char": 1, "bool": 1,
}  # fmt: skip
_LONG_NAMES = {"longint": "long", "unsignedchar": "byte", "signedchar": "char", "uint8": "byte", "int64": "long"}


def is_execution_trace(found: Any) -> bool:
    """Whether parsed JSON looks like an execution trace at all."""
    return isinstance(found, Mapping) and "schema" in found and "nodes" in found


def read_param(found: Any, file: str, rank: int) -> tuple[RankTrace, Groups]:
    """Return a rank's trace and the groups that the file defines, from its parsed JSON.

    Raises TraceError, whose place is the path to the node.
    """
    if not is_execution_trace(found):
        raise mistake(file, None, "expected an execution trace, a mapping with 'schema' and 'nodes', found none")
    _check_schema(found, file)
    nodes = found["nodes"]
    if not isinstance(nodes, list):
        raise mistake(file, None, f"nodes: expected a list, found {shorten(repr(nodes))}")
    reader = _Reader(file, rank)
    for index, node in enumerate(nodes):
        reader.take(node, index)
    return reader.draft.finish(), reader.groups


def _check_schema(found: Mapping[str, Any], file: str) -> None:
    match = re.match(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})(?![0-9])", str(found["schema"]))
    if match is None or tuple(int(part) for part in match.groups()) < _OLDEST:
        text = "schema: expected 1.0.3 or later, such as 1.1.0-chakra.0.0.4, found "
        raise mistake(file, None, text + shorten(str(found["schema"])))


class _Reader:
    """Takes the nodes of one rank in their order."""

    def __init__(self, file: str, rank: int) -> None:
        self.draft = RankDraft(rank, file)
        self.groups: Groups = {}
        self._last: str | None = None
        self._after: list[str] = []
        self._requests: dict[tuple[str, str], str] = {}

    def take(self, node: Any, index: int) -> None:
        place = f"nodes[{index}]"
        try:
            name, identity = str(node["name"]), str(node["id"])
            if name == _NODE:
                self._communication(_Call(node), identity, place)
            elif _GROUPS_NODE in name:
                self.groups.update(_groups(_part(node, "inputs")[0]))
                self._issue(identity, name, place, Marker(_GROUPS_NODE))
            elif duration_ps := _duration_ps(node):
                self._issue(identity, name, place, Compute(duration_ps, "cpu"))
                self._after = [identity]
            else:
                self.draft.left_out["operators and labels without a duration"] += 1
        except TraceError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
            what = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else str(error)
            text = f"expected a node of an execution trace, found {shorten(repr(node))}: {what}"
            raise mistake(self.draft.file, None, f"{place}: {text}") from error

    def _issue(self, identity: str, name: str, place: str, work: Work) -> None:
        """Add a node that the process issues behind the last one, and behind what it has waited for."""
        start = [self._last] if self._last is not None and self._last not in self._after else []
        self.draft.add(identity, name, place, work, self._after, start)
        self._last, self._after = identity, []

    def _communication(self, call: _Call, identity: str, place: str) -> None:
        if call.name in ("init", "start"):
            self.draft.left_out[f"{_NODE} {call.name}"] += 1
            return
        if call.name != "wait":
            self._issue(identity, f"{_NODE} {call.name}", place, call.work(self.groups))
            self._requests[call.group, call.request] = identity
            return
        request = self._requests.get((call.group, call.request))
        if request is None:
            self._issue(identity, f"{_NODE} wait", place, Unknown("wait for a request that the trace does not have"))
            return
        self._after.append(request)
        self._issue(identity, f"{_NODE} wait", place, Marker("wait"))
        self._after = [identity]


class _Call:
    """One ``record_param_comms`` node."""

    def __init__(self, node: Mapping[str, Any]) -> None:
        self._inputs = _part(node, "inputs")
        self._outputs = _part(node, "outputs")
        self._types = {side: _part(node, side, "types") for side in ("inputs", "outputs")}
        self._attributes = {each["name"]: each["value"] for each in node.get("attrs", ())}
        self._shift = 1 if any(word in [str(each) for each in self._inputs[:5]] for word in ("wait", "barrier")) else 0
        self.name = str(self._attributes.get("collective_name") or self._inputs[4 - self._shift]).lower()
        self.request = str(self._inputs[1 - self._shift])
        group = self._inputs[2 - self._shift]
        self.group = str(group[0] if isinstance(group, (list, tuple)) else group)

    def work(self, groups: Mapping[str, tuple[int, ...]]) -> Work:
        """Return what the call does."""
        plain = self.name
        for word in _NOT_IN_A_NAME:
            plain = plain.replace(word, "")
        if plain in ("send", "recv", "isend", "irecv"):
            return self._message("send" in plain, groups)
        kind = _KINDS.get(plain)
        if kind is None:
            return Unknown(f"{_NODE} {self.name[:40]}")
        group = self.group if self.group in groups or self.group != "0" else ALL_RANKS
        size = 0 if kind == "barrier" else self._bytes("outputs" if kind == "all-gather" else "inputs")
        members = groups.get(group)
        rooted = kind in ("broadcast", "reduce", "gather", "scatter")
        root = self._root(members) if rooted else None
        return Collective(kind, size, group, root, self._split(size) if kind == "all-to-all" else None)

    def _message(self, is_send: bool, groups: Mapping[str, tuple[int, ...]]) -> Work:
        peer = _number(self._inputs[3 - self._shift], MAXIMUM_RANKS, "a rank")
        members = groups.get(self.group)
        if members is not None:
            if peer >= len(members):
                raise ValueError(f"expected a rank of group {self.group}, which has {len(members)}, found {peer}")
            peer = members[peer]
        size = self._bytes("inputs")
        return Send(peer, size) if is_send else Receive(peer, size)

    def _root(self, members: Sequence[int] | None) -> int | None:
        """Return the root's rank: a broadcast's node names it within the group; the first where it does not."""
        local = self._inputs[3 - self._shift]
        if not isinstance(local, int) or not 0 <= local < (len(members) if members else MAXIMUM_RANKS):
            return members[0] if members else None
        return members[local] if members else local

    def _bytes(self, side: str) -> int:
        elements = self._attributes.get("in_msg_nelems" if side == "inputs" else "out_msg_nelems")
        name = self._attributes.get("dtype")
        if elements is not None and name is not None:
            return _number(elements, MAXIMUM_SIZE_BYTES, "how many elements there are") * _element_bytes(str(name))
        values = self._inputs if side == "inputs" else self._outputs
        kind = str(self._types[side][0])
        tensors = [values[0]]
        for _ in range(kind.count("GenericList")):
            tensors = list(tensors[0])
        element = _element_bytes(re.sub(r"GenericList\[|\].*|,.*", "", kind))
        size = (
            sum(_number(tensor[3], MAXIMUM_SIZE_BYTES, "how many elements there are") for tensor in tensors) * element
        )
        return _number(size, MAXIMUM_SIZE_BYTES, "a size in bytes")

    def _split(self, size: int) -> tuple[int, ...] | None:
        """Return the bytes for each of the group, where the call splits its input unevenly."""
        split = self._attributes.get("in_split_size", self._inputs[5] if len(self._inputs) > 5 else None)
        shares = json.loads(split) if isinstance(split, str) and split else split
        if not shares or len(set(shares)) == 1:
            return None
        rows = sum(_number(share, MAXIMUM_SIZE_BYTES, "a share") for share in shares)
        return tuple(size * share // rows for share in shares) if rows else None


def _part(node: Mapping[str, Any], side: str, key: str = "values") -> list[Any]:
    part = node[side]
    found = part[key] if isinstance(part, Mapping) else part
    if not isinstance(found, list):
        raise TypeError(f"{side}.{key} is no list")
    return found


def _number(found: Any, most: int, what: str) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
        raise ValueError(f"expected {what}, found {shorten(repr(found))}")
    return found


def _element_bytes(name: str) -> int:
    """Return the size of an element of a type such as ``Float``, ``Tensor(c10::BFloat16)`` or ``Float8_e4m3fn``."""
    match = re.search(r"(?:Tensor\()?(?:c10::)?([A-Za-z0-9_ ]+)\)?", name)
    plain = match[1].replace(" ", "").lower() if match else ""
    plain = _LONG_NAMES.get(plain, plain)
    if plain.startswith("float8"):
        return 1
    if plain not in _ELEMENT_BYTES:
        raise ValueError(f"expected a type of element such as 'Float', found {shorten(name)}")
    return _ELEMENT_BYTES[plain]


def _duration_ps(node: Mapping[str, Any]) -> int:
    found = node.get("exclusive_dur")
    if found is None:
        found = next((each["value"] for each in node.get("attrs", ()) if each["name"] == "exclusive_dur"), 0)
    if not isinstance(found, (int, float)) or not 0 <= found <= MAXIMUM_TIME_PS // MICROSECOND:
        raise ValueError(f"expected a duration in us as 'exclusive_dur', found {shorten(repr(found))}")
    return round(found * MICROSECOND)


def _groups(text: Any) -> Groups:
    """Return the groups of PyTorch's list; one without ranks is that of all, which is left out here."""
    found = json.loads(text) if isinstance(text, str) else text
    groups = {}
    for each in found:
        ranks = tuple(_number(rank, MAXIMUM_RANKS, "a rank") for rank in each["ranks"])
        if len(set(ranks)) < len(ranks):
            raise ValueError(f"expected different ranks in group {each['pg_name']}, found {shorten(repr(ranks))}")
        if ranks:
            groups[str(each["pg_name"])] = ranks
    return groups
