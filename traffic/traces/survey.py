"""What is inside a trace, in numbers: everything that can be said before anything runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from traffic.traces.matching import match
from traffic.traces.model import Collective, Compute, Marker, Receive, Send, Trace, Unknown, Work
from traffic.traces.order import order
from traffic.traces.places import TraceError


@dataclass(frozen=True, slots=True)
class CollectiveRow:
    """Collectives alike: kind, group, ranks in it, size as nccl-tests counts it, and how many there are."""

    kind: str
    group: str
    ranks: int
    size_bytes: int
    count: int

    @property
    def total_bytes(self) -> int:
        return self.size_bytes * self.count


@dataclass(frozen=True, slots=True)
class MessageRow:
    """Messages alike: from rank to rank, size, and how many there are."""

    source: int
    destination: int
    size_bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class RankRow:
    """One rank: nodes, how long it computes, what it does with others. The collectives' bytes are whole buffers."""

    rank: int
    file: str
    nodes: int
    compute_ps: int
    collectives: int
    collective_bytes: int
    sends: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything about a trace.

    `nodes` counts by what they are, `unknown` those that are not understood by the name of their type, `left_out` what
    the files have beside nodes. `critical_path_ps` is the longest way through the calculations; None when `mistakes`
    says why the trace cannot be replayed.
    """

    format: str
    files: tuple[str, ...]
    ranks: tuple[RankRow, ...]
    groups: dict[str, tuple[int, ...]]
    inferred: tuple[str, ...]
    nodes: dict[str, int]
    collectives: tuple[CollectiveRow, ...]
    messages: tuple[MessageRow, ...]
    compute_ps: dict[str, int]
    critical_path_ps: int | None
    unknown: dict[str, int]
    left_out: dict[str, int]
    mistakes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return asdict(self)


def survey(trace: Trace) -> Survey:
    """Look at all of a trace; it need not fit together."""
    works = [(rank.rank, node.work) for rank in trace.ranks for node in rank.nodes]
    critical_path_ps, mistakes = _critical_path(trace)
    left_out: Counter[str] = Counter()
    for rank in trace.ranks:
        left_out.update(rank.left_out)
    return Survey(
        format=trace.format,
        files=trace.files,
        ranks=tuple(_rank_row(trace, rank.rank) for rank in trace.ranks),
        groups=dict(trace.groups),
        inferred=trace.inferred,
        nodes=_sorted(Counter(_what(work) for _, work in works)),
        collectives=_collective_rows(trace, works),
        messages=_message_rows(works),
        compute_ps=_compute(works),
        critical_path_ps=critical_path_ps,
        unknown=_sorted(Counter(work.what for _, work in works if isinstance(work, Unknown))),
        left_out=_sorted(left_out),
        mistakes=mistakes,
    )


def _critical_path(trace: Trace) -> tuple[int | None, tuple[str, ...]]:
    try:
        return order(trace, match(trace)).critical_path_ps, ()
    except TraceError as error:
        return None, tuple(str(error).splitlines())


def _what(work: Work) -> str:
    names: dict[type, str] = {Send: "send", Receive: "receive", Collective: "collective", Marker: "marker"}
    if isinstance(work, Compute):
        return f"compute ({work.stream})"
    return names.get(type(work), "unknown")


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _rank_row(trace: Trace, number: int) -> RankRow:
    rank = trace.ranks[number]
    works = [node.work for node in rank.nodes]
    collectives = [work.size_bytes for work in works if isinstance(work, Collective)]
    sends = [work.size_bytes for work in works if isinstance(work, Send)]
    return RankRow(
        rank=number,
        file=rank.file,
        nodes=len(works),
        compute_ps=sum(work.duration_ps for work in works if isinstance(work, Compute)),
        collectives=len(collectives),
        collective_bytes=sum(collectives),
        sends=len(sends),
        sent_bytes=sum(sends),
    )


def _collective_rows(trace: Trace, works: list[tuple[int, Work]]) -> tuple[CollectiveRow, ...]:
    """Count the collectives as their group's first rank has them; where that has none, as the next one."""
    counts: Counter[tuple[str, str, int]] = Counter()
    spokesman: dict[str, int] = {}
    for rank, work in works:
        if isinstance(work, Collective) and spokesman.setdefault(work.group, rank) == rank:
            counts[work.kind, work.group, work.size_bytes] += 1
    rows = (
        CollectiveRow(kind, group, len(trace.members(group)), size, count)
        for (kind, group, size), count in counts.items()
    )
    return tuple(sorted(rows, key=lambda row: (-row.total_bytes, row.kind, row.group, row.size_bytes)))


def _message_rows(works: list[tuple[int, Work]]) -> tuple[MessageRow, ...]:
    counts = Counter((rank, work.peer, work.size_bytes) for rank, work in works if isinstance(work, Send))
    return tuple(MessageRow(*key, count) for key, count in sorted(counts.items()))


def _compute(works: list[tuple[int, Work]]) -> dict[str, int]:
    """Return how long all ranks together compute, by stream."""
    total: Counter[str] = Counter()
    for _, work in works:
        if isinstance(work, Compute):
            total[work.stream] += work.duration_ps
    return _sorted(total)
