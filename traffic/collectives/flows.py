"""The flow job: one transfer by RDMA WRITE from a host to another, its payload compared at the receiver.

A flow is one message; one above 1 GiB is several, as an application would split it (a message ends at 2 GiB).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from testbed.scenario.limits import FLOW_MESSAGE_BYTES
from testbed.scenario.model import Flow
from traffic.collectives.admission import Gate
from traffic.collectives.algorithm import Connection
from traffic.collectives.communicator import Member
from traffic.collectives.endpoint import Endpoint
from traffic.collectives.job import Job, Setting
from traffic.nic import Nic
from traffic.results import START, FlowResult, gbps


def messages_of(size_bytes: int, longest_bytes: int = FLOW_MESSAGE_BYTES) -> list[int]:
    """Return the sizes of the messages that carry a flow."""
    full, rest = divmod(size_bytes, longest_bytes)
    return [longest_bytes] * full + ([rest] if rest else [])


def needed_bytes(flows: Sequence[Flow]) -> int:
    """Return the memory that verified flows take: what is sent, what arrives, and for one message after the other a
    truth value for each byte.
    """
    sizes = [flow.size for flow in flows]
    return 2 * sum(sizes) + min(max(sizes, default=0), FLOW_MESSAGE_BYTES)


class FlowJob(Job):
    """One flow of the work number `work`, called `name`; with `verify`, of random bytes that are compared at the
    receiver. With admission, `gate` is the receiver's, which flows of one work share."""

    def __init__(
        self,
        flow: Flow,
        source: Nic,
        destination: Nic,
        verify: bool,
        setting: Setting,
        gate: Gate | None = None,
        *,
        work: int = 0,
        name: str | None = None,
    ) -> None:
        admission = setting.wiring.admission
        self._flow = flow
        self._work = work
        self._messages = messages_of(flow.size, admission.chunk if admission else FLOW_MESSAGE_BYTES)
        self._compared_bytes = self._wrong_bytes = 0
        self._sent = self._received = None
        if verify:
            self._sent = np.random.Generator(np.random.PCG64(setting.seed)).integers(0, 256, flow.size, dtype=np.uint8)
            self._received = np.zeros(flow.size, dtype=np.uint8)
        members = [
            Member(flow.source, source, None if self._sent is None else self._sent.data),
            Member(flow.destination, destination, None if self._received is None else self._received.data),
        ]
        gates = {} if gate is None else {1: gate}
        super().__init__(f"{name or 'flow'} {flow.source} to {flow.destination}", setting, members, flow.size, gates)
        self.start_ps = self.end_ps = setting.loop.now + flow.start
        self._communicator.connect(0, 1)
        sender, receiver = self._communicator.endpoints
        self._run(flow.source, self._send(sender))
        self._run(flow.destination, self._receive(receiver))

    async def _send(self, endpoint: Endpoint) -> None:
        await endpoint.sleep(self._flow.start, START)
        offset = 0
        for number, size in enumerate(self._messages):
            endpoint.send(1, 0, number, source_offset=offset, target_offset=offset, size_bytes=size)
            offset += size

    async def _receive(self, endpoint: Endpoint) -> None:
        if self._setting.wiring.admission is not None:
            await endpoint.sleep(self._flow.start, START)
            self._communicator.expect(((Connection(0, 1), 0, number) for number in range(len(self._messages))), self)
        for number, size in enumerate(self._messages):
            await endpoint.receive(0, 0, number)
            self._compare(size)

    def _compare(self, size: int) -> None:
        """Compare the message that has just been delivered, behind those before it."""
        if self._sent is not None and self._received is not None:
            message = slice(self._compared_bytes, self._compared_bytes + size)
            self._wrong_bytes += int(np.count_nonzero(self._sent[message] != self._received[message]))
            self._compared_bytes += size

    @property
    def expected_bytes(self) -> Sequence[int]:
        return 0, self._flow.size

    @property
    def data_packets(self) -> int:
        return sum(self._setting.wiring.packets(size) for size in self._messages)

    def result(self) -> FlowResult:
        flow, alone = self._flow, self._ideal_link(Connection(0, 1))
        time_ps = None if self.failure else self.end_ps - self.start_ps
        return FlowResult(
            source=flow.source,
            destination=flow.destination,
            size_bytes=flow.size,
            start_ps=self.start_ps,
            end_ps=self.end_ps,
            time_ps=time_ps,
            ideal_ps=max(alone.arrival_ps(0, size) for size in self._messages),
            goodput_gbps=gbps(flow.size, time_ps) if time_ps else None,
            verified=self._verified(),
            wrong_bytes=self._wrong_bytes,
            failure=self.failure,
            name=self.name,
            work=self._work,
            messages=self._communicator.log.records((flow.source, flow.destination)),
            admission=self._admission(),
        )

    def _verified(self) -> bool | None:
        """Whether every byte was compared, and right; None when a failure came before."""
        if self._sent is None:
            return None
        if self._wrong_bytes:
            return False
        all_compared = self._compared_bytes == self._flow.size
        return None if self.failure and not all_compared else all_compared
