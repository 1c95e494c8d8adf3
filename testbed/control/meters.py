"""OpenFlow meters on the model clock: a token bucket in front of a switch port's first table.

    tokens grow at the meter's rate, up to its burst
    a frame for which there are enough goes on and uses them up
    any other is dropped, or gets the DSCP of the meter's remark band

Open vSwitch's own meters fill their buckets by wall time, so on the model clock they would drop what the machine's
speed decides. Here the bucket is exact: its level is kept in bits times picoseconds, so nothing is rounded.

References: OpenFlow 1.3.5, 5.7 and 7.3.4.4 (meter bands "drop" and "DSCP remark", burst).
Known limits: a meter stands before the pipeline, at an ingress port; the standard has it anywhere in it. The standard
lowers the precedence of a DSCP, here a DSCP is given. Frames count without their FCS.
"""

from testbed.engine.forwarding import DROPPED, Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.units import SECOND

_IPV4, _IPV6 = b"\x08\x00", b"\x86\xdd"


class TokenBucket:
    """A bucket of `burst_bytes` that fills at `rate_bps`; it is full at first."""

    __slots__ = ("_full", "_level", "_rate_bps", "_time_ps")

    def __init__(self, rate_bps: int, burst_bytes: int, now: int) -> None:
        self._rate_bps = rate_bps
        self._full = self._level = burst_bytes * 8 * SECOND
        self._time_ps = now

    def takes(self, size_bytes: int, now: int) -> bool:
        """Use up the tokens of a frame, if there are enough."""
        level = min(self._level + (now - self._time_ps) * self._rate_bps, self._full)
        self._time_ps = now
        needed = size_bytes * 8 * SECOND
        self._level = level if needed > level else level - needed
        return needed <= level


class Meter:
    """What arrives with `dscp` (None: everything) is metered; `remark` is the DSCP of what exceeds (None: dropped).

    Attributes:
        metered_frames, exceeding_frames: so far.
    """

    def __init__(self, bucket: TokenBucket, dscp: int | None, remark: int | None) -> None:
        self.metered_frames = self.exceeding_frames = 0
        self._bucket = bucket
        self._dscp = dscp
        self._remark = remark

    def passes(self, frame: Frame, now: int) -> bool:
        """Whether a frame goes on, perhaps with another DSCP."""
        dscp = dscp_of(frame.data)
        if dscp is None or self._dscp not in (None, dscp):
            return True
        self.metered_frames += 1
        if self._bucket.takes(len(frame.data), now):
            return True
        self.exceeding_frames += 1
        if self._remark is None:
            return False
        frame.data = with_dscp(frame.data, self._remark)
        return True


class MeteredForwarder:
    """A forwarder with meters in front of it, by the number of the port a frame comes in by."""

    def __init__(self, forwarder: Forwarder, loop: EventLoop) -> None:
        self.meters: dict[int, Meter] = {}
        self._forwarder = forwarder
        self._loop = loop
        self.answer = forwarder.answer

    def submit(self, in_port: int, frame: Frame) -> None:
        """Take a frame: meter it, then pass it on."""
        meter = self.meters.get(in_port)
        if meter is None or meter.passes(frame, self._loop.now):
            self._forwarder.submit(in_port, frame)
        else:
            frame.answer = DROPPED


def dscp_of(data: bytes) -> int | None:
    """Return the DSCP of an IP frame; None for another."""
    kind = data[12:14]
    if kind == _IPV4:
        return data[15] >> 2
    return (data[14] & 0x0F) << 2 | data[15] >> 6 if kind == _IPV6 else None


def with_dscp(data: bytes, dscp: int) -> bytes:
    """Return an IP frame with another DSCP, its ECN bits as they were and its IPv4 checksum right (RFC 1624)."""
    changed = bytearray(data)
    if data[12:14] == _IPV6:
        changed[14] = data[14] & 0xF0 | dscp >> 2
        changed[15] = (dscp & 3) << 6 | data[15] & 0x3F
        return bytes(changed)
    changed[15] = dscp << 2 | data[15] & 3
    checksum = 0xFFFF ^ int.from_bytes(data[24:26], "big")
    checksum += (0xFFFF ^ int.from_bytes(data[14:16], "big")) + int.from_bytes(changed[14:16], "big")
    while checksum > 0xFFFF:
        checksum = (checksum & 0xFFFF) + (checksum >> 16)
    changed[24:26] = (0xFFFF ^ checksum).to_bytes(2, "big")
    return bytes(changed)
