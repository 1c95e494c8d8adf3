"""Flow control of a whole fabric: gives every port its receiver, every switch port its sender and watchdog.

A NIC has a receiver, as switches pause it, and a sender only if a fault makes it pause its switch.
"""

from collections.abc import Callable, Mapping

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.pause.deadlock import DeadlockSearch
from testbed.engine.pause.frames import ALL_PRIORITIES, GLOBAL
from testbed.engine.pause.journal import Journal
from testbed.engine.pause.monitor import PauseMonitor
from testbed.engine.pause.receiver import PauseReceiver
from testbed.engine.pause.sender import PauseSender
from testbed.engine.pause.storm import PauseStorm
from testbed.engine.pause.watchdog import Watchdog
from testbed.engine.qos_switch import QosPort, QosSwitch, pause_statistics
from testbed.engine.reasons import PFC_WATCHDOG
from testbed.engine.statistics import PauseStatistics
from testbed.engine.transmitter import Transmitter
from testbed.fabric.buffers import pause_ps
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import PauseStorm as StormFault
from testbed.scenario.qos import PfcOptions, QosOptions, WatchdogOptions

DropHandler = Callable[[str, str, Frame], None]

_PAUSES_OF_PATIENCE = 4
"""Pause times without any movement after which nothing more is expected."""


class FlowControl:
    """What pauses what in one fabric.

    Attributes:
        receivers: of every port, by its name. senders: of every switch port, and of NICs with a storm.
        journal: who paused whom. monitor: finds deadlocks and the end.
    """

    def __init__(
        self,
        plan: FabricPlan,
        loop: EventLoop,
        qos: QosOptions,
        pfc: PfcOptions,
        transmitters: Mapping[str, Transmitter],
        switches: Mapping[str, QosSwitch],
        on_drop: DropHandler,
    ) -> None:
        self.journal = Journal()
        self.receivers: dict[str, PauseReceiver] = {}
        self.senders: dict[str, PauseSender] = {}
        self._plan = plan
        self._loop = loop
        self._pfc = pfc
        self._transmitters = transmitters
        self._ports = {port.name: port for switch in switches.values() for port in switch.qos_ports()}
        self._lossless = tuple(sorted(set(qos.lossless)))
        self._add_receivers()
        self.monitor = self._monitor(switches)
        for port in self._ports.values():
            self._add_sender(port)
            if pfc.watchdog is not None:
                self._add_watchdog(port, pfc.watchdog, on_drop)

    def _add_receivers(self) -> None:
        per_priority = self._pfc.kind == "pfc"
        enabled = sum(1 << priority for priority in self._lossless) if per_priority else ALL_PRIORITIES
        for name, transmitter in self._transmitters.items():
            self.receivers[name] = PauseReceiver(self._loop, transmitter, enabled, self._pfc.response)
            if name in self._ports:
                self._ports[name].receiver = self.receivers[name]
                self._ports[name].far_end = self._plan.far_end(name).name
        for name, transmitter in self._transmitters.items():
            transmitter.connect_control(self.receivers[self._plan.far_end(name).name].receive)

    def _monitor(self, switches: Mapping[str, QosSwitch]) -> PauseMonitor:
        slowest = min(transmitter.rate_bps for transmitter in self._transmitters.values())
        patience = _PAUSES_OF_PATIENCE * pause_ps(self._pfc.quanta, slowest)
        watchdog = self._pfc.watchdog
        if watchdog is not None:
            patience += 2 * (watchdog.detect + watchdog.restore + 2 * watchdog.poll)
        return PauseMonitor(
            self._loop,
            DeadlockSearch(switches, self._ports),
            tuple(self._transmitters.values()),
            tuple(self._ports.values()),
            patience,
            breaks_deadlocks=watchdog is not None and watchdog.action != "alert",
        )

    def _add_sender(self, port: QosPort) -> None:
        mac = self._plan.switch_by_name[self._plan.far_end(port.far_end).node].mac
        port.on_refresh = self.monitor.look
        port.sender = self.senders[port.name] = PauseSender(
            self._loop, port.transmitter, port.far_end, mac, self._pfc, self.journal, port.before_refresh
        )

    def _add_watchdog(self, port: QosPort, options: WatchdogOptions, on_drop: DropHandler) -> None:
        def drop(frame: Frame) -> None:
            on_drop(port.name, PFC_WATCHDOG, frame)

        assert port.receiver is not None
        port.watchdog = Watchdog(self._loop, options, port.receiver, port.scheduler, self._lossless, self.journal, drop)

    def storm(self, fault: StormFault) -> None:
        """Make the NIC at `fault.port` pause its switch."""
        if fault.port not in self.senders:
            mac, far_end = self._plan.nic_by_name[fault.port].mac, self._plan.far_end(fault.port).name
            self.senders[fault.port] = PauseSender(
                self._loop, self._transmitters[fault.port], far_end, mac, self._pfc, self.journal, self._look
            )
        PauseStorm(self._loop, self.senders[fault.port], fault.priority, fault.at, fault.until)

    def _look(self, priority: int) -> None:  # noqa: ARG002 - what a sender calls
        self.monitor.look()

    def statistics(self, port: str) -> tuple[PauseStatistics, ...]:
        """Return the pause counters of a port, a NIC's too."""
        return pause_statistics(self.senders.get(port), self.receivers[port])

    def unbalanced(self) -> list[tuple[str, str]]:
        """Return (port, what is wrong) wherever pause frames sent are not those received at the other end.

        Call when none is on a wire. Links that lose frames are left out; a controller's own pause frames are received
        beside the port's.
        """
        found = []
        for name, sender in self.senders.items():
            receiver = self.receivers[self._plan.far_end(name).name]
            if self._transmitters[name].lost:
                continue
            for key in range(GLOBAL + 1):
                sent = sender.xoff_frames[key] + sender.xon_frames[key]
                received = receiver.xoff_frames[key] + receiver.xon_frames[key]
                asked = name in self._ports and self._ports[name].emitted_control_frames
                if received < sent or (received > sent and not asked):
                    found.append((name, f"{sent} pause frames of priority {key} sent, {received} received"))
        return found
