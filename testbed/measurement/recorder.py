"""Notes every lost frame while the model runs: when, where, why, and which packet it was."""

from collections.abc import Mapping
from ipaddress import ip_address

from testbed.engine.frame import Frame
from testbed.engine.impairments import frame_kind
from testbed.engine.loop import EventLoop
from testbed.fabric.plan import FabricPlan
from testbed.measurement.records import DropRecord
from traffic.nic.replayed import note_loss
from traffic.wire.packet import MalformedPacket, RocePacket, addresses, parse


class DropRecorder:
    """Collects a `DropRecord` for each lost frame; `on_drop` is what the engine calls."""

    def __init__(self, plan: FabricPlan, loop: EventLoop) -> None:
        self._loop = loop
        self._host_of = _hosts_by_address(plan)
        self.records: list[DropRecord] = []

    def on_drop(self, where: str, reason: str, frame: Frame) -> None:
        """A frame was lost at `where` for `reason`."""
        note_loss(frame, reason)
        packet = _packet(frame)
        ends = addresses(frame.data) or (b"", b"")
        self.records.append(
            DropRecord(
                time_ps=self._loop.now,
                where=where,
                reason=reason,
                kind=frame_kind(frame),
                source=self._host_of.get(ends[0]),
                destination=self._host_of.get(ends[1]),
                qp=packet.destination_qp if packet else None,
                psn=packet.psn if packet else None,
            )
        )


def _packet(frame: Frame) -> RocePacket | None:
    try:
        return parse(frame.data)
    except MalformedPacket:
        return None


def _hosts_by_address(plan: FabricPlan) -> Mapping[bytes, str]:
    return {ip_address(text).packed: nic.host for nic in plan.nics for text in (nic.ipv4, nic.ipv6)}
