"""Explicit congestion notification on an egress queue: when a frame is marked, and what a mark is.

RED's ramp on the level that a frame finds, the queue's bytes as it enters or its own time in the queue as it leaves:

    p = 0                              level <= low
    p = pmax * (level - low) / (high - low)   low < level <= high
    p = 1                              level > high

With low = high it is a step. The level is the instantaneous one, as data-centre switches use it, not RED's average.

A mark is the code point CE (11) in the IP header of a frame that is ECN-capable (ECT, 01 or 10); the IPv4 header's
checksum is updated for the changed word (RFC 1624, equation 3), and the ICRC of RoCE does not cover these bits. What is
not ECN-capable cannot be marked: it goes on unmarked or, with WRED, is dropped with the same probability.

References: RFC 3168; S. Floyd, V. Jacobson, Random early detection (1993); Y. Zhu et al., DCQCN (SIGCOMM 2015).
"""

from random import Random

_NOT_ECT = 0
_CE = 3
_IPV4 = b"\x08\x00"
_IPV6 = b"\x86\xdd"


class Ramp:
    """The marking decision of one queue; `low` and `high` are bytes or picoseconds.

    `drops_unmarkable`: whether what cannot be marked is dropped (WRED). The randomness is the queue's own.
    """

    __slots__ = ("_random", "drops_unmarkable", "high", "low", "pmax")

    def __init__(self, low: int, high: int, pmax: float, random: Random, *, drops_unmarkable: bool = False) -> None:
        if low > high:
            raise ValueError(f"expected the ramp's low end at or below its high end, found {low} and {high}")
        self.low = low
        self.high = high
        self.pmax = pmax
        self.drops_unmarkable = drops_unmarkable
        self._random = random

    def probability(self, level: int) -> float:
        """Return the probability with which a frame that finds `level` is marked."""
        if level <= self.low:
            return 0.0
        if level > self.high:
            return 1.0
        return self.pmax * (level - self.low) / (self.high - self.low)

    def hits(self, level: int) -> bool:
        """Decide on one frame. Randomness is used up only on the ramp."""
        if level <= self.low:
            return False
        return level > self.high or self._random.random() < self.probability(level)


def marked(data: bytes) -> bytes | None:
    """Return the frame with CE set (itself if it was set already); None when it is not ECN-capable."""
    if data[12:14] == _IPV4:
        return _marked_ipv4(data)
    if data[12:14] == _IPV6:
        ecn = data[15] >> 4 & _CE
        if ecn == _NOT_ECT:
            return None
        return data if ecn == _CE else b"".join((data[:15], bytes((data[15] | _CE << 4,)), memoryview(data)[16:]))
    return None


def _marked_ipv4(data: bytes) -> bytes | None:
    ecn = data[15] & _CE
    if ecn == _NOT_ECT:
        return None
    if ecn == _CE:
        return data
    checksum = data[24] << 8 | data[25]
    changed_by = _CE - ecn  # what the header's first word grows by
    total = (
        0xFFFF - checksum
    ) + changed_by  # ~HC + ~m + m', where ~m + m' is 0xFFFF, ones' complement's zero, + growth
    total = (total & 0xFFFF) + (total >> 16)
    return b"".join(
        (data[:15], bytes((data[15] | _CE,)), data[16:24], (0xFFFF - total).to_bytes(2, "big"), memoryview(data)[26:])
    )
