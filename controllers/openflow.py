"""What a switch can be told, as plain frozen values: flow-mods, groups and the actions in both.

The logic of an application returns these, tests compare them, and `controllers.sending` alone turns them into OpenFlow
messages. Field names are the standard's (``eth_type``, ``ipv4_dst``, ``udp_src``), as Ryu spells them.
"""

from dataclasses import dataclass
from typing import TypeAlias

FieldValue: TypeAlias = int | str | tuple[str, str]
"""A number, an address, or an address and its mask."""

COOKIE = 0x726F63656C6162  # "rocelab"
"""The cookie of every flow sent from here: what carries another one belongs to someone else and is left alone."""


@dataclass(frozen=True, slots=True)
class SetField:
    """Overwrite a header field."""

    field: str
    value: FieldValue


@dataclass(frozen=True, slots=True)
class DecrementTtl:
    """Take one off the IPv4 TTL or the IPv6 hop limit; the switch drops the packet if that leaves none."""


@dataclass(frozen=True, slots=True)
class Output:
    """Put the packet out of an OpenFlow port."""

    port: int


@dataclass(frozen=True, slots=True)
class ToGroup:
    """Hand the packet to a group."""

    group_id: int


Action: TypeAlias = SetField | DecrementTtl | Output | ToGroup


@dataclass(frozen=True, slots=True)
class FlowMod:
    """Add a flow to table 0: packets that match all of `match` get `actions`, in this order; without any they drop."""

    priority: int
    match: tuple[tuple[str, FieldValue], ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class SelectGroup:
    """Choose one of `buckets` (lists of actions; all of weight 1) for each packet, by a hash over its `hash_fields`.

    The hash is seeded with `hash_seed`, and fields that a packet does not have are left out. Equal fields take the same
    bucket in every run.
    """

    group_id: int
    hash_fields: tuple[str, ...]
    hash_seed: int
    buckets: tuple[tuple[Action, ...], ...]


@dataclass(frozen=True, slots=True)
class SwitchRules:
    """All that one switch is told: its groups, then the flows, some of which lead to them."""

    switch: str
    dpid: int
    groups: tuple[SelectGroup, ...]
    flows: tuple[FlowMod, ...]
