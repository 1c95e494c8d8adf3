"""The one place that sends to a switch: plain values become OpenFlow messages here, with either flavour of Ryu.

Groups need OpenFlow 1.5, since only there a group has properties. The choice by a hash over given fields is one: an
experimenter property of Netronome's, which Open vSwitch knows (its include/openflow/netronome-ext.h) and neither Ryu
nor os-ken does. OpenFlow itself leaves the choice to the switch, and Open vSwitch's does not look at UDP ports in its
userspace datapath.
"""

import struct
from collections.abc import Iterable
from typing import Any

from controllers.openflow import (
    COOKIE,
    Action,
    DecrementTtl,
    FieldValue,
    FlowMod,
    Output,
    SelectGroup,
    SetField,
    SwitchRules,
    ToGroup,
)

_EXPERIMENTER_PROPERTY = 0xFFFF
_NETRONOME = 0x0000154D
_SELECTION_METHOD = 1
_OPENFLOW_BASIC = 0x8000
_OPENFLOW_15 = 6
"""The version number of OpenFlow 1.5 on the wire."""
_ADD_OR_MODIFY = 0x8000
"""Open vSwitch's own group command: add it, or change the one that is there. So sending rules twice does no harm."""

_FIELDS = {
    "ipv4_src": (11, 4), "ipv4_dst": (12, 4), "tcp_src": (13, 2), "tcp_dst": (14, 2),
    "udp_src": (15, 2), "udp_dst": (16, 2), "ipv6_src": (26, 16), "ipv6_dst": (27, 16),
}  # fmt: skip
"""OXM field number and length in bytes (OpenFlow 1.5.1, table 12)."""


def send_rules(datapath: Any, rules: SwitchRules) -> None:
    """Send all of `rules`: first the groups, then the flows that lead to them."""
    for group in rules.groups:
        send(datapath, group_message(datapath, group))
    for flow in rules.flows:
        send(datapath, flow_message(datapath, flow))


def send_barrier(datapath: Any) -> int:
    """Ask a switch to answer when it has done all it was told so far; return the transaction number of the answer."""
    return send(datapath, datapath.ofproto_parser.OFPBarrierRequest(datapath))


def send(datapath: Any, message: Any) -> int:
    """Send a message of Ryu's to a switch; return its transaction number."""
    datapath.send_msg(message)
    return int(message.xid)


def flow_message(datapath: Any, flow: FlowMod) -> Any:
    """Return Ryu's message that adds `flow`."""
    parser, ofproto = datapath.ofproto_parser, datapath.ofproto
    actions = _actions(datapath, flow.actions)
    instructions = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)] if actions else []
    return parser.OFPFlowMod(
        datapath,
        cookie=COOKIE,
        command=ofproto.OFPFC_ADD,
        priority=flow.priority,
        match=parser.OFPMatch(**dict(flow.match)),
        instructions=instructions,
    )


def delete_flow_message(datapath: Any, priority: int, match: tuple[tuple[str, FieldValue], ...]) -> Any:
    """Return Ryu's message that deletes the flow with exactly this priority and match."""
    parser, ofproto = datapath.ofproto_parser, datapath.ofproto
    return parser.OFPFlowMod(
        datapath,
        command=ofproto.OFPFC_DELETE_STRICT,
        priority=priority,
        out_port=ofproto.OFPP_ANY,
        out_group=ofproto.OFPG_ANY,
        match=parser.OFPMatch(**dict(match)),
        instructions=[],
    )


def delete_group_message(datapath: Any, group_id: int) -> Any:
    """Return Ryu's message that deletes a group, if it is there."""
    parser, ofproto = datapath.ofproto_parser, datapath.ofproto
    return parser.OFPGroupMod(datapath, command=ofproto.OFPGC_DELETE, type_=ofproto.OFPGT_SELECT, group_id=group_id)


def packet_out_message(datapath: Any, port: int, data: bytes) -> Any:
    """Return Ryu's message that has a switch send `data` out of a port."""
    parser, ofproto = datapath.ofproto_parser, datapath.ofproto
    from_controller = ofproto.OFPP_CONTROLLER
    if ofproto.OFP_VERSION >= _OPENFLOW_15:
        origin = {"match": parser.OFPMatch(in_port=from_controller)}
    else:
        origin = {"in_port": from_controller}
    return parser.OFPPacketOut(
        datapath, buffer_id=ofproto.OFP_NO_BUFFER, actions=[parser.OFPActionOutput(port)], data=data, **origin
    )


def group_message(datapath: Any, group: SelectGroup) -> Any:
    """Return Ryu's message that adds or changes `group`. The switch must speak OpenFlow 1.5."""
    parser, ofproto = datapath.ofproto_parser, datapath.ofproto
    buckets = [
        parser.OFPBucket(
            bucket_id=number,
            actions=_actions(datapath, actions),
            properties=[parser.OFPGroupBucketPropWeight(type_=ofproto.OFPGBPT_WEIGHT, weight=1)],
        )
        for number, actions in enumerate(group.buckets)
    ]
    return parser.OFPGroupMod(
        datapath,
        command=_ADD_OR_MODIFY,
        type_=ofproto.OFPGT_SELECT,
        group_id=group.group_id,
        buckets=buckets,
        properties=[HashSelection(group.hash_fields, group.hash_seed)],
    )


def _actions(datapath: Any, actions: Iterable[Action]) -> list[Any]:
    parser = datapath.ofproto_parser
    made = []
    for action in actions:
        match action:
            case SetField(field, value):
                made.append(parser.OFPActionSetField(**{field: value}))
            case DecrementTtl():
                made.append(parser.OFPActionDecNwTtl())
            case Output(port):
                made.append(parser.OFPActionOutput(port))
            case ToGroup(group_id):
                made.append(parser.OFPActionGroup(group_id))
    return made


class HashSelection:
    """The property of a select group that makes Open vSwitch choose the bucket by a seeded hash over given fields."""

    def __init__(self, fields: tuple[str, ...], seed: int) -> None:
        self.fields = fields
        self.seed = seed

    def __repr__(self) -> str:
        return f"HashSelection(fields={self.fields}, seed={self.seed})"

    def serialize(self) -> bytes:
        """Return its bytes: head, method, seed, then each field's OXM with a mask of ones; padded to 8 bytes."""
        oxms = b"".join(_whole_field(name) for name in self.fields)
        length = 40 + len(oxms)
        head = struct.pack("!HHII4x", _EXPERIMENTER_PROPERTY, length, _NETRONOME, _SELECTION_METHOD)
        return head + struct.pack("!16sQ", b"hash", self.seed) + oxms + bytes(-length % 8)


def _whole_field(name: str) -> bytes:
    number, size_bytes = _FIELDS[name]
    return struct.pack("!HBB", _OPENFLOW_BASIC, number << 1, size_bytes) + b"\xff" * size_bytes
