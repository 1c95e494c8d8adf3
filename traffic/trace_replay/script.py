"""What a replay is going to do, worked out before it starts: who runs what, where its data lies, and on which channel.

Every collective and every message has a place of its own in the buffers of its ranks, which nothing else ever uses: so
nobody needs leave to write. The place of a collective is the same at all its ranks; ranks that have nothing in common
have their places beside each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from testbed.scenario.limits import ELEMENT_BYTES, FLOW_MESSAGE_BYTES
from traffic.collectives.algorithm import Algorithm, Connection
from traffic.collectives.memory import Layout
from traffic.traces.casting import STAND_INS, Options, algorithm_name, cast_algorithm
from traffic.traces.matching import Matching, Together
from traffic.traces.model import Collective, Compute, Trace

MESSAGES = 0
"""The channel of messages; groups have those above."""


@dataclass(frozen=True, slots=True)
class Call:
    """One collective: the node at `positions` of each of `ranks`.

    `algorithm`: None when there is nothing to do (one rank, or no bytes). Its channels start at `channel`, its steps at
    `first_step`, and its areas lie as `layout` says, from `offset` on.
    """

    number: int
    work: Collective
    ranks: tuple[int, ...]
    positions: tuple[int, ...]
    algorithm: Algorithm | None
    algorithm_name: str
    layout: Layout | None
    channel: int
    first_step: int
    offset: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """One message: from a node to a node, `size_bytes` from `source_offset` to `target_offset`, known by its `step`."""

    index: int
    source: int
    send: int
    destination: int
    receive: int
    step: int
    size_bytes: int
    source_offset: int
    target_offset: int

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Yield (offset in the message, bytes) of each RDMA message that carries it; an empty one is one, too."""
        for offset in range(0, max(self.size_bytes, 1), FLOW_MESSAGE_BYTES):
            yield offset, min(FLOW_MESSAGE_BYTES, self.size_bytes - offset)


@dataclass(frozen=True, slots=True)
class Part:
    """One rank's part in a replay: its collectives, each with its index among that one's ranks, and what it sends."""

    calls: tuple[tuple[Call, int], ...]
    sends: tuple[Transfer, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """All of a replay; `parts` are those of the ranks.

    `steps` are those of each collective and message: a message's step, divided by it, says what it belongs to.
    `durations_ps` are those of the nodes of each rank, scaled; 0 for what is no calculation.
    """

    trace: Trace
    calls: tuple[Call, ...]
    transfers: tuple[Transfer, ...]
    parts: tuple[Part, ...]
    connections: tuple[Connection, ...]
    steps: int
    durations_ps: tuple[tuple[int, ...], ...]
    buffer_bytes: int
    stand_ins: Mapping[str, int]


def write_script(trace: Trace, matching: Matching, hosts: Sequence[int], options: Options) -> Script:
    """Work out the replay of a checked trace; `hosts` says for each rank which host it is on.

    Raises ValueError with what an algorithm refuses.
    """
    return _Writer(trace, matching, hosts, options).script()


class _Writer:
    def __init__(self, trace: Trace, matching: Matching, hosts: Sequence[int], options: Options) -> None:
        self._trace = trace
        self._matching = matching
        self._hosts = hosts
        self._options = options
        self._top = [0] * len(trace.ranks)
        self._connections: dict[Connection, None] = {}
        self._stand_ins: Counter[str] = Counter()
        self._steps = 1

    def script(self) -> Script:
        calls = tuple(self._calls())
        transfers = tuple(self._transfers())
        return Script(
            trace=self._trace,
            calls=calls,
            transfers=transfers,
            parts=tuple(_parts(len(self._trace.ranks), calls, transfers)),
            connections=tuple(sorted(self._connections)),
            steps=self._steps,
            durations_ps=tuple(self._durations(rank) for rank in range(len(self._trace.ranks))),
            buffer_bytes=max(max(self._top), ELEMENT_BYTES),
            stand_ins=dict(sorted(self._stand_ins.items())),
        )

    def _durations(self, rank: int) -> tuple[int, ...]:
        works = (node.work for node in self._trace.ranks[rank].nodes)
        factor = self._options.compute_factor
        return tuple(int(work.duration_ps * factor) if isinstance(work, Compute) else 0 for work in works)

    # --- collectives --------------------------------------------------------------------------------------------------

    def _calls(self) -> Iterator[Call]:
        """Each group has channels of its own, as many as its algorithms need. All collectives have `_steps` steps."""
        first_channel = dict.fromkeys((each.work.group for each in self._matching.collectives), 0)
        made = [(together, self._cast(together)) for together in self._matching.collectives]
        channels = dict.fromkeys(first_channel, 0)
        for together, algorithm in made:
            channels[together.work.group] = max(channels[together.work.group], _channels(algorithm))
        next_channel = MESSAGES + 1
        for group in first_channel:
            first_channel[group] = next_channel
            next_channel += channels[group]
        self._steps = max((algorithm.steps for _, algorithm in made if algorithm is not None), default=1)
        for number, (together, algorithm) in enumerate(made):
            yield self._call(number, together, algorithm, first_channel[together.work.group])

    def _call(self, number: int, together: Together, algorithm: Algorithm | None, channel: int) -> Call:
        layout, offset = None, 0
        if algorithm is not None:
            layout = Layout([algorithm], 1)
            offset = self._place(together.members, layout.buffer_bytes)
            for source, destination, own in algorithm.connections():
                ends = together.members[source], together.members[destination]
                self._connections[Connection(*ends, channel + own)] = None
        members, positions, first_step = together.members, together.positions, number * self._steps
        name = "none" if algorithm is None else algorithm_name(algorithm.shape.collective, self._options)
        return Call(number, together.work, members, positions, algorithm, name, layout, channel, first_step, offset)

    def _cast(self, together: Together) -> Algorithm | None:
        algorithm = cast_algorithm(self._trace, together, self._hosts, self._options)
        if algorithm is not None and together.work.kind in STAND_INS:
            self._stand_ins[f"{together.work.kind} as {algorithm.shape.collective}"] += 1
        return algorithm

    def _place(self, ranks: Sequence[int], size_bytes: int) -> int:
        """Return the first offset that is free at all of `ranks`, and take it there."""
        offset = max(self._top[rank] for rank in ranks)
        for rank in ranks:
            self._top[rank] = offset + -(-size_bytes // ELEMENT_BYTES) * ELEMENT_BYTES
        return offset

    # --- messages -----------------------------------------------------------------------------------------------------

    def _transfers(self) -> Iterator[Transfer]:
        first = len(self._matching.collectives)
        for index, message in enumerate(self._matching.messages):
            (source, send), (destination, receive) = message.send, message.receive
            size = int(message.size_bytes * self._options.bytes_factor)
            self._connections[Connection(source, destination, MESSAGES)] = None
            yield Transfer(
                index=index,
                source=source,
                send=send,
                destination=destination,
                receive=receive,
                step=(first + index) * self._steps,
                size_bytes=size,
                source_offset=self._place([source], size),
                target_offset=self._place([destination], size),
            )


def _parts(ranks: int, calls: Sequence[Call], transfers: Sequence[Transfer]) -> Iterator[Part]:
    """Yield each rank's part."""
    calls_of: list[list[tuple[Call, int]]] = [[] for _ in range(ranks)]
    sends_of: list[list[Transfer]] = [[] for _ in range(ranks)]
    for call in calls:
        for index, rank in enumerate(call.ranks):
            calls_of[rank].append((call, index))
    for transfer in transfers:
        sends_of[transfer.source].append(transfer)
    for own_calls, sends in zip(calls_of, sends_of, strict=True):
        yield Part(tuple(own_calls), tuple(sends))


def _channels(algorithm: Algorithm | None) -> int:
    return 1 if algorithm is None else 1 + max((each.channel for each in algorithm.connections()), default=0)
