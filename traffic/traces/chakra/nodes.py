"""What a Chakra node does: from its type and attributes to the work of the model.

The attributes are those that feeders and converters use: ``is_cpu_op``; ``comm_type``, ``comm_size``, ``pg_name`` of a
collective; ``comm_src``, ``comm_dst``, ``comm_size``, ``comm_tag`` of a message. ``comm_size`` of a collective is the
rank's input in bytes, so an all-gather's whole buffer is n times that.

References: mlcommons/chakra schema/protobuf/et_def.proto, src/converter; astra-sim workload/Workload.cc.
Known limits: nodes that have operations to count instead of a duration (``num_ops``) are unknown: they need a model of
the processor. ``involved_dim`` with a dimension left out is unknown: it needs the dimensions of a simulator's topology.
"""

from __future__ import annotations

from testbed.units import MICROSECOND
from traffic.traces.chakra.attributes import Attributes
from traffic.traces.chakra.et_def_pb2 import CollectiveCommType, Node, NodeType
from traffic.traces.limits import MAXIMUM_RANKS, MAXIMUM_SIZE_BYTES, MAXIMUM_TIME_PS
from traffic.traces.model import ALL_RANKS, Collective, Compute, Marker, Receive, Send, Unknown, Work

_KINDS: dict[int, str] = {
    CollectiveCommType.ALL_REDUCE: "all-reduce",
    CollectiveCommType.REDUCE: "reduce",
    CollectiveCommType.ALL_GATHER: "all-gather",
    CollectiveCommType.GATHER: "gather",
    CollectiveCommType.SCATTER: "scatter",
    CollectiveCommType.BROADCAST: "broadcast",
    CollectiveCommType.ALL_TO_ALL: "all-to-all",
    CollectiveCommType.REDUCE_SCATTER: "reduce-scatter",
    CollectiveCommType.REDUCE_SCATTER_BLOCK: "reduce-scatter",
    CollectiveCommType.BARRIER: "barrier",
}
_LARGEST_TAG = 2**63


def work_of(node: Node, rank: int) -> Work:
    """Return what `node` of `rank` does. Raises ValueError, with what was expected and found, for a wrong value."""
    attributes = Attributes(node.attr)
    if node.type == NodeType.COMP_NODE:
        return _compute(node, attributes)
    if node.type in (NodeType.MEM_LOAD_NODE, NodeType.MEM_STORE_NODE) and node.duration_micros:
        return Compute(_duration_ps(node), "memory")
    if node.type == NodeType.COMM_SEND_NODE:
        return _send(attributes, rank)
    if node.type == NodeType.COMM_RECV_NODE:
        return _receive(attributes, rank)
    if node.type == NodeType.COMM_COLL_NODE:
        return _collective(attributes)
    if node.type == NodeType.METADATA_NODE:
        return Marker("METADATA_NODE")
    return Unknown(type_name(node.type))


def type_name(number: int) -> str:
    """Return the name of a node type; a number that the schema does not have is named as such."""
    return NodeType.Name(number) if number in NodeType.values() else f"node type {number}"


def _duration_ps(node: Node) -> int:
    duration_ps = node.duration_micros * MICROSECOND
    if duration_ps > MAXIMUM_TIME_PS:
        most = MAXIMUM_TIME_PS // MICROSECOND
        raise ValueError(f"expected a duration of at most {most} us, found {node.duration_micros}")
    return duration_ps


def _compute(node: Node, attributes: Attributes) -> Work:
    if not node.duration_micros and attributes.whole("num_ops", 0, 2**64):
        return Unknown("COMP_NODE with num_ops and no duration")
    return Compute(_duration_ps(node), "cpu" if attributes.flag("is_cpu_op", default=False) else "gpu")


def _send(attributes: Attributes, rank: int) -> Work:
    if "comm_dst" not in attributes:
        return Unknown("COMM_SEND_NODE without comm_dst")
    if (source := attributes.whole("comm_src", rank, MAXIMUM_RANKS)) != rank:
        raise ValueError(f"expected a send's 'comm_src' to be its own rank, {rank}, found {source}")
    destination = attributes.whole("comm_dst", 0, MAXIMUM_RANKS)
    return Send(destination, _size(attributes), attributes.whole("comm_tag", 0, _LARGEST_TAG))


def _receive(attributes: Attributes, rank: int) -> Work:
    if "comm_src" not in attributes:
        return Unknown("COMM_RECV_NODE without comm_src")
    if (destination := attributes.whole("comm_dst", rank, MAXIMUM_RANKS)) != rank:
        raise ValueError(f"expected a receive's 'comm_dst' to be its own rank, {rank}, found {destination}")
    source = attributes.whole("comm_src", 0, MAXIMUM_RANKS)
    return Receive(source, _size(attributes), attributes.whole("comm_tag", 0, _LARGEST_TAG))


def _collective(attributes: Attributes) -> Work:
    if "comm_type" not in attributes:
        return Unknown("COMM_COLL_NODE without comm_type")
    if not all(attributes.value("involved_dim") or (True,)):
        return Unknown("COMM_COLL_NODE over some dimensions (involved_dim)")
    kind = _KINDS.get(attributes.whole("comm_type", 0, 2**31))
    if kind is None:
        return Unknown(f"COMM_COLL_NODE with comm_type {attributes.value('comm_type')}")
    root = attributes.whole("root", 0, MAXIMUM_RANKS) if "root" in attributes else None
    return Collective(kind, _size(attributes), attributes.text("pg_name") or ALL_RANKS, root)


def _size(attributes: Attributes) -> int:
    return attributes.whole("comm_size", 0, MAXIMUM_SIZE_BYTES)
