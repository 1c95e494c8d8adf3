"""The replay of a trace: all ranks at work, over RDMA and NVLink, and before that over the contention-free fabric."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from testbed.engine.loop import EventLoop
from testbed.errors import TestbedError
from testbed.scenario.files import as_written
from testbed.scenario.limits import ELEMENT_BYTES
from testbed.scenario.placement import Rank
from testbed.scenario.traces import TraceReplay
from traffic.collectives.communicator import Member
from traffic.collectives.contention_free import IdealFabric
from traffic.collectives.job import Job, Setting
from traffic.collectives.kinds import bus_factor
from traffic.collectives.rehearsal import rehearse
from traffic.nic import Nic
from traffic.results import COMPUTE, TraceCollectives, TraceNode, TraceResult, Wait, gbps
from traffic.trace_replay.memory import Nothing, Numbers
from traffic.trace_replay.rank import RankReplay, streams_of
from traffic.trace_replay.script import Call, Script, write_script
from traffic.trace_replay.timetable import Timetable
from traffic.traces.casting import Options
from traffic.traces.matching import Matching
from traffic.traces.model import Collective, Compute, Marker, Node, Receive, Send, Trace, Unknown
from traffic.traces.order import order


def script_of(trace: Trace, matching: Matching, ranks: Sequence[Rank], options: Options) -> Script:
    """Return the script of a checked trace, whose ranks are those of the fabric in `ranks`."""
    numbers = {host: number for number, host in enumerate(dict.fromkeys(rank.host for rank in ranks))}
    return write_script(trace, matching, [numbers[rank.host] for rank in ranks], options)


class TraceJob(Job):
    """The replay of a checked `trace`; `ranks` are those of the fabric for those of the trace, with their NICs."""

    def __init__(
        self,
        name: str,
        work: TraceReplay,
        trace: Trace,
        matching: Matching,
        ranks: Sequence[tuple[Rank, Nic]],
        options: Options,
        setting: Setting,
    ) -> None:
        self._trace = trace
        self._work = work
        self._script = script = script_of(trace, matching, [rank for rank, _ in ranks], options)
        self._critical_path_ps = order(trace, matching, script.durations_ps, options.bytes_factor).critical_path_ps
        self._numbers = Numbers(script, setting.seed) if work.verify else None
        members = [
            Member(rank.name, nic, self._numbers.memory(number) if self._numbers else None, rank.host, rank.local)
            for number, (rank, nic) in enumerate(ranks)
        ]
        super().__init__(name, setting, members, script.buffer_bytes)
        self.start_ps = self.end_ps = setting.loop.now + work.start
        for connection in script.connections:
            self._communicator.connect(*connection)
        self._replays = [
            RankReplay(
                script,
                rank,
                members[rank].name,
                endpoint,
                self._numbers or Nothing(),
                setting.loop,
                self._rank_done,
                streams_of(ideal, trace.ranks[rank].nodes),
            )
            for rank, (endpoint, ideal) in enumerate(
                zip(self._communicator.endpoints, self.contention_free, strict=True)
            )
        ]
        setting.loop.at(self.start_ps, self._begin)

    def _begin(self, _nothing: object) -> None:
        for replay in self._replays:
            replay.begin(self._replays)

    def _rank_done(self) -> None:
        if all(replay.done for replay in self._replays):
            self._arrived = True
            self.end_ps = self._setting.loop.now
            self._look_for_end()

    def _fail(self, reason: str) -> None:
        left = [replay for replay in self._replays if not replay.done]
        super()._fail(f"{reason}; {left[0].waiting_for()}" if left else reason)
        for replay in self._replays:
            replay.stop()

    def waiting_for(self) -> str:
        waiting = [replay.waiting_for() for replay in self._replays if not replay.done]
        if not waiting:
            waiting = [f"{self._communicator.outstanding} messages not acknowledged"]
        return f"{self.name}: {'; '.join(waiting)}"

    # --- how many packets it takes ------------------------------------------------------------------------------------

    @cached_property
    def data_packets(self) -> int:
        sizes: Counter[int] = Counter()
        for transfer in self._script.transfers:
            if self._by_nic(transfer.source, transfer.destination):
                sizes.update(size for _, size in transfer.pieces())
        for call in self._script.calls:
            sizes.update(self._sizes_of(call))
        return sum(self._setting.wiring.packets(size) * count for size, count in sizes.items())

    @cached_property
    def expected_bytes(self) -> Sequence[int]:
        expected = [0] * len(self._members)
        for transfer in self._script.transfers:
            expected[transfer.destination] += sum(size for _, size in transfer.pieces())
        for call in self._script.calls:
            if call.algorithm is not None:
                for index in range(len(call.ranks)):
                    for sent in rehearse(call.algorithm, index).sends:
                        expected[call.ranks[sent.peer]] += sent.size
        return expected

    def _pause_of(self, rank: int) -> tuple[str | None, int]:
        return self._replays[rank].longest_under_way()

    def _sizes_of(self, call: Call) -> Iterator[int]:
        """Yield the size of each message of a collective that goes through NICs."""
        if call.algorithm is not None:
            for index, rank in enumerate(call.ranks):
                for sent in rehearse(call.algorithm, index).sends:
                    if self._by_nic(rank, call.ranks[sent.peer]):
                        yield sent.size

    # --- the contention-free replay -----------------------------------------------------------------------------------

    @cached_property
    def contention_free(self) -> Sequence[RankReplay]:
        """The same replay over the ideal fabric, as it ended."""
        loop = EventLoop()
        links = {connection: self._ideal_link(connection) for connection in self._script.connections}
        lanes = [call.work.group for call in self._script.calls]
        fabric = IdealFabric(loop, len(self._members), links, steps=self._script.steps, lanes=lanes)
        replays = [
            RankReplay(self._script, rank, member.name, endpoint, Nothing(), loop, _nothing)
            for rank, (member, endpoint) in enumerate(zip(self._members, fabric.endpoints, strict=True))
        ]
        for replay in replays:
            replay.begin(replays)
        loop.run()
        stuck = [replay.waiting_for() for replay in replays if not replay.done]
        if stuck:
            raise TestbedError(f"{self.name}: the trace comes to a stop without contention: {'; '.join(stuck[:4])}")
        self._ideal_messages = fabric.messages
        return replays

    # --- results ------------------------------------------------------------------------------------------------------

    def result(self) -> TraceResult:
        names = tuple(member.name for member in self._members)
        real = [replay.timetable for replay in self._replays]
        ideal = [replay.timetable for replay in self.contention_free]
        works = [node.work for rank in self._trace.ranks for node in rank.nodes]
        sends = [transfer.size_bytes for transfer in self._script.transfers]
        left_out: Counter[str] = Counter()
        for rank in self._trace.ranks:
            left_out.update(rank.left_out)
        return TraceResult(
            name=self.name,
            format=self._trace.format,
            files=tuple(as_written(file) for file in self._work.files),
            iterations=self._work.iterations,
            ranks=names,
            nodes=tuple(self._nodes(real, ideal)),
            start_ps=self.start_ps,
            end_ps=self.end_ps,
            time_ps=None if self.failure else self.end_ps - self.start_ps,
            ideal_ps=max((table.end_ps for table in ideal), default=0),
            critical_path_ps=self._critical_path_ps,
            compute_ps_by_rank=_by_name(names, [table.busy_ps() for table in real]),
            exposed_ps_by_rank=_by_name(names, [table.waited_ps() for table in real]),
            stall_ps_by_rank=_by_name(
                names, [max(0, a.waited_ps() - b.waited_ps()) for a, b in zip(real, ideal, strict=True)]
            ),
            collectives=tuple(self._collectives(real, ideal)),
            sends=len(sends),
            sent_bytes=sum(sends),
            unknown=dict(sorted(Counter(work.what for work in works if isinstance(work, Unknown)).items())),
            left_out=dict(sorted(left_out.items())),
            stand_ins=dict(self._script.stand_ins),
            verified=self._verified(),
            wrong_elements=self._numbers.wrong_elements if self._numbers else 0,
            waits=tuple(self._waits(real)),
            failure=self.failure,
            messages=self._communicator.log.records(names),
            ideal_messages=tuple(
                message._replace(
                    posted_ps=self.start_ps + message.posted_ps, arrived_ps=self.start_ps + message.arrived_ps
                )
                for message in self._ideal_messages
            ),
        )

    def _verified(self) -> bool | None:
        """Whether every result was compared, and right; None when a failure came before."""
        if self._numbers is None:
            return None
        if self._numbers.wrong_elements:
            return False
        all_compared = self._numbers.checked == self._numbers.expected
        return None if self.failure and not all_compared else all_compared

    def _nodes(self, real: Sequence[Timetable], ideal: Sequence[Timetable]) -> Iterator[TraceNode]:
        for rank, member in zip(self._trace.ranks, self._members, strict=True):
            ours, theirs = real[rank.rank], ideal[rank.rank]
            for position, node in enumerate(rank.nodes):
                what, stream = _what(node)
                yield TraceNode(
                    rank=member.name,
                    node=node.identity,
                    name=node.name,
                    what=what,
                    stream=stream,
                    start_ps=self._later(ours.starts_ps[position]),
                    end_ps=self._later(ours.ends_ps[position]),
                    ideal_start_ps=self._later(theirs.starts_ps[position]),
                    ideal_end_ps=self._later(theirs.ends_ps[position]),
                )

    def _later(self, time_ps: int | None) -> int | None:
        return None if time_ps is None else self.start_ps + time_ps

    def _waits(self, real: Sequence[Timetable]) -> Iterator[Wait]:
        """Yield, rank by rank and in the order of time, when it computed, and when it only waited, and for what."""
        for rank, table in zip(self._trace.ranks, real, strict=True):
            waits = list(table.waits())
            awaited = table.awaited([end for _, end in waits])
            what = ["others" if position is None else str(rank.nodes[position]) for position in awaited]
            spans = [*zip(waits, what, strict=True), *((span, COMPUTE) for span in table.busy())]
            name = self._members[rank.rank].name
            for number, ((start, end), text) in enumerate(sorted(spans)):
                yield Wait(name, text, number, 0, self.start_ps + start, self.start_ps + end)

    def _collectives(self, real: Sequence[Timetable], ideal: Sequence[Timetable]) -> Iterator[TraceCollectives]:
        """Yield rows of collectives alike, those that take longest together first."""
        alike: dict[tuple[str, str, str, int], list[Call]] = defaultdict(list)
        for call in self._script.calls:
            alike[call.work.kind, call.algorithm_name, call.work.group, _size_bytes(call)].append(call)
        for (kind, algorithm, group, size), calls in sorted(alike.items(), key=lambda item: item[1][0].number):
            time_ps, ideal_ps = _mean_ps(calls, real), _mean_ps(calls, ideal)
            made = calls[0].algorithm
            algbw = gbps(size, time_ps) if time_ps and made is not None else None
            yield TraceCollectives(
                kind=kind,
                algorithm=algorithm,
                group=group,
                ranks=len(calls[0].ranks),
                size_bytes=size,
                count=len(calls),
                time_ps=time_ps,
                ideal_ps=ideal_ps,
                algbw_gbps=algbw,
                busbw_gbps=algbw * float(bus_factor(made.shape)) if algbw and made is not None else None,
            )


def _nothing() -> None:
    """Nobody wants to know that a contention-free replay is done."""


def _by_name(names: Sequence[str], values: Sequence[int]) -> dict[str, int]:
    return dict(zip(names, values, strict=True))


def _size_bytes(call: Call) -> int:
    return call.work.size_bytes if call.algorithm is None else call.algorithm.shape.elements * ELEMENT_BYTES


def _mean_ps(calls: Sequence[Call], tables: Sequence[Timetable]) -> int | None:
    """Return the mean time from the last rank's start of a collective to its end at the last rank."""
    times = []
    for call in calls:
        at = list(zip(call.ranks, call.positions, strict=True))
        starts = [tables[rank].starts_ps[position] for rank, position in at]
        ends = [tables[rank].ends_ps[position] for rank, position in at]
        if None in starts or None in ends or call.algorithm is None:
            return None
        times.append(max(end for end in ends if end is not None) - max(start for start in starts if start is not None))
    return sum(times) // len(times)


def _what(node: Node) -> tuple[str, str]:
    """Return what a node is, and its stream or group."""
    work = node.work
    if isinstance(work, Compute):
        return "compute", work.stream
    if isinstance(work, Collective):
        return work.kind, work.group
    names: dict[type, str] = {Send: "send", Receive: "receive", Marker: "marker"}
    return names.get(type(work), "unknown"), ""
