"""Who does what with whom: the collectives and messages of a trace over all its ranks, and what does not fit.

Collectives of one group are matched by their order, as NCCL does: the k-th of each rank of the group are the same one.
Messages are matched by source, destination and tag, in order. A receive from any rank, or with any tag, takes the first
message that no exact receive takes, by source, then by order in the file: so that equal traces are replayed equally.

All that does not fit is reported, each with the rank and the node: a collective that a rank of its group lacks or has
otherwise, a message that nobody receives or sends, ranks that wait for each other in a circle.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from traffic.traces.model import Collective, Node, RankTrace, Receive, Send, Trace
from traffic.traces.places import TraceError, mistake

_MOST_MISTAKES = 20

At = tuple[int, int]
"""A node: its rank, and its position among the rank's nodes."""


@dataclass(frozen=True, slots=True)
class Together:
    """One collective: the `number`-th of its group. `positions` are those of its nodes, in the order of `members`."""

    work: Collective
    number: int
    members: tuple[int, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """One message from a send to a receive."""

    send: At
    receive: At
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Matching:
    """All collectives, group by group and in their order, and all messages, by source and order."""

    collectives: tuple[Together, ...]
    messages: tuple[Message, ...]


def match(trace: Trace) -> Matching:
    """Return who does what with whom. Raises TraceError with a line for each thing that does not fit."""
    mistakes: list[str] = []
    collectives = tuple(_collectives(trace, mistakes))
    messages = tuple(_messages(trace, mistakes))
    if mistakes:
        more = len(mistakes) - _MOST_MISTAKES
        shown = mistakes[:_MOST_MISTAKES] + ([f"{trace.files[0]}: and {more} more such mistakes"] if more > 0 else [])
        raise TraceError("\n".join(shown))
    return Matching(collectives, messages)


def _wrong(rank: RankTrace, node: Node, text: str) -> str:
    return str(mistake(rank.file, node.place, f"rank {rank.rank}, {node}: {text}"))


# --- collectives ------------------------------------------------------------------------------------------------------


def _collectives(trace: Trace, mistakes: list[str]) -> Iterator[Together]:
    calls: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for rank in trace.ranks:
        for position, node in enumerate(rank.nodes):
            if isinstance(node.work, Collective):
                members = trace.members(node.work.group)
                if rank.rank in members:
                    calls[node.work.group][rank.rank].append(position)
                else:
                    text = f"expected a collective of a group that this rank is in, found group {node.work.group}"
                    mistakes.append(_wrong(rank, node, f"{text}, ranks {_listed(members)}"))
    for group, by_rank in calls.items():
        yield from _of_group(trace, group, by_rank, mistakes)


def _of_group(trace: Trace, group: str, by_rank: dict[int, list[int]], mistakes: list[str]) -> Iterator[Together]:
    members = trace.members(group)
    outside = [rank for rank in members if rank >= len(trace.ranks)]
    if outside:
        text = f"expected group {group or 'of all'} to have ranks of the trace, which are 0 to {len(trace.ranks) - 1}"
        mistakes.append(str(mistake(trace.files[0], None, f"{text}, found {outside[0]}")))
        return
    for number in range(max(len(positions) for positions in by_rank.values())):
        have = [rank for rank in members if number < len(by_rank.get(rank, ()))]
        lack = [rank for rank in members if rank not in have]
        first = trace.ranks[have[0]]
        node = first.nodes[by_rank[have[0]][number]]
        assert isinstance(node.work, Collective)
        if lack:
            what = f"{node.work.kind} number {number + 1} of {_group(group)}"
            text = f"expected every rank of the group to have it, found none at rank {lack[0]}"
            more = f" and {len(lack) - 1} more" if len(lack) > 1 else ""
            mistakes.append(_wrong(first, node, f"{what}: {text}{more}"))
            return
        positions = tuple(by_rank[rank][number] for rank in members)
        if not _alike(trace, members, positions, node, number, mistakes):
            return
        yield Together(node.work, number, members, positions)


def _alike(
    trace: Trace, members: tuple[int, ...], positions: tuple[int, ...], node: Node, number: int, mistakes: list[str]
) -> bool:
    """Whether all ranks mean the same collective."""
    work = node.work
    assert isinstance(work, Collective)
    for rank, position in zip(members, positions, strict=True):
        other = trace.ranks[rank].nodes[position]
        theirs = other.work
        assert isinstance(theirs, Collective)
        uneven = work.kind == "all-to-all" and (work.split_bytes or theirs.split_bytes)
        if (
            theirs.kind != work.kind
            or theirs.root != work.root
            or (theirs.size_bytes != work.size_bytes and not uneven)
        ):
            text = (
                f"expected collective number {number + 1} of {_group(work.group)} to be {_said(work)} as at rank "
                f"{members[0]} ({node}), found {_said(theirs)}"
            )
            mistakes.append(_wrong(trace.ranks[rank], other, text))
            return False
        if theirs.split_bytes is not None and len(theirs.split_bytes) != len(members):
            text = f"expected a share for each of {len(members)} ranks, found {len(theirs.split_bytes)}"
            mistakes.append(_wrong(trace.ranks[rank], other, text))
            return False
    if work.root is not None and work.root not in members:
        mistakes.append(_wrong(trace.ranks[members[0]], node, f"expected a root in the group, found rank {work.root}"))
        return False
    return True


def _said(work: Collective) -> str:
    root = "" if work.root is None else f" from rank {work.root}"
    return f"{work.kind} of {work.size_bytes} bytes{root}"


def _group(name: str) -> str:
    return f"group {name}" if name else "all ranks"


def _listed(ranks: tuple[int, ...], most: int = 8) -> str:
    return ", ".join(str(rank) for rank in ranks[:most]) + (", ..." if len(ranks) > most else "")


# --- messages ---------------------------------------------------------------------------------------------------------


def _messages(trace: Trace, mistakes: list[str]) -> Iterator[Message]:
    sends: dict[tuple[int, int, int], deque[At]] = defaultdict(deque)
    receives: list[At] = []
    for rank in trace.ranks:
        for position, node in enumerate(rank.nodes):
            if not isinstance(node.work, (Send, Receive)):
                continue
            peer = node.work.peer
            if peer is not None and (peer >= len(trace.ranks) or peer == rank.rank):
                text = f"expected another rank, 0 to {len(trace.ranks) - 1}, as the peer, found {peer}"
                mistakes.append(_wrong(rank, node, text))
            elif isinstance(node.work, Send):
                sends[rank.rank, node.work.peer, node.work.tag].append((rank.rank, position))
            else:
                receives.append((rank.rank, position))
    found = list(_matched(trace, sends, receives, mistakes))
    for (source, destination, tag), left in sends.items():
        for at in left:
            text = f"expected a receive at rank {destination} from rank {source} with tag {tag}, found none left"
            mistakes.append(_wrong(trace.ranks[source], trace.ranks[source].nodes[at[1]], text))
    yield from sorted(found, key=lambda message: message.send)


def _matched(
    trace: Trace, sends: dict[tuple[int, int, int], deque[At]], receives: list[At], mistakes: list[str]
) -> Iterator[Message]:
    """Take the sends of all receives: the exact ones first."""

    def wild(at: At) -> int:
        work = trace.ranks[at[0]].nodes[at[1]].work
        assert isinstance(work, Receive)
        return (work.peer is None) + (work.tag is None)

    for at in sorted(receives, key=lambda at: (wild(at), at)):
        rank = trace.ranks[at[0]]
        node = rank.nodes[at[1]]
        assert isinstance(node.work, Receive)
        send = _take(sends, node.work, rank.rank)
        if send is None:
            peer = "any rank" if node.work.peer is None else f"rank {node.work.peer}"
            tag = "any tag" if node.work.tag is None else f"tag {node.work.tag}"
            mistakes.append(_wrong(rank, node, f"expected a send from {peer} with {tag}, found none left"))
            continue
        sent = trace.ranks[send[0]].nodes[send[1]]
        assert isinstance(sent.work, Send)
        if sent.work.size_bytes != node.work.size_bytes:
            text = f"expected the {node.work.size_bytes} bytes of this receive to be sent, found a send of "
            mistakes.append(_wrong(rank, node, f"{text}{sent.work.size_bytes} at rank {send[0]} ({sent})"))
            continue
        yield Message(send, at, sent.work.size_bytes)


def _take(sends: dict[tuple[int, int, int], deque[At]], work: Receive, rank: int) -> At | None:
    if work.peer is not None and work.tag is not None:
        queue = sends.get((work.peer, rank, work.tag))
        return queue.popleft() if queue else None
    fit = [
        queue
        for (source, destination, tag), queue in sends.items()
        if queue and destination == rank and work.peer in (None, source) and work.tag in (None, tag)
    ]
    return min(fit, key=lambda queue: queue[0]).popleft() if fit else None
