"""Which flows left by a port: addresses, UDP source port and bytes, read off every frame.

It is what a switch's flow export (sFlow, IPFIX) reports, without sampling.
"""

from ipaddress import ip_address
from typing import Any

from controllers.policy.telemetry import FlowTelemetry
from testbed.engine.frame import Frame
from testbed.engine.transmitter import Transmitter

_IPV4, _IPV6 = b"\x08\x00", b"\x86\xdd"
_UDP = 17


class FlowCounter:
    """Counts what one transmitter sends, by flow, between two calls of `take`."""

    __slots__ = ("_bytes", "_next")

    def __init__(self, following: Any) -> None:
        self._bytes: dict[bytes, int] = {}
        self._next = following

    @classmethod
    def on(cls, transmitter: Transmitter) -> "FlowCounter":
        """Return a counter of what `transmitter` sends from now on; who listened before goes on listening."""
        counter = cls(transmitter.on_sent)
        transmitter.on_sent = counter._on_sent
        return counter

    def _on_sent(self, now: int, frame: Frame) -> None:
        data = frame.data
        kind = data[12:14]
        if kind == _IPV4 and data[23] == _UDP:
            key = data[26:36]
        elif kind == _IPV6 and data[20] == _UDP:
            key = data[22:56]
        else:
            key = b""
        if key:
            self._bytes[key] = self._bytes.get(key, 0) + frame.size_bytes
        if self._next is not None:
            self._next(now, frame)

    def take(self) -> tuple[FlowTelemetry, ...]:
        """Return the flows since the last call, the largest first (equal ones in the order of their addresses)."""
        counted, self._bytes = self._bytes, {}
        ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
        return tuple(_flow(key, sent) for key, sent in ordered)


def _flow(key: bytes, sent_bytes: int) -> FlowTelemetry:
    """`key` is both addresses and the UDP source port, as they stand one behind the other in a frame."""
    length = (len(key) - 2) // 2
    source, destination = ip_address(key[:length]), ip_address(key[length : 2 * length])
    return FlowTelemetry(str(source), str(destination), int.from_bytes(key[-2:], "big"), sent_bytes)
