"""A frame in flight: its bytes as a capture shows them (no preamble, no FCS) and what the engine notes on the way."""

from typing import Any, TypeVar

_Same = TypeVar("_Same", bound="Frame")

FCS_BYTES = 4
PREAMBLE_AND_GAP_BYTES = 20
WIRE_OVERHEAD_BYTES = FCS_BYTES + PREAMBLE_AND_GAP_BYTES
MINIMUM_FRAME_BYTES = 60
"""Shortest Ethernet frame without its FCS; shorter ones are padded on the wire."""


def wire_bytes(frame_bytes: int) -> int:
    """Return the bytes that a frame of `frame_bytes` (without FCS) occupies on a wire: padding, FCS, preamble, gap."""
    return max(frame_bytes, MINIMUM_FRAME_BYTES) + WIRE_OVERHEAD_BYTES


class Frame:
    """One Ethernet frame.

    Attributes:
        data: the bytes; Open vSwitch may hand back rewritten ones (MAC addresses, TTL, CE mark).
        size_bytes: length on the wire, overhead included: what rates are computed from.
        is_data: True for a frame that carries RDMA payload: these count as packet-hops.
        answer: inside a switch, the port number that it leaves by, DROPPED or PENDING (`forwarding`).
        ingress: inside a switch, the forwarder's own note of where the frame came in.
        priority: 0 to 7, by the frame's DSCP (`classes`): set by the NIC that makes the frame and, where there are
            traffic classes, by each switch that it arrives at.
        group, held_bytes, queued_ps: inside a switch with traffic classes only: the ingress group that holds the
            frame's bytes, how many these are, and when it entered its queue.
        hop: where it was last, in the log of hops (`hops`): its record there; before its first hop its emission, or 0.
    """

    __slots__ = (
        "answer", "data", "group", "held_bytes", "hop", "ingress", "is_data", "priority", "queued_ps", "size_bytes",
    )  # fmt: skip

    group: Any
    held_bytes: int
    queued_ps: int

    def __init__(self, data: bytes, *, is_data: bool = False, priority: int = 0) -> None:
        self.data = data
        self.size_bytes = (len(data) if len(data) > MINIMUM_FRAME_BYTES else MINIMUM_FRAME_BYTES) + WIRE_OVERHEAD_BYTES
        self.is_data = is_data
        self.priority = priority
        self.answer = self.hop = 0
        self.ingress: Any = None

    def again(self: _Same, data: bytes) -> _Same:
        """Return one more frame like this one, with the bytes `data`: what a switch puts out that copies it."""
        frame = type(self)(data, is_data=self.is_data)
        frame.hop = self.hop
        return frame
