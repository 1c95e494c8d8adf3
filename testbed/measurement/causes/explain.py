"""Explains a run: brings together what was collected on the way, the contention-free run, and the names of causes.

transits (`collect`) + messages of the run and of the contention-free run -> `spread` -> each rank's stall in parts
"""

from collections import deque
from collections.abc import Iterator, Sequence

from testbed.engine.fabric import ModelFabric
from testbed.measurement.causes.collect import Transit, TransitCollector
from testbed.measurement.causes.lateness import Lateness, Part, fitted, walk
from testbed.measurement.causes.model import (
    CLEAR_TO_SEND,
    FAILURE,
    NVLINK,
    OWN_PACKETS,
    STRAGGLER,
    Cause,
    Delayed,
    Explanation,
    Stall,
    StallPart,
    Unexplained,
)
from testbed.measurement.causes.naming import Naming
from testbed.measurement.causes.spread import Travelled, Waited, spread
from testbed.measurement.causes.stalls import Seen
from testbed.measurement.causes.walk import PAUSED, Stretch
from testbed.measurement.pauses import PauseReport
from testbed.measurement.records import DropRecord
from traffic.results import COMPUTE, START, CollectiveResult, FlowResult, MessageRecord, TraceResult, Wait

_NO_CAUSE = -2
"""Of a wait that a message ended: it has the causes."""


def explained(
    collector: TransitCollector,
    fabric: ModelFabric,
    drops: Sequence[DropRecord],
    pauses: PauseReport | None,
    results: Sequence[CollectiveResult | FlowResult | TraceResult],
) -> Explanation | Unexplained:
    """Return the explanation of a run, or why there is none: a run is worth more than what explains it."""
    if collector.failed is not None:
        return collector.failed
    try:
        return explanation_of(collector, fabric, drops, pauses, results)
    except Exception as error:
        return Unexplained.by(error)


def explanation_of(
    collector: TransitCollector,
    fabric: ModelFabric,
    drops: Sequence[DropRecord],
    pauses: PauseReport | None,
    results: Sequence[CollectiveResult | FlowResult | TraceResult],
) -> Explanation:
    """Return why the ranks of all collectives and traces, and all flows, took longer than they would have alone."""
    naming = Naming(fabric.plan, collector, drops, pauses)
    explainer = _Explainer(collector, naming)
    collectives = [result for result in results if isinstance(result, CollectiveResult)]
    flows = [result for result in results if isinstance(result, FlowResult)]
    traces = [result for result in results if isinstance(result, TraceResult)]
    stalls = [
        Stall(index, None, rank, stall_ps, parts)
        for index, result in enumerate(collectives)
        for rank, stall_ps, parts in explainer.ranks(result)
    ]
    stalls += [explainer.flow(index, result) for index, result in enumerate(flows)]
    stalls += [
        Stall(None, None, rank, stall_ps, parts, index)
        for index, result in enumerate(traces)
        for rank, stall_ps, parts in explainer.ranks(result)
    ]
    return Explanation(tuple(naming.causes), tuple(stalls), explainer.delayed, collector.paused())


_OfRanks = CollectiveResult | TraceResult

_Times = tuple[int | None, int | None]


class _Explainer:
    def __init__(self, collector: TransitCollector, naming: Naming) -> None:
        self._naming = naming
        self._transits = _Transits(collector)
        self._job = ""
        self.delayed: dict[int, Delayed] = {}

    # --- collectives and traces ---------------------------------------------------------------------------------------

    def ranks(self, result: _OfRanks) -> Iterator[tuple[str, int, tuple[StallPart, ...]]]:
        """Yield every rank of a collective or trace: its name, its stall, and the parts of that."""
        number_of = {name: rank for rank, name in enumerate(result.ranks)}
        self._job = result.name
        alone = _AloneTimes(result)
        messages = [self._travelled(record, alone.of(record), number_of) for record in result.messages]
        waits = [*self._waits(result, number_of)]
        stalls = [result.stall_ps_by_rank[name] for name in result.ranks]
        own = [self._naming.number(Cause(STRAGGLER, name, "its own compute")) for name in result.ranks]
        failed = self._failed(result.failure)
        rest = [failed if result.failure else self._unseen(name, result.messages) for name in result.ranks]
        overlaps = isinstance(result, TraceResult) or result.buckets > 1
        seen = spread(messages, waits, own, stalls, failed, rest, overlaps=overlaps)
        for name, stall_ps, of_rank in zip(result.ranks, stalls, seen, strict=True):
            yield name, stall_ps, _parts(of_rank, result.ranks)

    def _travelled(self, record: MessageRecord, alone: _Times, number_of: dict[str, int]) -> Travelled:
        return Travelled(
            source=number_of[record.source],
            destination=number_of[record.destination],
            posted_ps=record.posted_ps,
            arrived_ps=record.arrived_ps,
            ideal_posted_ps=alone[0],
            ideal_arrived_ps=alone[1],
            parts=self._way_of_word(record) if alone == (None, None) else self._delays(record),
            rest=self._rest(record),
        )

    def _waits(self, result: _OfRanks, number_of: dict[str, int]) -> Iterator[Waited]:
        """Yield the waits for data, each with the message that ended it."""
        records = result.messages
        arrivals: dict[tuple[str, int], list[int]] = {}
        for index, record in enumerate(records):
            if record.arrived_ps is not None:
                arrivals.setdefault((record.destination, record.arrived_ps), []).append(index)
        for wait in result.waits:
            if wait.what not in (COMPUTE, START):
                candidates = arrivals.get((wait.rank, wait.end_ps), [])
                message = next((i for i in candidates if _is_for(wait, records[i])), next(iter(candidates), None))
                cause = self._naming.number(self._other_wait(wait, result.failure)) if message is None else _NO_CAUSE
                yield Waited(number_of[wait.rank], wait.start_ps, wait.end_ps, message, cause)

    def _other_wait(self, wait: Wait, failure: str | None) -> Cause:
        """A wait that no message ended."""
        return Cause(FAILURE, "", failure) if failure else Cause(CLEAR_TO_SEND, wait.rank, wait.what)

    # --- flows --------------------------------------------------------------------------------------------------------

    def flow(self, index: int, result: FlowResult) -> Stall:
        """Return why a flow took longer than alone: what delayed the message that arrived last."""
        self._job = result.name
        took_ps = result.end_ps - result.start_ps if result.time_ps is None else result.time_ps
        stall_ps = max(0, took_ps - result.ideal_ps)
        last = max((m for m in result.messages if not m.control), key=_arrival_ps, default=None)
        if last is None or last.arrived_ps is None or result.failure:
            chain = fitted(None, (), stall_ps, Part(self._failed(result.failure), 0, result.start_ps, result.end_ps))
        else:
            rest = Part(self._rest(last), 0, result.start_ps, result.end_ps)
            chain = fitted(None, self._delays(last), stall_ps, rest)
        return Stall(None, index, result.destination, stall_ps, _parts([_whole(chain)], ()))

    # --- messages -----------------------------------------------------------------------------------------------------

    def _delays(self, record: MessageRecord) -> tuple[Part, ...]:
        """Return what delayed a message that has arrived, in the order of time."""
        transit = self._transits.of(record)
        if transit is None:
            return ()
        parts = [self._part(stretch) for stretch in transit.stretches]
        self._note_delayed(record, parts)
        admitted_ps = transit.posted_ps
        if admitted_ps > record.posted_ps:
            cause = self._naming.number(Cause(CLEAR_TO_SEND, record.destination, f"from {record.source}"))
            parts.insert(0, Part(cause, admitted_ps - record.posted_ps, record.posted_ps, admitted_ps))
        return tuple(parts)

    def _way_of_word(self, record: MessageRecord) -> tuple[Part, ...]:
        """Return how long a message took that the contention-free run does without: word that a buffer is free."""
        if record.arrived_ps is None:
            return ()
        word = f"word to {record.destination} that its buffers are free again"
        cause = self._naming.number(Cause(CLEAR_TO_SEND, record.source, word))
        return (Part(cause, record.arrived_ps - record.posted_ps, record.posted_ps, record.arrived_ps),)

    def _part(self, stretch: Stretch) -> Part:
        paused_since_ps = stretch.found.event if stretch.found.kind == PAUSED else None
        times = stretch.duration_ps, stretch.first_ps, stretch.last_ps
        return Part(self._naming.cause_of(stretch), *times, paused_since_ps)

    def _note_delayed(self, record: MessageRecord, parts: Sequence[Part]) -> None:
        """Keep which message a loss hit: the first in the order of posts, which a queue pair's packets have too."""
        for part in parts:
            if self._naming.causes[part.cause].packet is not None and part.cause not in self.delayed:
                names = record.source, record.destination
                self.delayed[part.cause] = Delayed(self._job, *names, record.step, record.piece)

    def _rest(self, record: MessageRecord) -> int:
        """Return the cause of what a message took longer without any of the delays that were found."""
        kind = NVLINK if record.queue_pair is None else OWN_PACKETS
        where = record.nic or record.source
        return self._naming.number(Cause(kind, where, f"{record.source} to {record.destination}"))

    def _unseen(self, rank: str, messages: Sequence[MessageRecord]) -> int:
        """Return the cause of what a rank waited for more in all than any one of its waits shows."""
        if any(each.control for each in messages):
            return self._naming.number(Cause(CLEAR_TO_SEND, rank, "acknowledgements, before buffers are free again"))
        return self._naming.number(Cause(OWN_PACKETS, rank, f"messages to {rank} in another order than alone"))

    def _failed(self, failure: str | None) -> int:
        return self._naming.number(Cause(FAILURE, "", failure or ""))


class _Transits:
    """Finds the transit of a message; of one that was split over queue pairs, that of the part that arrived last."""

    def __init__(self, collector: TransitCollector) -> None:
        self._by_key = collector.transits
        self._by_arrival: dict[tuple[str, int], list[Transit]] = {}
        for (nic, _, _), transit in collector.transits.items():
            self._by_arrival.setdefault((nic, transit.arrived_ps), []).append(transit)

    def of(self, record: MessageRecord) -> Transit | None:
        """Return the transit of a message that has arrived; None of one that crossed no wire."""
        if record.queue_pair is None or record.arrived_ps is None:
            return None
        transit = self._by_key.get((record.nic, record.queue_pair, record.first_sequence))
        if transit is not None and transit.arrived_ps == record.arrived_ps:
            return transit
        arrived = self._by_arrival.get((record.nic, record.arrived_ps), ())
        return next((each for each in arrived if each.posted_ps >= record.posted_ps), transit)


class _AloneTimes:
    """When each message of a collective was posted and arrived in the contention-free run.

    Messages of several channels may have ranks, step and piece in common: these are taken in the order of their posts.
    """

    def __init__(self, result: _OfRanks) -> None:
        self._times: dict[tuple[str, str, int, int], deque[_Times]] = {}
        for message in sorted(result.ideal_messages, key=lambda each: each.posted_ps):
            key = result.ranks[message.source], result.ranks[message.destination], message.step, message.piece
            self._times.setdefault(key, deque()).append((message.posted_ps, message.arrived_ps))

    def of(self, record: MessageRecord) -> _Times:
        """Return the times of a message, once; None for one that there was no need of."""
        times = self._times.get((record.source, record.destination, record.step, record.piece))
        return times.popleft() if times and not record.control else (None, None)


def _whole(lateness: Lateness) -> Seen:
    """Return all of a lateness that no rank has handed on."""
    return Seen(tuple(link.part for link in walk(lateness)), None)


def _is_for(wait: Wait, record: MessageRecord) -> bool:
    return not record.control and (wait.step, wait.piece) == (record.step, record.piece)


def _arrival_ps(record: MessageRecord) -> int:
    return -1 if record.arrived_ps is None else record.arrived_ps


class _Sum:
    """A part of a stall while it is summed up; the largest of those that it is made of is `most`, which `seen` has."""

    __slots__ = ("duration_ps", "first_ps", "last_ps", "most", "seen")

    def __init__(self, part: Part, seen: Seen) -> None:
        self.duration_ps = 0
        self.first_ps, self.last_ps = part.first_ps, part.last_ps
        self.most, self.seen = part, seen

    def add(self, part: Part, seen: Seen) -> None:
        self.duration_ps += part.duration_ps
        self.first_ps = min(self.first_ps, part.first_ps)
        self.last_ps = max(self.last_ps, part.last_ps)
        if part.duration_ps > self.most.duration_ps:
            self.most, self.seen = part, seen


def _parts(stall: Sequence[Seen], ranks: Sequence[str]) -> tuple[StallPart, ...]:
    """Return the parts of a stall, one for each cause, what cost most first."""
    sums: dict[int, _Sum] = {}
    for seen in stall:
        for part in seen.parts:
            sums.setdefault(part.cause, _Sum(part, seen)).add(part, seen)
    parts = []
    for cause, of in sums.items():
        way = tuple((ranks[rank], time_ps) for rank, time_ps in of.seen.way(of.most))
        parts.append(StallPart(cause, of.duration_ps, of.first_ps, of.last_ps, way))
    return tuple(sorted(parts, key=lambda part: (-part.duration_ps, part.cause)))
