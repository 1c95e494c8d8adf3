"""The NVLink domain of a host: a switch to which each GPU has one port, as fast in as out.

A message leaves its GPU's port when those before it have left, and takes its bytes' time there; `latency` after its
first byte left, it begins to come in at the other GPU's port, when those before it are in:

    leaves   from max(now, port out free),                      for bytes / rate
    comes in from max(left from + latency, port in free),       for bytes / rate

So a message alone takes latency + bytes / rate, two that leave one GPU take turns, and so do two that come to one.
There are no packets and no losses: what went in comes out, which is counted.

Known limits: no headers; messages are not cut, so one does not overtake another; what waits for the port in does not
hold up the port out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from testbed.engine.loop import EventLoop
from testbed.scenario.model import NvlinkOptions
from testbed.units import serialisation_ps

Delivery = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class NvlinkStatistics:
    """One domain at the end: messages and bytes that went in and came out, and the longest that a port was busy."""

    host: str
    sent_messages: int
    sent_bytes: int
    delivered_messages: int
    delivered_bytes: int
    busiest_port_ps: int


class NvlinkDomain:
    """Carries messages between the GPUs of one host, which have local numbers."""

    def __init__(self, host: str, options: NvlinkOptions, loop: EventLoop) -> None:
        self.host = host
        self.options = options
        self._loop = loop
        self._out_free: defaultdict[int, int] = defaultdict(int)
        self._in_free: defaultdict[int, int] = defaultdict(int)
        self._busy: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._sent = self._sent_bytes = self._delivered = self._delivered_bytes = 0
        self._coming_handler, self._delivered_handler = self._coming, self._deliver

    def send(self, source: int, destination: int, size: int, deliver: Delivery, argument: Any) -> None:
        """Carry `size` bytes from GPU to GPU; ``deliver(argument)`` is called when the last is there."""
        start = max(self._loop.now, self._out_free[source])
        duration = serialisation_ps(size, self.options.rate)
        self._out_free[source] = start + duration
        self._busy["out", source] += duration
        self._sent += 1
        self._sent_bytes += size
        transfer = destination, size, duration, deliver, argument
        self._loop.at(start + self.options.latency, self._coming_handler, transfer)

    def _coming(self, transfer: tuple[int, int, int, Delivery, Any]) -> None:
        destination, _, duration, _, _ = transfer
        end = max(self._loop.now, self._in_free[destination]) + duration
        self._in_free[destination] = end
        self._busy["in", destination] += duration
        self._loop.at(end, self._delivered_handler, transfer)

    def _deliver(self, transfer: tuple[int, int, int, Delivery, Any]) -> None:
        _, size, _, deliver, argument = transfer
        self._delivered += 1
        self._delivered_bytes += size
        deliver(argument)

    def statistics(self) -> NvlinkStatistics:
        """Return the counters as they stand."""
        busiest = max(self._busy.values(), default=0)
        return NvlinkStatistics(
            self.host, self._sent, self._sent_bytes, self._delivered, self._delivered_bytes, busiest
        )


def nvlink_domains(options: NvlinkOptions | None, hosts: Iterable[str], loop: EventLoop) -> dict[str, NvlinkDomain]:
    """Return the domain of each host, by its name; none where the scenario has no NVLink."""
    return {} if options is None else {host: NvlinkDomain(host, options, loop) for host in hosts}
