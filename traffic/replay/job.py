"""The replay job: reads a capture as it goes, and sends each packet from its host at its time.

The file is read twice: once to know what is in it, and once more while its packets are sent, so that no more of them
are in memory than are under way (at ``as-fast-as-possible``, all). Each host has one queue for each priority, so that
packets keep their order within their class; other traffic of the NIC has its turns in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from testbed.scenario.files import as_written
from testbed.scenario.replay import PacketReplay
from traffic.collectives.job import Job, Setting
from traffic.nic import Nic
from traffic.nic.replayed import ReplayedFrame, ReplaySender
from traffic.replay.capture import CapturedPacket, Survey, address_text, read_packets
from traffic.replay.flow import FlowTally
from traffic.replay.readdress import Readdressing
from traffic.results import ReplayResult


class ReplayJob(Job):
    """The replay of one capture; `found` is what is in it. `hosts` are the names of the hosts by packed address, `nics`
    their NICs by the hosts' names."""

    def __init__(
        self,
        name: str,
        work: PacketReplay,
        found: Survey,
        hosts: Mapping[bytes, str],
        nics: Mapping[str, Nic],
        setting: Setting,
    ) -> None:
        super().__init__(name, setting, (), 0)
        self._work = work
        self._hosts = hosts
        self._nics = nics
        self._path = Path(work.file)
        self._survey = found
        self._speed = None if isinstance(work.speed, str) else Fraction(work.speed)
        self.start_ps = self.end_ps = setting.loop.now + work.start
        self._first_arrival_ps: int | None = None
        self._last_arrival_ps = 0
        self._settled = 0
        self._ways: dict[tuple[bytes, bytes], Readdressing] = {}
        self._senders: dict[tuple[str, int], ReplaySender] = {}
        self._flows: dict[tuple[bytes, bytes, int], FlowTally] = {}
        self._packets: Iterator[CapturedPacket] = read_packets(self._path, Counter())
        self._next = next(self._packets, None)
        setting.loop.at(self.start_ps, self._send_due)

    # --- sending ------------------------------------------------------------------------------------------------------

    def _due_ps(self, packet: CapturedPacket) -> int:
        """Return when a packet is to be sent: its gap to the first one, divided by the speed."""
        if self._speed is None:
            return self.start_ps
        return self.start_ps + packet.time_ps * self._speed.denominator // self._speed.numerator

    def _send_due(self, _nothing: object) -> None:
        """Send all packets whose time has come, and come back for the next one."""
        if self.done:
            return
        now = self._setting.loop.now
        while self._next is not None:
            due_ps = self._due_ps(self._next)
            if due_ps > now:
                self._setting.loop.at(due_ps, self._send_due)
                return
            self._send(self._next, due_ps)
            self._next = next(self._packets, None)

    def _send(self, packet: CapturedPacket, due_ps: int) -> None:
        source = self._nic(packet.source)
        flow = self._flow(packet)
        priority = source.priority_by_traffic_class[packet.traffic_class]
        frame = ReplayedFrame(
            self._way(packet).frame(packet), flow, flow.frames, due_ps, packet.opcode, packet.traffic_class, priority
        )
        flow.frames += 1
        sender = self._senders.get((source.name, priority))
        if sender is None:
            sender = self._senders[source.name, priority] = ReplaySender(source, priority)
        sender.put(frame)

    def _nic(self, address: bytes) -> Nic:
        return self._nics[self._hosts[address]]

    def _flow(self, packet: CapturedPacket) -> FlowTally:
        key = packet.source, packet.destination, packet.destination_qp
        flow = self._flows.get(key)
        if flow is None:
            ends = self._hosts[packet.source], self._hosts[packet.destination]
            flow = self._flows[key] = FlowTally(*ends, packet.destination_qp, self._on_settled)
        return flow

    def _way(self, packet: CapturedPacket) -> Readdressing:
        key = packet.source, packet.destination
        way = self._ways.get(key)
        if way is None:
            way = self._ways[key] = Readdressing(self._nic(packet.source), self._nic(packet.destination))
        return way

    # --- the end ------------------------------------------------------------------------------------------------------

    def _on_settled(self, arrived_ps: int) -> None:
        """One more packet has arrived, at `arrived_ps`, or is lost (-1)."""
        if arrived_ps >= 0:
            if self._first_arrival_ps is None:
                self._first_arrival_ps = arrived_ps
            self._last_arrival_ps = arrived_ps
        self._settled += 1
        if self._settled == self._survey.packets and not self.done:
            self.end_ps = self._setting.loop.now
            self.done = True

    def _fail(self, reason: str) -> None:
        for sender in self._senders.values():
            sender.discard()
        super()._fail(reason)

    def waiting_for(self) -> str:
        total = self._survey.packets
        return f"{self.name}: {total - self._settled} of {total} packets, which neither arrived nor were lost"

    @property
    def expected_bytes(self) -> Sequence[int]:
        """A replay has no ranks."""
        return ()

    @property
    def data_packets(self) -> int:
        return self._survey.data_packets

    def result(self) -> ReplayResult:
        flows = tuple(flow.result() for flow in self._flows.values())
        dropped: Counter[str] = Counter()
        for flow in flows:
            dropped.update(flow.dropped)
        span = None if self._first_arrival_ps is None else self._last_arrival_ps - self._first_arrival_ps
        return ReplayResult(
            name=self.name,
            file=as_written(self._work.file),
            hosts={address_text(address): self._hosts[address] for address in self._survey.addresses},
            start_ps=self.start_ps,
            end_ps=self.end_ps,
            packets=self._survey.packets,
            sent=sum(flow.frames for flow in flows),
            delivered=sum(flow.delivered for flow in flows),
            marked=sum(flow.marked for flow in flows),
            out_of_order=sum(flow.out_of_order for flow in flows),
            dropped=dict(sorted(dropped.items())),
            wrong_icrc=self._survey.wrong_icrc,
            others=dict(sorted(self._survey.others.items())),
            file_span_ps=self._survey.span_ps,
            delivery_span_ps=span,
            latencies_ps=tuple(sorted(time for flow in self._flows.values() for time in flow.latencies_ps)),
            latest_wait_ps=max((flow.latest_wait_ps for flow in self._flows.values()), default=0),
            flows=flows,
            failure=self.failure,
        )
