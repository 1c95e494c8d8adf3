"""What a wire does to frames beyond delaying them: faults of a scenario, each one small class, and their composition.

Frames are told apart by what a look at their bytes says (`frame_kind`), so a fault sees what a wire would.
"""

from collections.abc import Sequence
from random import Random
from typing import Protocol

from testbed.engine.frame import Frame
from testbed.engine.reasons import FAULT, LINK_DOWN

_ROCE_PORT = (4791).to_bytes(2, "big")
_MAC_CONTROL = b"\x88\x08"
_ACKNOWLEDGE = 0x11
_CNP = 0x81
_NAK_BIT = 0x60
_BTH_OFFSET = {4: 14 + 20 + 8, 6: 14 + 40 + 8}


def frame_kind(frame: Frame) -> str:
    """Return ``data`` (RDMA payload), ``ack``, ``nak`` (RNR NAKs included), ``cnp``, ``pause`` (MAC control: PFC and
    PAUSE) or ``other``."""
    if frame.is_data:
        return "data"
    data = frame.data
    if data[12:14] == _MAC_CONTROL:
        return "pause"
    bth = _bth_offset(data)
    if bth is None:
        return "other"
    if data[bth] == _ACKNOWLEDGE:
        return "nak" if data[bth + 12] & _NAK_BIT else "ack"
    return "cnp" if data[bth] == _CNP else "other"


def _bth_offset(data: bytes) -> int | None:
    for bth in _BTH_OFFSET.values():
        if data[bth - 6 : bth - 4] == _ROCE_PORT:
            return bth
    return None


class Fault(Protocol):
    """One fault of one direction of a link; every hook has the meaning of `transmitter.Impairment`'s."""

    def on_departure(self, frame: Frame, now: int) -> str | None: ...

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None: ...


class _OnFrames:
    """A fault that looks at frames as they leave, and only at those of one kind (``any``: all)."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def _concerns(self, frame: Frame) -> bool:
        return self._kind == "any" or frame_kind(frame) == self._kind

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002 - the hook's signature
        return None


class DropNth(_OnFrames):
    """Drops the `nth` frame (1 is the first) and as many more behind it as make `count`."""

    def __init__(self, kind: str, nth: int, count: int) -> None:
        super().__init__(kind)
        self._first, self._last = nth, nth + count - 1
        self._seen = 0

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - the hook's signature
        if not self._concerns(frame):
            return None
        self._seen += 1
        return FAULT if self._first <= self._seen <= self._last else None


class RandomLoss(_OnFrames):
    """Drops each frame with `probability`."""

    def __init__(self, kind: str, probability: float, random: Random) -> None:
        super().__init__(kind)
        self._probability = probability
        self._random = random

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - the hook's signature
        return FAULT if self._concerns(frame) and self._random.random() < self._probability else None


class Corruption(_OnFrames):
    """Flips one bit behind the UDP header of each frame with `probability`: what an ICRC is there to find.

    Only RoCE frames are corrupted; a flipped bit in front of there would be a frame for somebody else, which an
    Ethernet FCS kills on the spot.
    """

    def __init__(self, kind: str, probability: float, random: Random) -> None:
        super().__init__(kind)
        self._probability = probability
        self._random = random

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - the hook's signature
        if self._concerns(frame) and self._random.random() < self._probability:
            self._flip(frame)
        return None

    def _flip(self, frame: Frame) -> None:
        bth = _bth_offset(frame.data)
        if bth is None:
            return
        changed = bytearray(frame.data)
        changed[self._random.randrange(bth + 12, len(changed))] ^= 1 << self._random.randrange(8)
        frame.data = bytes(changed)


class LinkDown:
    """The link is down from `at_ps` until `until_ps` (None: for good): what is on it then is lost."""

    def __init__(self, at_ps: int, until_ps: int | None) -> None:
        self._at = at_ps
        self._until = until_ps

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - the hook's signature
        return self.lost_in_flight(now, now)

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:
        """A frame is lost when its time on the wire and the link's time down have an instant in common."""
        began_before_the_end = self._until is None or departed_ps < self._until
        return LINK_DOWN if arrived_ps >= self._at and began_before_the_end else None


class Faults:
    """Several faults of one wire: the first that takes a frame names the reason."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = tuple(faults)

    def on_departure(self, frame: Frame, now: int) -> str | None:
        for fault in self._faults:
            reason = fault.on_departure(frame, now)
            if reason is not None:
                return reason
        return None

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:
        for fault in self._faults:
            reason = fault.lost_in_flight(departed_ps, arrived_ps)
            if reason is not None:
                return reason
        return None
