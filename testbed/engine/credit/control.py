"""Credits of a whole fabric: an end for every port, NICs behind theirs, and what looks for deadlocks."""

from collections.abc import Mapping, Sequence

from testbed.engine.credit.deadlock import CreditDeadlockSearch
from testbed.engine.credit.end import CreditEnd
from testbed.engine.credit.nic import CreditedNic
from testbed.engine.credit.switch import CreditSwitch, credit_statistics
from testbed.engine.loop import EventLoop
from testbed.engine.pause.monitor import PauseMonitor
from testbed.engine.qos_switch import QosPort
from testbed.engine.reasons import VL_BUFFER_FULL
from testbed.engine.statistics import CreditStatistics
from testbed.engine.transmitter import Endpoint, Transmitter
from testbed.fabric.buffers import largest_frame_bytes, vl_buffer_bytes
from testbed.fabric.plan import FabricPlan, Port
from testbed.scenario.qos import CreditOptions, QosOptions

_UPDATES_OF_PATIENCE = 100
"""Update intervals without any movement after which nothing more is expected."""


class CreditControl:
    """Who has credit for what in one fabric. `mtu` is the payload of the largest RDMA packet.

    Attributes:
        ends: of every port, by its name. monitor: finds deadlocks and the end; there is one from `watch` on.
    """

    monitor: PauseMonitor

    def __init__(
        self,
        plan: FabricPlan,
        loop: EventLoop,
        qos: QosOptions,
        options: CreditOptions,
        transmitters: Mapping[str, Transmitter],
        mtu: int,
    ) -> None:
        self.ends: dict[str, CreditEnd] = {}
        self._plan = plan
        self._loop = loop
        self._options = options
        self._transmitters = transmitters
        self._frame_bytes = largest_frame_bytes(mtu, plan.ip_version)
        self._ports: Sequence[QosPort] = ()
        for link in plan.links:
            for near, far in ((link.a, link.b), (link.b, link.a)):
                self.ends[near.name] = CreditEnd(
                    loop,
                    transmitters[near.name],
                    self._mac(near),
                    sorted(set(qos.lossless)),
                    options,
                    self._buffer_bytes(near),
                    self._buffer_bytes(far),
                )
        for name, end in self.ends.items():
            end.far = self.ends[plan.far_end(name).name]

    def _mac(self, port: Port) -> str:
        switch = self._plan.switch_by_name.get(port.node)
        return self._plan.nic_by_name[port.name].mac if switch is None else switch.mac

    def _buffer_bytes(self, port: Port) -> int:
        """The buffer of a lane at `port`: a NIC's is freed at once."""
        switch = self._plan.switch_by_name.get(port.node)
        latency_ps = 0 if switch is None else switch.latency_ps
        return vl_buffer_bytes(self._plan.link_at[port.name], latency_ps, self._options, self._frame_bytes)

    def behind(self, nics: Mapping[str, Endpoint]) -> dict[str, Endpoint]:
        """Return the NICs, each behind its end of its link."""
        return {name: CreditedNic(self._loop, nic, self.ends[name]) for name, nic in nics.items()}

    def watch(self, switches: Mapping[str, CreditSwitch]) -> None:
        """Let updates arrive, and look for deadlocks: all ports are there and connected."""
        ports = {port.name: port for switch in switches.values() for port in switch.qos_ports()}
        self._ports = tuple(ports.values())
        for name, port in ports.items():
            port.far_end = self._plan.far_end(name).name
        self.monitor = PauseMonitor(
            self._loop,
            CreditDeadlockSearch(switches, ports),
            tuple(self._transmitters.values()),
            self._ports,
            _UPDATES_OF_PATIENCE * self._options.update,
            breaks_deadlocks=False,
        )
        for name, end in self.ends.items():
            end.on_tick = self.monitor.look
            self._transmitters[name].connect_control(self.ends[self._plan.far_end(name).name].receive)

    def statistics(self, port: str) -> tuple[CreditStatistics, ...]:
        """Return the credits of each lane of a port, a NIC's too."""
        return credit_statistics(self.ends[port])

    def unbalanced(self) -> list[tuple[str, str]]:
        """Return (port, what is wrong) wherever the counts of two ends differ, or a buffer has overflowed.

        Call when nothing is on a wire; updates may be due still.
        """
        found = []
        for name, end in self.ends.items():
            lost = self._transmitters[name].lost
            for priority, lane in end.far.lanes.items():
                sent, limit = end.sending.sent[priority], end.sending.limit[priority]
                if sent != lane.received and not lost:
                    found.append((name, f"lane {priority}: {sent} blocks sent, {lane.received} received"))
                if limit != lane.limit and not end.far.has_update_due:
                    found.append((name, f"lane {priority}: the limit is {lane.limit}, but {limit} is the last known"))
            if not lost and end.updates_sent != end.far.updates_received:
                found.append((name, f"{end.updates_sent} updates sent, {end.far.updates_received} received"))
        found += [(port.name, "a lane's buffer was full") for port in self._ports if VL_BUFFER_FULL in port.dropped]
        return found
