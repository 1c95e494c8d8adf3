"""A switch whose lossless priorities are virtual lanes with credits.

A frame stays in the lane in which its NIC has sent it, as an InfiniBand packet has its service level in its own header:
a DSCP that OpenFlow rewrites does not move it to another.
"""

from collections.abc import Mapping
from dataclasses import replace

from testbed.engine.credit.end import CreditEnd
from testbed.engine.credit.group import CreditedGroup
from testbed.engine.credit.scheduler import CreditScheduler
from testbed.engine.forwarding import Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.qos_switch import Classes, QosPort, QosSwitch
from testbed.engine.statistics import CreditStatistics, PortStatistics
from testbed.engine.switch import DropHandler
from testbed.engine.transmitter import Transmitter
from testbed.fabric import plan
from testbed.fabric.buffers import MemoryPlan


class CreditPort(QosPort):
    """A port at `end` of its link."""

    __slots__ = ("end",)

    end: CreditEnd

    def receive(self, frame: Frame) -> None:
        """A frame's last bit has arrived: it enters the buffer of its lane, or the memory if it has none."""
        self.received_frames += 1
        frame.held_bytes = size = len(frame.data)
        frame.group = group = self.groups[frame.priority]
        switch = self._switch
        reason = group.admit(size)
        if reason is not None:
            self.dropped[reason] = self.dropped.get(reason, 0) + 1
            switch._on_drop(self.name, reason, frame)
            return
        self._submit(self.number, frame)
        loop = switch.loop
        loop.at(loop.now + switch.latency_ps, switch.forward_handler, frame)

    def statistics(self) -> PortStatistics:
        """Return a frozen snapshot of the port's counters."""
        return replace(super().statistics(), credits=credit_statistics(self.end))


def credit_statistics(end: CreditEnd) -> tuple[CreditStatistics, ...]:
    """Return the credits of each lane at `end`."""
    sending = end.sending
    return tuple(
        CreditStatistics(
            priority=priority,
            credit_wait_ps=sending.wait_ps(priority),
            credit_waits=sending.waits(priority),
            waiting=sending.held(priority),
            credits_blocks=sending.credits(priority),
            buffer_blocks=lane.size_blocks,
            held_blocks=lane.used_blocks,
            peak_blocks=lane.peak_blocks,
        )
        for priority, lane in end.lanes.items()
    )


class CreditSwitch(QosSwitch):
    """A switch with one of `ends` at each of its ports, by the ports' names."""

    __slots__ = ("_ends",)

    scheduler_class = CreditScheduler
    port_class = CreditPort

    def __init__(
        self,
        loop: EventLoop,
        planned: plan.Switch,
        memory: MemoryPlan,
        classes: Classes,
        forwarder: Forwarder,
        on_drop: DropHandler,
        ends: Mapping[str, CreditEnd],
    ) -> None:
        self._ends = ends
        super().__init__(loop, planned, memory, classes, forwarder, on_drop)

    def add_port(self, number: int, transmitter: Transmitter) -> CreditPort:
        """Give the switch a port that sends by `transmitter`."""
        port, end = super().add_port(number, transmitter), self._ends[transmitter.name]
        assert isinstance(port, CreditPort)
        assert isinstance(port.scheduler, CreditScheduler)
        port.end = port.scheduler.end = end
        ports = len(self._memory_plan.headroom_bytes)
        port.groups = tuple(
            CreditedGroup(self.shared, number, ports, end.lanes[group.priority])
            if group.priority in end.lanes
            else group
            for group in port.groups
        )
        return port
