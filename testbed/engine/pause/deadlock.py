"""Deadlock: a cycle of waiting buffers in which each waits for the next and none can ever move.

An egress queue is *blocked* when it is paused, obeys (a watchdog may make it forward all the same) and has frames. It
is paused by the ingress groups at the other end of its link; such a group lets it go on when enough of its own frames
have left, and these wait in egress queues in turn.

The search assumes of every blocked queue that it can never move, and takes back what is not so: a queue whose pausing
groups would all resume once everything that is not stuck had left. What remains when nothing more can be taken back can
never move, and every queue in it waits for another one in it: there is a cycle. A NIC that pauses is no part of any,
as it may stop to. Thus what is found is no guess: only a loss of pause frames, a changed threshold or a watchdog ends
it.

References: C. Guo et al., RDMA over commodity Ethernet at scale (SIGCOMM 2016), section 4.2; S. Hu et al., Deadlocks in
datacenter networks (HotNets 2016): cyclic buffer dependency.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from testbed.engine.buffer.ingress import IngressGroup
from testbed.engine.qos_switch import QosPort, QosSwitch
from testbed.units import format_size, format_time

Queue = tuple[str, int]
"""An egress queue: the name of its port, and its priority."""


@dataclass(frozen=True, slots=True)
class Step:
    """One buffer of a cycle: the queue of (`port`, `priority`) holds `bytes` and is paused by the port `paused_by`,
    since `since_ps`, because frames that came in there wait in the next step's queue."""

    port: str
    priority: int
    bytes: int
    paused_by: str
    since_ps: int


@dataclass(frozen=True, slots=True)
class Deadlock:
    """A cycle, found at `time_ps`: its steps in the order of waiting; the last waits for the first. `held_by` says what
    keeps a queue from sending."""

    time_ps: int
    steps: tuple[Step, ...]
    held_by: str = "is paused by"

    @property
    def since_ps(self) -> int:
        """When the cycle was closed: the last of its pauses began."""
        return max(step.since_ps for step in self.steps)

    @property
    def queues(self) -> frozenset[Queue]:
        """The queues of the cycle."""
        return frozenset((step.port, step.priority) for step in self.steps)

    def text(self) -> str:
        """Name the cycle port by port."""
        parts = [
            f"{step.port} priority {step.priority} ({format_size(step.bytes)}) {self.held_by} {step.paused_by}"
            for step in self.steps
        ]
        chain = ", whose frames wait in ".join(parts)
        return f"deadlock since {format_time(self.since_ps)}: {chain}, whose frames wait in {self.steps[0].port}"


class DeadlockSearch:
    """Looks at the switches of a fabric, whose ports are known by name. `held_by` as a deadlock's."""

    held_by = "is paused by"

    def __init__(self, switches: Mapping[str, QosSwitch], ports: Mapping[str, QosPort]) -> None:
        self._switches = switches
        self._ports = ports
        self._switch_of = {port.name: switch for switch in switches.values() for port in switch.qos_ports()}

    def find(self, now: int) -> Deadlock | None:
        """Return a cycle of buffers that can never move again, None if there is none."""
        stuck = self._blocked()
        while stuck:
            movable = self._movable(stuck)
            if not movable:
                return self._cycle(now, stuck)
            for queue in movable:
                del stuck[queue]
        return None

    def _blocked(self) -> dict[Queue, list[IngressGroup]]:
        """All blocked queues, each with the groups that pause it."""
        found = {}
        for name, port in self._ports.items():
            mask = port.transmitter.paused_mask & port.scheduler.obeyed_mask
            far = self._ports.get(port.far_end)
            if not mask or far is None or far.sender is None:
                continue
            for queue in port.scheduler.queues:
                if mask & queue.bit and queue.frames:
                    pausing = [far.groups[priority] for priority in far.sender.pausing(queue.priority)]
                    if pausing:
                        found[name, queue.priority] = pausing
        return found

    def _movable(self, stuck: Mapping[Queue, list[IngressGroup]]) -> list[Queue]:
        """Return those of `stuck` whose pausing groups would all resume when all that is not stuck had left."""
        shared = {name: self._stuck_shared_bytes(switch, stuck) for name, switch in self._switches.items()}
        return [
            queue
            for queue, pausing in stuck.items()
            if all(self._could_resume(self._far_switch(queue[0]), group, stuck, shared) for group in pausing)
        ]

    def _could_resume(
        self,
        switch: QosSwitch,
        group: IngressGroup,
        stuck: Mapping[Queue, list[IngressGroup]],
        shared: Mapping[str, int],
    ) -> bool:
        return group.could_resume_with(stuck_bytes(switch, group, stuck), shared[switch.name])

    def _stuck_shared_bytes(self, switch: QosSwitch, stuck: Mapping[Queue, list[IngressGroup]]) -> int:
        return sum(group.shared_part(stuck_bytes(switch, group, stuck)) for group in switch.groups())

    def _far_switch(self, port: str) -> QosSwitch:
        return self._switch_of[self._ports[port].far_end]

    def _cycle(self, now: int, stuck: Mapping[Queue, list[IngressGroup]]) -> Deadlock:
        """Follow what a stuck queue waits for until one comes again."""
        queue = min(stuck)
        way: list[Queue] = []
        while queue not in way:
            way.append(queue)
            queue = self._waits_for(queue, stuck)
        return Deadlock(now, tuple(self._step(each) for each in way[way.index(queue) :]), self.held_by)

    def _waits_for(self, queue: Queue, stuck: Mapping[Queue, list[IngressGroup]]) -> Queue:
        """Return the stuck queue in which most frames of a group that pauses `queue`, and cannot resume, wait."""
        switch = self._far_switch(queue[0])
        shared = {switch.name: self._stuck_shared_bytes(switch, stuck)}
        group = next(each for each in stuck[queue] if not self._could_resume(switch, each, stuck, shared))
        waiting = [
            (group.waiting_bytes[port.number], (port.name, group.priority))
            for port in switch.qos_ports()
            if (port.name, group.priority) in stuck
        ]
        return max(waiting, key=lambda item: item[0])[1]

    def _step(self, queue: Queue) -> Step:
        name, priority = queue
        port = self._ports[name]
        return Step(name, priority, port.scheduler.queues[priority].bytes, port.far_end, self._since_ps(queue))

    def _since_ps(self, queue: Queue) -> int:
        name, priority = queue
        sender = self._ports[self._ports[name].far_end].sender
        assert sender is not None
        return sender.since_ps(priority)


def stuck_bytes(switch: QosSwitch, group: IngressGroup, stuck: Mapping[Queue, list[IngressGroup]]) -> int:
    """Return how many bytes of `group` wait in queues that are stuck."""
    return sum(group.waiting_bytes[port.number] for port in switch.qos_ports() if (port.name, group.priority) in stuck)
