"""The flow job: one transfer by RDMA WRITE from a host to another, its payload compared at the receiver.

A flow is one message; one above 1 GiB is several, as an application would split it (a message ends at 2 GiB).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.fabric.plan import FabricPlan
from testbed.scenario.limits import FLOW_MESSAGE_BYTES
from testbed.scenario.model import Flow, Flows
from traffic.collectives.communicator import Member
from traffic.collectives.contention_free import transfer_time_ps
from traffic.collectives.endpoint import Endpoint
from traffic.collectives.ideal_path import path_timing
from traffic.collectives.job import Job, Setting
from traffic.nic import Nic
from traffic.nic.segmentation import packet_count
from traffic.results import FlowResult, gbps


def flows_of(work: Flows, plan: FabricPlan) -> tuple[Flow, ...]:
    """Return the flows of a checked `work`: those listed, or those of its pattern.

    ``ring`` is every host to the next; ``all-to-all`` is also every host to the second next, and so on around: so that
    no two hosts begin with the same destination.
    """
    if work.pattern == "listed":
        return work.flows
    assert work.size is not None, "a checked pattern has a size"
    names = [host.name for host in plan.hosts]
    furthest = 1 if work.pattern == "ring" else len(names) - 1
    return tuple(
        Flow.model_construct(source=source, destination=names[(index + step) % len(names)], size=work.size, start=0)
        for step in range(1, furthest + 1)
        for index, source in enumerate(names)
    )


def messages_of(size_bytes: int) -> list[int]:
    """Return the sizes of the messages that carry a flow."""
    full, rest = divmod(size_bytes, FLOW_MESSAGE_BYTES)
    return [FLOW_MESSAGE_BYTES] * full + ([rest] if rest else [])


def needed_bytes(flows: Sequence[Flow]) -> int:
    """Return the memory that verified flows take: what is sent, what arrives, and for one message after the other a
    truth value for each byte.
    """
    sizes = [flow.size for flow in flows]
    return 2 * sum(sizes) + min(max(sizes, default=0), FLOW_MESSAGE_BYTES)


class FlowJob(Job):
    """One flow; with `verify`, of random bytes that are compared at the receiver."""

    def __init__(self, flow: Flow, source: Nic, destination: Nic, verify: bool, setting: Setting) -> None:
        self._flow = flow
        self._compared_bytes = self._wrong_bytes = 0
        self._sent = self._received = None
        if verify:
            self._sent = np.random.Generator(np.random.PCG64(setting.seed)).integers(0, 256, flow.size, dtype=np.uint8)
            self._received = np.zeros(flow.size, dtype=np.uint8)
        members = [
            Member(flow.source, source, None if self._sent is None else self._sent.data),
            Member(flow.destination, destination, None if self._received is None else self._received.data),
        ]
        super().__init__(f"flow {flow.source} to {flow.destination}", setting, members, flow.size)
        self.start_ps = self.end_ps = setting.loop.now + flow.start
        self._communicator.connect(0, 1)
        sender, receiver = self._communicator.endpoints
        self._run(flow.source, self._send(sender))
        self._run(flow.destination, self._receive(receiver))

    async def _send(self, endpoint: Endpoint) -> None:
        await endpoint.sleep(self._flow.start, "start")
        offset = 0
        for number, size in enumerate(messages_of(self._flow.size)):
            endpoint.send(1, 0, number, source_offset=offset, target_offset=offset, size_bytes=size)
            offset += size

    async def _receive(self, endpoint: Endpoint) -> None:
        for number, size in enumerate(messages_of(self._flow.size)):
            await endpoint.receive(0, 0, number)
            self._compare(size)

    def _compare(self, size: int) -> None:
        """Compare the message that has just been delivered, behind those before it."""
        if self._sent is not None and self._received is not None:
            message = slice(self._compared_bytes, self._compared_bytes + size)
            self._wrong_bytes += int(np.count_nonzero(self._sent[message] != self._received[message]))
            self._compared_bytes += size

    @property
    def data_packets(self) -> int:
        return sum(packet_count(size, self._setting.transport.mtu) for size in messages_of(self._flow.size))

    def result(self) -> FlowResult:
        flow, setting = self._flow, self._setting
        time_ps = None if self.failure else self.end_ps - self.start_ps
        timing = path_timing(setting.plan, *(member.nic.name for member in self._members))
        return FlowResult(
            source=flow.source,
            destination=flow.destination,
            size_bytes=flow.size,
            start_ps=self.start_ps,
            end_ps=self.end_ps,
            time_ps=time_ps,
            ideal_ps=transfer_time_ps(messages_of(flow.size), timing, setting.transport, setting.plan.ip_version),
            goodput_gbps=gbps(flow.size, time_ps) if time_ps else None,
            verified=self._verified(),
            wrong_bytes=self._wrong_bytes,
            failure=self.failure,
        )

    def _verified(self) -> bool | None:
        """Whether every byte was compared, and right; None when a failure came before."""
        if self._sent is None:
            return None
        if self._wrong_bytes:
            return False
        all_compared = self._compared_bytes == self._flow.size
        return None if self.failure and not all_compared else all_compared
