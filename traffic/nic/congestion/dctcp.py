"""DCTCP's window on a QP: the other way to react to marks, by how many packets are on their way and not by a rate.

    once a window   F = marked / acknowledged packets of it;  alpha = (1 - g) alpha + g F
    if it had marks, W = W (1 - alpha / 2)
    otherwise       W grows by one packet in the time of a window
    a NAK           W = W / 2, once a window;   a timeout   W = 1 packet

The share of marked packets has to come back. RoCEv2's CNPs cannot carry it (at most one in an interval), and its
acknowledgements have no bit for it by the standard; here they echo marks by BECN (`traffic.nic.notification`). So this
is no NIC that one can buy, but a window scheme over the same fabric, to compare with.

A window ends when everything that was on its way at its beginning is acknowledged. All arithmetic is of integers: alpha
in units of 2^-32, W in 2^-16 packets.

References: RFC 8257, 3.3 (the sender).
Known limits: no slow start: it begins with `initial_window`, as RoCE begins at line rate. Acknowledgements come for
every `ack_every`-th packet and the last one that a window allows, so a window of few packets goes out in bursts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from testbed.scenario.congestion import DctcpOptions
from traffic.nic.congestion import CongestionControl, Feedback, congestion_controls

if TYPE_CHECKING:
    from traffic.nic.requester import Requester

ALPHA_ONE = 1 << 32
PACKET = 1 << 16
"""One packet of W."""


@congestion_controls.register("dctcp")
class Dctcp(CongestionControl):
    """The window of one QP. `window` is in 2^-16 packets, `alpha` in 2^-32."""

    __slots__ = (
        "_acknowledged", "_g", "_marked", "_maximum_bytes", "_minimum_bytes", "_mtu", "_reduced_until", "_start_bytes",
        "_unacknowledged", "_window_end", "alpha", "window",
    )  # fmt: skip

    kind = "dctcp"

    def __init__(self, options: DctcpOptions) -> None:
        super().__init__()
        self._g = max(1, round(options.g * ALPHA_ONE))
        self._start_bytes, self._maximum_bytes = options.initial_window, options.max_window
        self.alpha = ALPHA_ONE
        self.window = PACKET
        self._mtu = 1
        self._minimum_bytes = options.initial_window
        self._marked = self._acknowledged = 0  # packets of the present window
        self._unacknowledged = self._window_end = self._reduced_until = 0  # sequences

    @classmethod
    def make(cls, options: DctcpOptions, line_rate_bps: int) -> Dctcp:  # noqa: ARG003 - the plug-in's signature
        return cls(options)

    @classmethod
    def feedback(cls, options: DctcpOptions) -> Feedback:  # noqa: ARG003 - the plug-in's signature
        return Feedback(echo=True)

    # --- what happens -------------------------------------------------------------------------------------------------

    def on_start(self, requester: Requester) -> None:
        self._mtu = requester.mtu
        self._set_window(requester, self._start_bytes // self._mtu * PACKET, requester.now)

    def on_ecn_echo(self, requester: Requester, packets: int, now: int) -> None:  # noqa: ARG002 - the hook's signature
        self._marked += packets

    def on_ack(self, requester: Requester, now: int) -> None:
        newly = requester.unacknowledged - self._unacknowledged
        self._unacknowledged = requester.unacknowledged
        self._acknowledged += newly
        if not self._marked and requester.unacknowledged > self._reduced_until:
            self._set_window(requester, self.window + newly * PACKET * PACKET // self.window, now)
        if requester.unacknowledged > self._window_end:
            self._end_window(requester, now)

    def on_nak(self, requester: Requester, sequence: int, now: int) -> None:  # noqa: ARG002 - the hook's signature
        if requester.unacknowledged >= self._reduced_until:
            self._reduced_until = requester.next_sequence
            self._set_window(requester, self.window // 2, now)

    def on_timeout(self, requester: Requester, now: int) -> None:
        self._reduced_until = requester.next_sequence
        self._set_window(requester, PACKET, now)

    # --- the window ---------------------------------------------------------------------------------------------------

    def _end_window(self, requester: Requester, now: int) -> None:
        """Everything that was on its way when this window began is acknowledged: learn, react, begin the next."""
        share = min(self._marked, self._acknowledged) * ALPHA_ONE // self._acknowledged
        self.alpha += (share - self.alpha) * self._g // ALPHA_ONE
        if self._marked:
            self._set_window(requester, self.window * (2 * ALPHA_ONE - self.alpha) // (2 * ALPHA_ONE), now)
        self._marked = self._acknowledged = 0
        self._window_end = requester.next_sequence

    def _set_window(self, requester: Requester, window: int, now: int) -> None:
        """Let the window be at least one packet and at most `max_window`."""
        most = max(self._maximum_bytes // self._mtu, 1) * PACKET
        window = max(min(window, most), PACKET)
        if window == self.window and requester.window == window // PACKET:
            return
        self.window = window
        requester.window = window // PACKET
        self._minimum_bytes = min(self._minimum_bytes, self._window_bytes)
        if self._samples is not None:
            self._sample(now)

    @property
    def _window_bytes(self) -> int:
        return self.window * self._mtu // PACKET

    # --- what came of it ----------------------------------------------------------------------------------------------

    def log_data(self) -> Mapping[str, float]:
        return {"window_bytes": self._window_bytes, "alpha": self.alpha / ALPHA_ONE}

    @property
    def minimum(self) -> int:
        return self._minimum_bytes
