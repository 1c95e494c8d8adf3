"""Deadlock with credits: a cycle of queues, each of which waits for room in a buffer whose frames wait in the next.

The search is that of `testbed.engine.pause.deadlock`; here a queue is blocked when its first frame has no credit, and
goes on when the lane's buffer at the other end has room for that frame.

Known limits: of a buffer whose frames wait partly in a cycle and partly outside, the blocks of the former are estimated
from below, so that a cycle may be found late or not at all; what is found is one.
"""

from collections.abc import Mapping

from testbed.engine.buffer.ingress import IngressGroup
from testbed.engine.credit.arithmetic import blocks_of
from testbed.engine.credit.group import CreditedGroup
from testbed.engine.credit.switch import CreditPort
from testbed.engine.pause.deadlock import DeadlockSearch, Queue, stuck_bytes
from testbed.engine.qos_switch import QosSwitch


class CreditDeadlockSearch(DeadlockSearch):
    """Looks at the switches of a fabric with credits, whose ports are known by name."""

    held_by = "has no credit from"

    def _blocked(self) -> dict[Queue, list[IngressGroup]]:
        found: dict[Queue, list[IngressGroup]] = {}
        for name, port in self._ports.items():
            far = self._ports.get(port.far_end)
            if far is not None:
                for queue in port.scheduler.queues:
                    if port.transmitter.paused_mask & queue.bit and queue.frames:
                        found[name, queue.priority] = [far.groups[queue.priority]]
        return found

    def _could_resume(
        self,
        switch: QosSwitch,
        group: IngressGroup,
        stuck: Mapping[Queue, list[IngressGroup]],
        shared: Mapping[str, int],  # noqa: ARG002 - lanes share nothing
    ) -> bool:
        assert isinstance(group, CreditedGroup)
        near = self._ports[self._ports[switch.ports[group.port].name].far_end]
        first = near.scheduler.queues[group.priority].frames[0]
        left = group.least_blocks_of(stuck_bytes(switch, group, stuck))
        return left + blocks_of(len(first.data)) <= group.lane.size_blocks

    def _since_ps(self, queue: Queue) -> int:
        name, priority = queue
        port = self._ports[name]
        assert isinstance(port, CreditPort)
        return port.end.sending.since_ps(priority)
