"""What a plug-in of a queue pair can hear: hooks named for what happened, which by default do nothing.

Loss recovery (`traffic.nic.recovery`) decides what is sent again. Congestion control (`traffic.nic.congestion`) decides
when the next packet may go, by setting the requester's `not_before_ps`: the NIC's scheduler leaves a QP out until then;
or how many may be on their way, by setting its `window`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traffic.nic.requester import Requester


class Hooks:
    """The hooks. `now` is the model time in picoseconds; a `sequence` counts a QP's packets from 0 and never wraps."""

    __slots__ = ()

    def on_bytes_sent(self, requester: "Requester", size_bytes: int, now: int) -> None:
        """A data packet, of `size_bytes` as a frame without FCS, has been handed to the wire."""

    def on_ack(self, requester: "Requester", now: int) -> None:
        """Packets before `requester.unacknowledged` have newly been acknowledged."""

    def on_ecn_echo(self, requester: "Requester", packets: int, now: int) -> None:
        """Of the packets that are about to be acknowledged, `packets`, all of them, were marked; `on_ack` follows."""

    def on_nak(self, requester: "Requester", sequence: int, now: int) -> None:
        """The responder misses the packet `sequence`, and has everything before it."""

    def on_timeout(self, requester: "Requester", now: int) -> None:
        """No acknowledgement came for the local ACK timeout."""

    def on_cnp(self, requester: "Requester", now: int) -> None:
        """The responder says that a packet was marked: congestion experienced."""
