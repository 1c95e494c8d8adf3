"""A switch with traffic classes: shared memory, eight queues a port, ECN, and flow control towards its neighbours.

    receive --> class of the frame --> ingress group: admitted, or dropped (`shared_full`, `headroom_full`)
       |                                  |-> in the headroom: the port's sender pauses the far end
       |-> forwarder; one latency later --> egress queue: marked, dropped (`egress_threshold`, `wred`), or in line
    wire free --> scheduler (paused priorities left out) --> memory freed --> the far end may go on

The priority of a frame is that of the DSCP with which it arrives; what OpenFlow rewrites counts at the next switch.

Known limits: a frame that the switch emits itself (a packet-out) is counted on a port 0 of its own, which is never
paused and has no reserved bytes of a real port.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from testbed.engine.buffer.ingress import IngressGroup
from testbed.engine.buffer.marking import Ramp
from testbed.engine.buffer.memory import Alpha, SharedMemory
from testbed.engine.buffer.queue import ClassQueue
from testbed.engine.buffer.scheduler import PortScheduler
from testbed.engine.classes import priority_by_traffic_class, traffic_class
from testbed.engine.forwarding import DROPPED, PENDING, Forwarder
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.pause.frames import GLOBAL
from testbed.engine.pause.journal import Cause
from testbed.engine.pause.receiver import PauseReceiver
from testbed.engine.pause.sender import PauseSender
from testbed.engine.pause.watchdog import Watchdog
from testbed.engine.statistics import (
    GroupStatistics,
    PauseStatistics,
    PortStatistics,
    QueueStatistics,
    SwitchStatistics,
)
from testbed.engine.switch import DropHandler, Switch, SwitchPort
from testbed.engine.transmitter import Transmitter
from testbed.fabric import plan
from testbed.fabric.buffers import MemoryPlan
from testbed.scenario.qos import PRIORITIES, EcnOptions, QosOptions

_PROCESSOR = 0
"""The port number on which frames of the switch's own are counted."""


@dataclass(frozen=True)
class Classes:
    """What all switches of a fabric share: the options, the largest frame (without FCS) and the seed of random
    marks."""

    options: QosOptions
    largest_frame_bytes: int
    seed: int


class QosPort(SwitchPort):
    """A port with eight ingress groups and eight egress queues.

    `sender`, `receiver` and `watchdog` are None without flow control (and watchdog). `far_end` is the port at the other
    end of the link, `on_refresh` is called whenever a pause of this port's is prolonged; both are set with flow
    control.
    """

    __slots__ = ("_priority_of", "far_end", "groups", "on_refresh", "receiver", "scheduler", "sender", "watchdog")

    def __init__(
        self,
        switch: "QosSwitch",
        number: int,
        transmitter: Transmitter,
        scheduler: PortScheduler,
        groups: Sequence[IngressGroup],
        priority_of: bytes,
    ) -> None:
        super().__init__(switch, number, transmitter, scheduler)
        self.scheduler = scheduler
        self.groups = tuple(groups)
        self.far_end = ""
        self.sender: PauseSender | None = None
        self.receiver: PauseReceiver | None = None
        self.watchdog: Watchdog | None = None
        self.on_refresh: Callable[[], None] | None = None
        self._priority_of = priority_of

    def receive(self, frame: Frame) -> None:
        """A frame's last bit has arrived: it enters the memory or is dropped, then as in any switch."""
        self.received_frames += 1
        data = frame.data
        if data[12] == 0x08 and data[13] == 0x00:
            priority = self._priority_of[data[15]]
        else:
            priority = self._priority_of[traffic_class(data) or 0]
        frame.priority = priority
        frame.held_bytes = size = len(data)
        frame.group = group = self.groups[priority]
        switch = self._switch
        reason = group.admit(size)
        if reason is not None:
            self.dropped[reason] = self.dropped.get(reason, 0) + 1
            switch._on_drop(self.name, reason, frame)
            return
        self._submit(self.number, frame)
        loop = switch.loop
        loop.at(loop.now + switch.latency_ps, switch.forward_handler, frame)

    # --- flow control: what the ingress groups ask for ----------------------------------------------------------------

    def congested(self, group: IngressGroup) -> None:
        """A group has gone into its headroom: pause the far end."""
        assert self.sender is not None
        self.sender.pause(group.priority, self._causes(group))

    def relieved(self, group: IngressGroup) -> None:
        """A group is below its resume point: let the far end go on."""
        assert self.sender is not None
        self.sender.resume(group.priority)

    def before_refresh(self, priority: int) -> None:
        """A pause is about to be prolonged: the group's threshold may have risen meanwhile."""
        self.groups[priority].resume_if_relieved()
        if self.on_refresh is not None:
            self.on_refresh()

    def _causes(self, group: IngressGroup) -> tuple[Cause, ...]:
        """In which queues the group's frames wait."""
        ports = self._switch.ports
        found = []
        for number, waiting in enumerate(group.waiting_bytes):
            if waiting:
                port = ports[number]
                assert isinstance(port, QosPort)
                is_paused = bool(port.transmitter.paused_mask >> group.priority & 1)
                found.append(Cause(port.name, waiting, port.far_end if is_paused else None))
        return tuple(found)

    # --- statistics ---------------------------------------------------------------------------------------------------

    def statistics(self) -> PortStatistics:
        """Return a frozen snapshot of the port's counters."""
        wire, watchdog = self.transmitter, self.watchdog
        return PortStatistics(
            name=self.name,
            rate_bps=wire.rate_bps,
            sent_bytes=wire.sent_bytes,
            sent_frames=wire.sent_frames,
            busy_ps=wire.busy_ps,
            paused_mask=wire.paused_mask,
            queues=tuple(self._queue_statistics(queue) for queue in self.scheduler.queues),
            groups=tuple(_group_statistics(group) for group in self.groups),
            pauses=pause_statistics(self.sender, self.receiver),
            storms_detected=watchdog.detected if watchdog else 0,
            storms_restored=watchdog.restored if watchdog else 0,
        )

    def _queue_statistics(self, queue: ClassQueue) -> QueueStatistics:
        return QueueStatistics(
            priority=queue.priority,
            queue_bytes=queue.bytes,
            watermark_bytes=queue.watermark_bytes,
            peak_bytes=queue.peak_bytes,
            out_packets=queue.left_frames,
            out_bytes=queue.left_bytes,
            ecn_marked_packets=queue.marked_frames,
            dropped=dict(queue.dropped),
            threshold_bytes=queue.threshold() if queue.limited else None,
            paused=bool(self.transmitter.paused_mask >> queue.priority & 1),
            in_storm=self.watchdog is not None and self.watchdog.in_storm(queue.priority),
        )


def _group_statistics(group: IngressGroup) -> GroupStatistics:
    return GroupStatistics(
        priority=group.priority,
        held_bytes=group.held_bytes,
        shared_bytes=group.shared_bytes,
        headroom_bytes=group.headroom_used_bytes,
        headroom_peak_bytes=group.headroom_peak_bytes,
        headroom_limit_bytes=group.headroom_bytes,
        threshold_bytes=group.threshold(),
        lossless=group.lossless,
        xoff=group.xoff,
        dropped=dict(group.dropped),
    )


def pause_statistics(sender: PauseSender | None, receiver: PauseReceiver | None) -> tuple[PauseStatistics, ...]:
    """Return the pause counters of a port that has `sender` and `receiver`: one a priority, and PAUSE's last."""
    if receiver is None:
        return ()
    sent = (sender.xoff_frames, sender.xon_frames) if sender else ([0] * (GLOBAL + 1),) * 2
    return tuple(
        PauseStatistics(
            priority=None if key == GLOBAL else key,
            in_pfc=receiver.xoff_frames[key],
            in_pfc_xon=receiver.xon_frames[key],
            out_pfc=sent[0][key],
            out_pfc_xon=sent[1][key],
            rx_pfc_duration_ps=0 if key == GLOBAL else receiver.duration_ps(key),
            rx_pfc_transitions=0 if key == GLOBAL else receiver.transitions[key],
        )
        for key in range(GLOBAL + 1)
    )


class QosSwitch(Switch):
    """A switch whose ports have traffic classes. Its ports are `QosPort`s."""

    __slots__ = ("_classes", "_memory_plan", "_priority_of", "_processor_groups", "_randoms", "shared")

    def __init__(
        self,
        loop: EventLoop,
        planned: plan.Switch,
        memory: MemoryPlan,
        classes: Classes,
        forwarder: Forwarder,
        on_drop: DropHandler,
    ) -> None:
        """A switch without ports yet; `memory` is how its packet memory is divided (some must be left to share)."""
        if memory.shared_bytes <= 0:
            raise ValueError(f"{planned.name}: reserved minimums and headroom leave no memory to share")
        super().__init__(loop, planned.name, planned.latency_ps, planned.buffer_bytes, forwarder, on_drop)
        self.memory = self.shared = SharedMemory(planned.buffer_bytes, memory.shared_bytes)
        self._memory_plan = memory
        self._classes = classes
        self._priority_of = priority_by_traffic_class(classes.options.dscp)
        self._randoms: dict[str, Random] = {}
        self._processor_groups = self._groups(_PROCESSOR, 0)

    # --- building -----------------------------------------------------------------------------------------------------

    scheduler_class: ClassVar[type[PortScheduler]] = PortScheduler
    port_class: ClassVar[type[QosPort]] = QosPort

    def add_port(self, number: int, transmitter: Transmitter) -> QosPort:
        """Give the switch a port that sends by `transmitter`."""
        options, memory = self._classes.options, self._memory_plan
        alpha = Alpha(options.egress_alpha)
        queues = [
            ClassQueue(self.shared, priority, options.reserved, alpha, limited=not self._is_lossless(priority))
            for priority in range(PRIORITIES)
        ]
        scheduler = self.scheduler_class(
            self.loop, number, transmitter, queues, options.strict, options.weights, self._classes.largest_frame_bytes
        )
        groups = self._groups(number, options.reserved)
        port = self.port_class(self, number, transmitter, scheduler, groups, self._priority_of)
        self.ports[number] = port
        for priority, ecn in options.ecn.items():
            self._set_ramp(queues[priority], port.name, ecn)
        if options.pfc is not None:
            for group in groups:
                if self._is_lossless(group.priority):
                    group.protect(
                        port, Alpha(options.ingress_alpha), memory.headroom_bytes[port.name], options.pfc.xon_offset
                    )
        return port

    def _is_lossless(self, priority: int) -> bool:
        options = self._classes.options
        return options.has_flow_control and priority in options.lossless

    def _groups(self, number: int, reserved_bytes: int) -> tuple[IngressGroup, ...]:
        ports = len(self._memory_plan.headroom_bytes)
        return tuple(
            IngressGroup(self.shared, number, priority, reserved_bytes, ports) for priority in range(PRIORITIES)
        )

    def _set_ramp(self, queue: ClassQueue, port: str, ecn: EcnOptions) -> None:
        random = self._random(port, queue.priority)
        if ecn.by == "bytes":
            queue.ramp = Ramp(ecn.kmin, ecn.kmax, ecn.pmax, random, drops_unmarkable=ecn.wred)
        else:
            queue.time_ramp = Ramp(ecn.tmin, ecn.tmax, ecn.pmax, random)

    def _random(self, port: str, priority: int) -> Random:
        """Return the randomness of a queue's marks: its own, for the whole run."""
        name = f"ECN of {port} priority {priority}, seed {self._classes.seed}"
        return self._randoms.setdefault(name, Random(name))

    # --- forwarding ---------------------------------------------------------------------------------------------------

    def _forward(self, frame: Frame) -> None:
        number = frame.answer
        if number == PENDING:
            number = self._answer(frame)
        if number <= DROPPED:
            frame.group.release(frame.held_bytes)
            self._goes_nowhere(number, frame)
            return
        port = self.ports[number]
        reason = port.queue.enqueue(frame)
        if reason is None:
            port.transmitter.kick()
        else:
            frame.group.release(frame.held_bytes)
            self._on_drop(port.name, reason, frame)

    def _enqueue(self, port: SwitchPort, frame: Frame) -> None:
        """Queue a frame of the switch's own."""
        frame.priority = priority = self._priority_of[traffic_class(frame.data) or 0]
        frame.held_bytes = len(frame.data)
        frame.group = group = self._processor_groups[priority]
        reason = group.admit(frame.held_bytes)
        if reason is not None:
            self.drop(reason, frame)
            return
        frame.answer = port.number
        self._forward(frame)

    # --- what policies see and change ---------------------------------------------------------------------------------

    def statistics(self) -> SwitchStatistics:
        """Return a frozen snapshot of the switch's counters."""
        memory = self.shared
        ports = {port.name: port.statistics() for port in self.ports.values()}
        return SwitchStatistics(
            self.name,
            memory.size_bytes,
            memory.used_bytes,
            memory.peak_bytes,
            memory.shared_bytes,
            memory.shared_used_bytes,
            ports,
        )

    def clear_watermarks(self) -> None:
        """Begin a new interval for the queues' watermarks."""
        for port in self.qos_ports():
            for queue in port.scheduler.queues:
                queue.clear_watermark()

    def qos_ports(self) -> list[QosPort]:
        """Return the ports."""
        return [port for port in self.ports.values() if isinstance(port, QosPort)]

    def groups(self) -> list[IngressGroup]:
        """Return all ingress groups, that of the switch's own frames included."""
        return [*self._processor_groups, *(group for port in self.qos_ports() for group in port.groups)]

    def wrong_accounts(self, *, pipeline: bool) -> list[str]:
        """Return what is wrong with the memory's counts: none is negative, and they are what the queued frames hold.

        `pipeline`: whether frames may be between arrival and queue, so that the counts may be more than that.
        """
        groups, memory = self.groups(), self.shared
        queued = sum(port.scheduler.bytes for port in self.qos_ports())
        held = sum(group.held_bytes for group in groups)
        shared = sum(group.shared_bytes for group in groups)
        wrong = []
        if min(min(g.used_bytes, g.shared_bytes, g.headroom_used_bytes, *g.waiting_bytes) for g in groups) < 0:
            wrong.append("an ingress group holds less than nothing")
        if held != memory.used_bytes or shared != memory.shared_used_bytes:
            wrong.append(
                f"groups hold {held} B, {shared} B of them shared; the memory counts {memory.used_bytes} and "
                f"{memory.shared_used_bytes} B"
            )
        if held < queued or (held != queued and not pipeline):
            wrong.append(f"{held} B are counted for frames of which {queued} B are in queues")
        if queued != sum(sum(group.waiting_bytes) for group in groups):
            wrong.append("the groups' frames in queues are not those that the queues hold")
        return wrong

    def set_ecn(self, port: str, priority: int, kmin_bytes: int, kmax_bytes: int, pmax: float) -> None:
        """Mark on the egress queue of (`port`, `priority`) with RED's ramp on its bytes from now on.

        With ends of 0 and a `pmax` of 0 or more it marks all that finds the queue not empty. Whether it drops what
        cannot be marked stays as it is. Raises ValueError for ends in the wrong order.
        """
        queue = self._port(port, priority).scheduler.queues[priority]
        wred = queue.ramp is not None and queue.ramp.drops_unmarkable
        queue.ramp = Ramp(kmin_bytes, kmax_bytes, pmax, self._random(port, priority), drops_unmarkable=wred)
        queue.time_ramp = None

    def set_pfc_threshold(self, port: str, priority: int, alpha: float) -> None:
        """Give the ingress group of (`port`, `priority`) another factor for its dynamic threshold: XOFF comes later
        with a larger one. Raises ValueError for a factor that is not above 0."""
        if alpha <= 0:
            raise ValueError(
                f"expected a factor above 0 for the threshold of {port} priority {priority}, found {alpha}"
            )
        self._port(port, priority).groups[priority].set_alpha(Alpha(alpha))

    def set_lossless(self, port: str, priority: int, lossless: bool) -> None:
        """Take what arrives at (`port`, `priority`) out of the lossless, or back: at its threshold the ingress group
        then drops, instead of pausing the far end. Raises ValueError if it has never been lossless."""
        self._port(port, priority).groups[priority].set_lossless(lossless)

    def _port(self, name: str, priority: int) -> QosPort:
        if not 0 <= priority < PRIORITIES:
            raise LookupError(f"expected a priority from 0 to {PRIORITIES - 1}, found {priority}")
        port = self.port_named(name)
        assert isinstance(port, QosPort)
        return port
