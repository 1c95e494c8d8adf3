"""Which bytes a data packet costs on its wire, here and in other simulators: what explains their completion times.

In a ring every NIC sends data to its right neighbour and acknowledges what comes from its left one, over the same wire.
So a wire carries with every data packet its share of an ACK:

    time of n packets = n * (data + ACK / packets that one ACK answers) * 8 / rate

A flow takes that, and then the way of its last packet, store and forward, to the receiver (`way_us`).
"""

from dataclasses import dataclass

RATE_BPS = 100_000_000_000
PAYLOAD_BYTES = 4096
DELAY_US = LATENCY_US = 0.5
"""Of each cable and of each switch in the scenarios of this folder."""

_FCS_PREAMBLE_GAP = 4 + 8 + 12
_ROCE_HEADERS = 14 + 20 + 8 + 12 + 4
"""Ethernet, IPv4, UDP, BTH and, behind the payload, the ICRC."""
_AETH = 4


@dataclass(frozen=True)
class Framing:
    """A simulator's frames: bytes on the wire of one that carries 4096 B, and of one ACK."""

    data_bytes: int
    ack_bytes: int

    def bytes_a_packet(self, ack_every: int) -> float:
        """Return what a wire carries for each data packet when one ACK answers `ack_every` of them."""
        return self.data_bytes + self.ack_bytes / ack_every

    def wire_us(self, packets: int, ack_every: int) -> float:
        """Return how long a wire is busy with `packets` and their ACKs, in microseconds."""
        return packets * self.bytes_a_packet(ack_every) * 8 / RATE_BPS * 1e6


ROCELAB = Framing(
    data_bytes=_ROCE_HEADERS + PAYLOAD_BYTES + _FCS_PREAMBLE_GAP, ack_bytes=_ROCE_HEADERS + _AETH + _FCS_PREAMBLE_GAP
)


def way_us(links: int) -> float:
    """Return the way of a last packet over `links` after its NIC has sent it: each further link's serialisation, and
    the latencies."""
    serialisation = ROCELAB.data_bytes * 8 / RATE_BPS * 1e6
    return (links - 1) * (serialisation + LATENCY_US) + links * DELAY_US
