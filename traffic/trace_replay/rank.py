"""One rank at work on its graph: a node may start when those before it have ended (or started), and its stream is free.

Streams: calculations of one stream (``gpu``, ``cpu``) go one after the other; so do the collectives of one group, in
the order of the file, as NCCL keeps one stream for each communicator. Different groups, messages and calculations go on
side by side. A send ends when it is posted: the NIC does the rest. A receive ends when its message, and all that its
peer has sent to this rank before, is there.

Of several calculations that may start, the contention-free replay takes the first in the file; it posts sends as they
come. The replay on the fabric keeps to the order that came about there (`streams`): the calculations of a stream, as a
GPU runs kernels in the order in which they were issued, and the sends to one rank, as NCCL does those of a pair. So
nothing can be faster than without contention: no calculation, and no message, has passed another that is late.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush

from testbed.engine.loop import EventLoop
from traffic.collectives.endpoint import Endpoint
from traffic.collectives.process import Pause, Process
from traffic.results import COMPUTE
from traffic.trace_replay.memory import Nothing
from traffic.trace_replay.script import MESSAGES, Call, Part, Script, Transfer
from traffic.trace_replay.side import CallSide
from traffic.trace_replay.timetable import Timetable
from traffic.traces.model import Collective, Compute, Node, Receive, Send, Work

Streams = Mapping[str, Sequence[int]]
"""The calculations of each stream, and the sends to each rank, in the order in which they run."""


class _Stream:
    """Nodes that run one at a time: in a given order, or (`order` None) the first in the file of those that may."""

    def __init__(self, order: Sequence[int] | None) -> None:
        self.busy = False
        self._order = None if order is None else deque(order)
        self._ready: list[int] = []
        self._set: set[int] = set()

    def add(self, position: int) -> None:
        if self._order is None:
            heappush(self._ready, position)
        else:
            self._set.add(position)

    def take(self) -> int | None:
        """Return the node that is to start now, if one is."""
        if self.busy:
            return None
        if self._order is None:
            return heappop(self._ready) if self._ready else None
        if self._order and self._order[0] in self._set:
            return self._order.popleft()
        return None


class RankReplay:
    """Replays one rank. `on_done` is called when its last node has ended; `processes` are what it waits with."""

    def __init__(
        self,
        script: Script,
        rank: int,
        name: str,
        endpoint: Endpoint,
        memory: Nothing,
        loop: EventLoop,
        on_done: Callable[[], None],
        streams: Streams | None = None,
    ) -> None:
        self.name = name
        self.rank = rank
        self.timetable = Timetable(script.trace.ranks[rank].nodes)
        self.processes: dict[int, Process] = {}
        self.done = False
        self._script = script
        self._nodes = script.trace.ranks[rank].nodes
        self._endpoint = endpoint
        self._memory = memory
        self._loop = loop
        self._on_done = on_done
        self._began_ps = 0
        self._left = len(self._nodes)
        self._waiting = [len(node.after) + len(node.after_start) for node in self._nodes]
        self._after_end: list[list[int]] = [[] for _ in self._nodes]
        self._after_start: list[list[int]] = [[] for _ in self._nodes]
        for position, node in enumerate(self._nodes):
            for before in node.after:
                self._after_end[before].append(position)
            for before in node.after_start:
                self._after_start[before].append(position)
        self._calls: dict[int, tuple[Call, int]] = {}
        self._groups: dict[str, list[int]] = defaultdict(list)
        self._sends: dict[int, Transfer] = {}
        self._expected: dict[int, deque[Transfer]] = defaultdict(deque)
        self._arrived: set[int] = set()
        self._peers: Sequence[RankReplay] = ()
        self._note(script.parts[rank])
        self._streams = {f"group {group}": _Stream(positions) for group, positions in self._groups.items()}
        self._sending: dict[str, _Stream] = {}
        for node in self._nodes:
            stream = _stream_name(node.work)
            if stream is not None:
                table = self._sending if isinstance(node.work, Send) else self._streams
                table.setdefault(stream, _Stream(None if streams is None else streams[stream]))
        self._free: deque[int] = deque()
        self._settling = False

    def _note(self, part: Part) -> None:
        """Find collectives and messages by their nodes."""
        for call, index in part.calls:
            self._calls[call.positions[index]] = call, index
            self._groups[call.work.group].append(call.positions[index])
        for transfer in part.sends:
            self._sends[transfer.send] = transfer

    def begin(self, peers: Sequence[RankReplay]) -> None:
        """Start every node that nothing holds up. `peers` are all ranks, by number."""
        self._peers = peers
        self._began_ps = self._loop.now
        self._free.extend(position for position, count in enumerate(self._waiting) if not count)
        self._settle()
        if not self._nodes:
            self._finish()

    def stop(self) -> None:
        """End everything where it is."""
        self.done = True
        for process in tuple(self.processes.values()):
            process.stop()

    def waiting_for(self) -> str:
        """Return what the rank waits for, in words."""
        times = zip(self._nodes, self.timetable.starts_ps, self.timetable.ends_ps, strict=True)
        under_way = [str(node) for node, start, end in times if start is not None and end is None]
        text = f"{self.name}: {self._left} node{'' if self._left == 1 else 's'} left"
        return f"{text}, in {', '.join(under_way[:3])}" if under_way else text

    def longest_under_way(self) -> tuple[str | None, int]:
        """Return the node that has been under way for longest, in words, and since when; None and 0 without one."""
        times = zip(self._nodes, self.timetable.starts_ps, self.timetable.ends_ps, strict=True)
        under_way = [(start, str(node)) for node, start, end in times if start is not None and end is None]
        start, node = min(under_way, default=(0, None))
        return (None, 0) if node is None else (node, self._began_ps + start)

    # --- the order of nodes -------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Start what can start now, until nothing more can. What a start brings about is left to the outermost turn."""
        if self._settling:
            return
        self._settling = True
        while True:
            while self._free:
                self._consider(self._free.popleft())
            if not self._start_from_streams():
                break
        self._settling = False

    def _start_from_streams(self) -> bool:
        started = False
        for stream in self._streams.values():
            position = stream.take()
            if position is not None:
                stream.busy = started = True
                self._start(position)
        return started

    def _consider(self, position: int) -> None:
        """Nothing holds the node up any more but, perhaps, its stream."""
        stream = self._stream_of(position)
        if stream is None:
            self._start(position)
            return
        stream.add(position)
        if isinstance(self._nodes[position].work, Send):  # it takes no time: those behind it may follow
            while (send := stream.take()) is not None:
                self._start(send)

    def _stream_of(self, position: int) -> _Stream | None:
        work = self._nodes[position].work
        if isinstance(work, Collective):
            return self._streams[f"group {work.group}"]
        name = _stream_name(work)
        if name is None:
            return None
        return self._sending[name] if isinstance(work, Send) else self._streams[name]

    def _start(self, position: int) -> None:
        self.timetable.start(position, self._loop.now - self._began_ps)
        self._release(self._after_start[position])
        work = self._nodes[position].work
        if isinstance(work, Compute) and self._script.durations_ps[self.rank][position]:
            self._run(position, self._compute(self._script.durations_ps[self.rank][position]))
        elif isinstance(work, Collective) and self._calls[position][0].algorithm is not None:
            self._run(position, self._collective(*self._calls[position]))
        elif isinstance(work, Receive):
            if position in self._arrived:
                self._end(position)
        else:
            if isinstance(work, Send):
                self._send(self._sends[position])
            self._end(position)

    def _end(self, position: int) -> None:
        self.timetable.ends_ps[position] = self._loop.now - self._began_ps
        self._left -= 1
        stream = self._stream_of(position)
        if stream is not None:
            stream.busy = False
        self._release(self._after_end[position])
        self._settle()
        if not self._left:
            self._finish()

    def _release(self, followers: Sequence[int]) -> None:
        for follower in followers:
            self._waiting[follower] -= 1
            if not self._waiting[follower]:
                self._free.append(follower)

    def _finish(self) -> None:
        if not self.done and not self.processes:
            self.done = True
            self._on_done()

    # --- what nodes do ------------------------------------------------------------------------------------------------

    def _run(self, position: int, program: Coroutine[Pause, None, None]) -> None:
        process = Process(self._loop, self.name, program, partial(self._process_done, position))
        self.processes[position] = process
        process.start()

    def _process_done(self, position: int) -> None:
        del self.processes[position]
        if position >= 0:
            self._end(position)
        elif not self._left:
            self._finish()

    async def _compute(self, duration_ps: int) -> None:
        await self._endpoint.sleep(duration_ps, COMPUTE)

    async def _collective(self, call: Call, index: int) -> None:
        assert call.algorithm is not None
        self._memory.bring(call, index)
        await call.algorithm.run(CallSide(call, index, self._endpoint, self._memory))
        await self._endpoint.end(call.number)
        self._memory.check(call, index)

    def _send(self, transfer: Transfer) -> None:
        self._memory.write(transfer)
        for piece, (offset, size) in enumerate(transfer.pieces()):
            self._endpoint.send(
                transfer.destination,
                transfer.step,
                piece,
                source_offset=transfer.source_offset + offset,
                target_offset=transfer.target_offset + offset,
                size_bytes=size,
                channel=MESSAGES,
            )
        self._peers[transfer.destination].expect(transfer)

    def expect(self, transfer: Transfer) -> None:
        """A message to this rank has been posted, behind those that its source has posted before."""
        self._expected[transfer.source].append(transfer)
        process = -1 - transfer.source
        if process not in self.processes and not self.done:
            self._run(process, self._receive(self._expected[transfer.source]))

    async def _receive(self, transfers: deque[Transfer]) -> None:
        """Take what one rank has posted for this one, in its order; each ends its receive, if that has started."""
        while transfers:
            transfer = transfers.popleft()
            for piece, _ in enumerate(transfer.pieces()):
                await self._endpoint.receive(transfer.source, transfer.step, piece, MESSAGES)
            self._memory.compare(transfer)
            self._arrived.add(transfer.receive)
            if self.timetable.starts_ps[transfer.receive] is not None:
                self._end(transfer.receive)


def _stream_name(work: Work) -> str | None:
    """Return the name of the stream whose order comes about in a replay; None for what has no such stream."""
    if isinstance(work, Compute):
        return work.stream
    return f"to rank {work.peer}" if isinstance(work, Send) else None


def streams_of(replay: RankReplay, nodes: Sequence[Node]) -> Streams:
    """Return the order in which the nodes of each stream have run."""
    by_stream: dict[str, list[int]] = defaultdict(list)
    for position, node in enumerate(nodes):
        name = _stream_name(node.work)
        if name is not None:
            by_stream[name].append(position)
    return {stream: replay.timetable.in_order(positions) for stream, positions in by_stream.items()}
