"""What a policy sees: the counters of one control interval, taken from the engine's, which only grow.

Each look takes a snapshot of every switch (`Switch.statistics`) and subtracts the one before. Nothing here schedules an
event or changes a count, so a run that is only looked at is the run that is not; watermarks are the one thing that a
look begins anew.

Known limits: without traffic classes there is one queue, which is shown as each priority's, and its watermark is the
larger of its levels at the interval's ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controllers.policy.telemetry import PRIORITIES, FlowTelemetry, PortTelemetry, QueueTelemetry, Telemetry
from testbed.control.actions import Ramp
from testbed.control.flows import FlowCounter
from testbed.engine.fabric import ModelFabric
from testbed.engine.statistics import GroupStatistics, PauseStatistics, PortStatistics, QueueStatistics
from testbed.fabric.plan import FabricPlan, Port
from testbed.units import SECOND


@dataclass(frozen=True, slots=True)
class _Look:
    """A port's cumulative counters at one time. `rx_pause` and `tx_pause` are by priority: frames, then picoseconds."""

    port: PortStatistics
    received_bytes: int
    dropped: Mapping[str, int]
    rx_pause: tuple[tuple[int, int], ...]
    tx_pause: tuple[tuple[int, int], ...]


class Observer:
    """Looks at the switches of `fabric`.

    `ramps` and `alphas` are the queues' and the ingress groups' thresholds, by port and priority, as they are now.
    """

    def __init__(
        self,
        plan: FabricPlan,
        fabric: ModelFabric,
        ramps: Mapping[tuple[str, int], Ramp],
        alphas: Mapping[tuple[str, int], float],
        *,
        flows: bool,
    ) -> None:
        self._plan = plan
        self._fabric = fabric
        self._ramps = ramps
        self._alphas = alphas
        self._ports = [port for switch in plan.switches for port in switch.ports]
        self._flows = {port.name: FlowCounter.on(fabric.transmitters[port.name]) for port in self._ports if flows}
        self._time_ps = 0
        self._before = self._look()

    def look(self) -> Telemetry:
        """Return what happened since the last look, and begin a new interval."""
        now, interval_ps = self._fabric.loop.now, self._fabric.loop.now - self._time_ps
        before, after = self._before, self._look()
        self._before, self._time_ps = after, now
        ports = tuple(self._port(port, before[port.name], after[port.name], interval_ps) for port in self._ports)
        for switch in self._fabric.switches.values():
            switch.clear_watermarks()
        return Telemetry(now, interval_ps, ports)

    # --- looking ------------------------------------------------------------------------------------------------------

    def _look(self) -> dict[str, _Look]:
        found: dict[str, _Look] = {}
        for switch in self._fabric.switches.values():
            for name, statistics in switch.statistics().ports.items():
                found[name] = _Look(
                    port=statistics,
                    received_bytes=self._fabric.transmitters[self._plan.far_end(name).name].sent_bytes,
                    dropped=self._dropped(name, statistics),
                    rx_pause=self._paused(name, statistics.pauses, received=True),
                    tx_pause=self._paused(self._plan.far_end(name).name, statistics.pauses, received=False),
                )
        return found

    def _dropped(self, name: str, statistics: PortStatistics) -> dict[str, int]:
        total: dict[str, int] = dict(self._fabric.transmitters[name].lost)
        counts = [each.dropped for each in statistics.queues] + [each.dropped for each in statistics.groups]
        for count in counts:
            for reason, frames in count.items():
                total[reason] = total.get(reason, 0) + frames
        return total

    def _paused(self, port: str, pauses: Iterable[PauseStatistics], *, received: bool) -> tuple[tuple[int, int], ...]:
        """Return frames and time of the pauses that `port`, this one or the far end, has had to obey."""
        control = self._fabric.flow_control
        if control is None:
            return ((0, 0),) * PRIORITIES
        receiver = control.receivers[port]
        return tuple(
            (
                each.in_pfc + each.in_pfc_xon if received else each.out_pfc + each.out_pfc_xon,
                receiver.duration_ps(each.priority),
            )
            for each in pauses
            if each.priority is not None
        )

    # --- differences --------------------------------------------------------------------------------------------------

    def _port(self, port: Port, before: _Look, after: _Look, interval_ps: int) -> PortTelemetry:
        sent = after.port.sent_bytes - before.port.sent_bytes
        could_send = after.port.rate_bps * interval_ps
        return PortTelemetry(
            name=port.name,
            switch=port.node,
            number=port.number,
            peer=self._plan.far_end(port.name).node,
            rate_bps=after.port.rate_bps,
            sent_bytes=sent,
            received_bytes=after.received_bytes - before.received_bytes,
            utilisation=round(min(sent * 8 * SECOND / could_send, 1.0), 6) if could_send else 0.0,
            dropped=_grown(before.dropped, after.dropped),
            queues=tuple(self._queue(port.name, priority, before, after) for priority in range(PRIORITIES)),
            flows=self._flows_at(port.name),
        )

    def _queue(self, port: str, priority: int, before: _Look, after: _Look) -> QueueTelemetry:
        index = priority if len(after.port.queues) > 1 else 0
        was, now = before.port.queues[index], after.port.queues[index]
        group = after.port.groups[priority] if after.port.groups else None
        group_was = before.port.groups[priority] if before.port.groups else None
        ramp = self._ramps.get((port, priority))
        rx, rx_was = after.rx_pause[priority], before.rx_pause[priority]
        tx, tx_was = after.tx_pause[priority], before.tx_pause[priority]
        return QueueTelemetry(
            priority=priority,
            queue_bytes=now.queue_bytes,
            watermark_bytes=now.watermark_bytes if group else max(was.queue_bytes, now.queue_bytes),
            ingress_bytes=group.held_bytes if group else 0,
            sent_bytes=now.out_bytes - was.out_bytes,
            ecn_marked_packets=now.ecn_marked_packets - was.ecn_marked_packets,
            dropped_packets=_dropped_of(now, group) - _dropped_of(was, group_was),
            rx_pause_frames=rx[0] - rx_was[0],
            tx_pause_frames=tx[0] - tx_was[0],
            rx_pause_ps=rx[1] - rx_was[1],
            tx_pause_ps=tx[1] - tx_was[1],
            lossless=group.lossless if group else False,
            kmin_bytes=ramp.kmin if ramp else None,
            kmax_bytes=ramp.kmax if ramp else None,
            pmax=ramp.pmax if ramp else None,
            ingress_alpha=self._alphas.get((port, priority)),
        )

    def _flows_at(self, port: str) -> tuple[FlowTelemetry, ...]:
        counter = self._flows.get(port)
        return counter.take() if counter else ()


def _dropped_of(queue: QueueStatistics, group: GroupStatistics | None) -> int:
    return sum(queue.dropped.values()) + (sum(group.dropped.values()) if group else 0)


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    grown = {reason: frames - before.get(reason, 0) for reason, frames in after.items()}
    return {reason: frames for reason, frames in grown.items() if frames}
