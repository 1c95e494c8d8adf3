"""How a switch's packet memory is divided, and how much headroom a lossless priority needs: arithmetic on the plan.

    buffer = reserved minimum of each (port, priority)  +  headroom of each lossless (port, priority)  +  shared rest

Headroom is for what still arrives after the frame that made the switch send XOFF. In the worst case, from the last bit
of that frame (t0) on, for a link of rate R and delay D, largest frame M (on the wire: W), smallest frame 84 B on the
wire:

    W / R       the wire back has just begun a largest frame
    84 B / R    the pause frame itself goes next, ahead of everything
    D           the pause frame is on its way
    response    the sender obeys so long after its last bit
    D           what the sender sent in all this time is still on its way when it stops

So the sender starts frames for a window of X = (W + 84 B) / R + 2 D + response after the frame that crossed the
threshold; one that it starts in the window's last instant is sent in full. X holds R * X / 8 bytes of wire, of which 24
of each frame are not stored (preamble, FCS, gap). Fewest frames store most bytes: q largest ones, and the rest of r
bytes in one more frame, with R * X / 8 = q W + r; a rest of less than 24 B stores nothing, and the last frame then
starts before the window's last instant. With the crossing frame, which is itself the first in the headroom:

    headroom = q M + max(r - 24, 0) + 2 M

With credits instead of PFC, the headroom of a port is its virtual lanes' receive buffers, whose bytes are counted in
blocks of 64. From the start of a frame until the update that returns its credit has come back passes the loop

    T = W / R + D + L     its own time on the wire, its way, and the switch's latency L (a NIC has none)
      + W / R             the wire back has just begun a largest frame
      + 84 B / R + D      the update

and if an update is sent for every k frames, the first of them waits for k - 1 more. So at full rate, frames take

    ceil(T * R / W) + k - 1     buffers of a largest frame each

References: IEEE 802.1Q annex on PFC's buffer requirements has the same terms; SONiC's buffer_headroom_mellanox.lua adds
those of its chips' pipelines.
Known limits: memory is counted in bytes, not in cells; other MAC control frames than this port's own (a policy's) are
not allowed for.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.fabric.plan import FabricPlan, Link, Switch
from testbed.scenario.qos import PRIORITIES, CreditOptions, PfcOptions, QosOptions
from testbed.units import SECOND, serialisation_ps

WIRE_OVERHEAD_BYTES = 24
"""FCS, preamble and gap: on the wire, but not in the memory."""

CONTROL_FRAME_WIRE_BYTES = 84
"""A PFC or PAUSE frame, or a credit update, on the wire: the shortest frame."""

BLOCK_BYTES = 64
"""What credits count."""

MOST_BLOCKS = 2048
"""The most blocks that may be advertised for a virtual lane: 128 KiB."""

_ETHERNET_BYTES, _ICRC_BYTES, _UDP_BYTES = 14, 4, 8
_LONGEST_TRANSPORT_HEADERS_BYTES = 12 + 16 + 4
"""BTH, RETH and immediate data: a WRITE of one packet with immediate."""
_IP_BYTES = {4: 20, 6: 40}


def largest_frame_bytes(mtu: int, ip_version: int) -> int:
    """Return the size, without FCS, of the longest RoCEv2 frame with `mtu` bytes of payload."""
    headers = _ETHERNET_BYTES + _IP_BYTES[ip_version] + _UDP_BYTES + _LONGEST_TRANSPORT_HEADERS_BYTES
    return headers + mtu + _ICRC_BYTES


def headroom_bytes(rate_bps: int, delay_ps: int, response_ps: int, frame_bytes: int) -> int:
    """Return the bytes that can arrive from the frame that crosses the threshold on, until the sender has stopped.

    `frame_bytes` is the largest frame without FCS, `response_ps` the sender's time from a pause frame's last bit to its
    obedience. The module's head has the derivation.
    """
    wire_bytes = frame_bytes + WIRE_OVERHEAD_BYTES
    on_wire_back_ps = serialisation_ps(wire_bytes, rate_bps) + serialisation_ps(CONTROL_FRAME_WIRE_BYTES, rate_bps)
    window_ps = on_wire_back_ps + 2 * delay_ps + response_ps
    window_bytes = window_ps * rate_bps // (8 * SECOND)
    full_frames, rest_bytes = divmod(window_bytes, wire_bytes)
    return full_frames * frame_bytes + max(rest_bytes - WIRE_OVERHEAD_BYTES, 0) + 2 * frame_bytes


def vl_buffer_bytes(link: Link, latency_ps: int, credits: CreditOptions, frame_bytes: int) -> int:
    """Return the receive buffer of a virtual lane at either end of `link`, behind which a frame waits `latency_ps`.

    `frame_bytes` is the largest frame without FCS. The module's head has the derivation; a buffer never exceeds what
    can be advertised.
    """
    if credits.vl_buffer != "auto":
        return credits.vl_buffer
    wire_ps = serialisation_ps(frame_bytes + WIRE_OVERHEAD_BYTES, link.rate_bps)
    update_ps = serialisation_ps(CONTROL_FRAME_WIRE_BYTES, link.rate_bps)
    loop_ps = 2 * wire_ps + update_ps + 2 * link.delay_ps + latency_ps
    blocks = -(-frame_bytes // BLOCK_BYTES)
    frames_an_update = max(-(-credits.growth // (blocks * BLOCK_BYTES)), 1)
    frames = -(-loop_ps // wire_ps) + frames_an_update - 1
    return min(frames * blocks, MOST_BLOCKS) * BLOCK_BYTES


@dataclass(frozen=True)
class MemoryPlan:
    """A switch's memory, divided.

    Attributes:
        buffer_bytes: all of it. reserved_bytes: the minimum of each (port, priority).
        headroom_bytes: by port name, of each lossless priority there: for what comes after XOFF, or a virtual lane's
            buffer. lossless: how many priorities are.
    """

    buffer_bytes: int
    reserved_bytes: int
    headroom_bytes: Mapping[str, int]
    lossless: int

    @property
    def all_reserved_bytes(self) -> int:
        """The reserved minimums of all ports and priorities."""
        return len(self.headroom_bytes) * PRIORITIES * self.reserved_bytes

    @property
    def all_headroom_bytes(self) -> int:
        """The headroom of all ports and lossless priorities."""
        return self.lossless * sum(self.headroom_bytes.values())

    @property
    def shared_bytes(self) -> int:
        """What is left for all; a switch whose memory is too small has less than nothing."""
        return self.buffer_bytes - self.all_reserved_bytes - self.all_headroom_bytes


def memory_plan(plan: FabricPlan, switch: Switch, qos: QosOptions, mtu: int) -> MemoryPlan:
    """Divide the memory of `switch` for the classes of `qos`; `mtu` is the payload of the largest RDMA packet."""
    frame_bytes = largest_frame_bytes(mtu, plan.ip_version)
    headroom = {
        port.name: _headroom(plan.link_at[port.name], switch.latency_ps, qos, frame_bytes) for port in switch.ports
    }
    lossless = len(set(qos.lossless)) if qos.has_flow_control else 0
    return MemoryPlan(switch.buffer_bytes, qos.reserved, headroom, lossless)


def _headroom(link: Link, latency_ps: int, qos: QosOptions, frame_bytes: int) -> int:
    if qos.credits is not None:
        return vl_buffer_bytes(link, latency_ps, qos.credits, frame_bytes)
    return 0 if qos.pfc is None else _pause_headroom(link, qos.pfc, frame_bytes)


def _pause_headroom(link: Link, pfc: PfcOptions, frame_bytes: int) -> int:
    if pfc.headroom != "auto":
        return pfc.headroom
    return headroom_bytes(link.rate_bps, link.delay_ps, pfc.response, frame_bytes)


def pause_ps(quanta: int, rate_bps: int) -> int:
    """Return how long `quanta` of pause last: 512 bit times each, rounded up to a picosecond."""
    return -(-quanta * 512 * SECOND // rate_bps)
