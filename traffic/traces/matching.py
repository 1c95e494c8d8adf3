"""Who does what with whom: the collectives and messages of a trace over all its ranks, and what does not fit.

Collectives of one group are matched by their order, as NCCL does: the k-th of each rank of the group are the same one.
Messages are matched by source, destination and tag, in order. A receive from any rank, or with any tag, takes the first
message that no exact receive takes, by source, then by order in the file: so that equal traces are replayed equally.

All that does not fit is reported, each with the rank and the node: a collective that a rank of its group lacks or has
otherwise, a message that nobody receives or sends, ranks that wait for each other in a circle.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from traffic.traces.model import ALL_RANKS, Collective, Node, RankTrace, Receive, Send, Trace
from traffic.traces.places import TraceError, mistake

_MOST_MISTAKES = 20

At = tuple[int, int]
"""A node: its rank, and its position among the rank's nodes."""

_Wanted = tuple[int | None, int, int | None]
"""What a receive asks for: a source, or any (None), its own rank, and a tag, or any."""


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
    members = {group: frozenset(trace.members(group)) for group in (*trace.groups, ALL_RANKS)}
    for rank in trace.ranks:
        for position, node in enumerate(rank.nodes):
            if not isinstance(node.work, Collective):
                continue
            group = node.work.group
            if rank.rank in members[group]:
                calls[group][rank.rank].append(position)
            else:
                text = f"expected a collective of a group that this rank is in, found group {group}"
                mistakes.append(_wrong(rank, node, f"{text}, ranks {_listed(trace.members(group))}"))
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
        lack = [rank for rank in members if number >= len(by_rank.get(rank, ()))]
        if lack:
            first = trace.ranks[next(rank for rank in members if number < len(by_rank.get(rank, ())))]
            node = first.nodes[by_rank[first.rank][number]]
            assert isinstance(node.work, Collective)
            what = f"{node.work.kind} number {number + 1} of {_group(group)}"
            text = f"expected every rank of the group to have it, found none at rank {lack[0]}"
            more = f" and {len(lack) - 1} more" if len(lack) > 1 else ""
            mistakes.append(_wrong(first, node, f"{what}: {text}{more}"))
            return
        together = _together(trace, by_rank, members, number)
        wrong = _unlike(trace, together)
        if wrong is not None:
            mistakes.append(wrong)
            return
        yield together


def _together(trace: Trace, by_rank: dict[int, list[int]], members: tuple[int, ...], number: int) -> Together:
    """Return the `number`-th collective of a group, all of whose ranks have one."""
    positions = tuple(by_rank[rank][number] for rank in members)
    work = trace.ranks[members[0]].nodes[positions[0]].work
    assert isinstance(work, Collective)
    return Together(work, number, members, positions)


def _unlike(trace: Trace, together: Together) -> str | None:
    """Return what is wrong where not all ranks mean the same collective; None if they do."""
    members, work = together.members, together.work
    at = list(zip(members, together.positions, strict=True))
    nodes = [trace.ranks[rank].nodes[position] for rank, position in at]
    parts = [node.work for node in nodes if isinstance(node.work, Collective)]
    uneven = work.kind == "all-to-all" and any(part.split_bytes is not None for part in parts)
    for rank, node, theirs in zip(members, nodes, parts, strict=True):
        said = theirs.kind, theirs.root, None if uneven else theirs.size_bytes
        if said != (work.kind, work.root, None if uneven else work.size_bytes):
            text = (
                f"expected collective number {together.number + 1} of {_group(work.group)} to be {_said(work)} as at "
                f"rank {members[0]} ({nodes[0]}), found {_said(theirs)}"
            )
            return _wrong(trace.ranks[rank], node, text)
        if theirs.split_bytes is not None and len(theirs.split_bytes) != len(members):
            text = f"expected a share for each of {len(members)} ranks, found {len(theirs.split_bytes)}"
            return _wrong(trace.ranks[rank], node, text)
    if work.root is not None and work.root not in members:
        return _wrong(trace.ranks[members[0]], nodes[0], f"expected a root in the group, found rank {work.root}")
    return None


def _said(work: Collective) -> str:
    root = "" if work.root is None else f" from rank {work.root}"
    return f"{work.kind} of {work.size_bytes} bytes{root}"


def _group(name: str) -> str:
    return f"group {name}" if name else "all ranks"


def _listed(ranks: tuple[int, ...], most: int = 8) -> str:
    return ", ".join(str(rank) for rank in ranks[:most]) + (", ..." if len(ranks) > most else "")


# --- messages ---------------------------------------------------------------------------------------------------------


class _Sends:
    """The sends of a trace that no receive has taken yet, by what a receive can ask for: source, destination and tag,
    any source, any tag. Each send stands behind earlier ones, by source and position, in all lines that fit it."""

    def __init__(self, receives: Mapping[At, Receive]) -> None:
        self._lines: dict[_Wanted, deque[At]] = {_wanted(at, receive): deque() for at, receive in receives.items()}
        self._taken: set[At] = set()

    def add(self, at: At, send: Send) -> None:
        """Add a send, which comes after those added before."""
        for wanted in _fitting(at, send):
            line = self._lines.get(wanted)
            if line is not None:
                line.append(at)

    def take(self, wanted: _Wanted) -> At | None:
        """Return the first send that fits, which is then gone; None when there is none left."""
        line = self._lines[wanted]
        while line:
            at = line.popleft()
            if at not in self._taken:
                self._taken.add(at)
                return at
        return None

    def __contains__(self, at: At) -> bool:
        return at not in self._taken


def _wanted(at: At, receive: Receive) -> _Wanted:
    return receive.peer, at[0], receive.tag


def _fitting(at: At, send: Send) -> Iterator[_Wanted]:
    """Yield every way in which a receive can ask for a send."""
    for source in (at[0], None):
        for tag in (send.tag, None):
            yield source, send.peer, tag


def _messages(trace: Trace, mistakes: list[str]) -> Iterator[Message]:
    sends: dict[At, Send] = {}
    receives: dict[At, Receive] = {}
    for rank in trace.ranks:
        for position, node in enumerate(rank.nodes):
            work = node.work
            if not isinstance(work, (Send, Receive)):
                continue
            if work.peer is not None and (work.peer >= len(trace.ranks) or work.peer == rank.rank):
                text = f"expected another rank, 0 to {len(trace.ranks) - 1}, as the peer, found {work.peer}"
                mistakes.append(_wrong(rank, node, text))
            elif isinstance(work, Send):
                sends[rank.rank, position] = work
            else:
                receives[rank.rank, position] = work
    left = _Sends(receives)
    for at, send in sends.items():
        left.add(at, send)
    found = list(_matched(trace, left, sends, receives, mistakes))
    for at, send in sends.items():
        if at in left:
            text = f"expected a receive at rank {send.peer} from rank {at[0]} with tag {send.tag}, found none left"
            mistakes.append(_wrong(trace.ranks[at[0]], trace.ranks[at[0]].nodes[at[1]], text))
    yield from sorted(found, key=lambda message: message.send)


def _matched(
    trace: Trace,
    left: _Sends,
    sends: Mapping[At, Send],
    receives: Mapping[At, Receive],
    mistakes: list[str],
) -> Iterator[Message]:
    """Take the sends of all receives: the exact ones first."""
    for at in sorted(receives, key=lambda at: (_openness(receives[at]), at)):
        rank, receive = trace.ranks[at[0]], receives[at]
        node = rank.nodes[at[1]]
        send = left.take(_wanted(at, receive))
        if send is None:
            peer = "any rank" if receive.peer is None else f"rank {receive.peer}"
            tag = "any tag" if receive.tag is None else f"tag {receive.tag}"
            mistakes.append(_wrong(rank, node, f"expected a send from {peer} with {tag}, found none left"))
        elif sends[send].size_bytes != receive.size_bytes:
            sent = trace.ranks[send[0]].nodes[send[1]]
            text = f"expected the {receive.size_bytes} bytes of this receive to be sent, found a send of "
            mistakes.append(_wrong(rank, node, f"{text}{sends[send].size_bytes} at rank {send[0]} ({sent})"))
        else:
            yield Message(send, at, receive.size_bytes)


def _openness(receive: Receive) -> int:
    """How many of source and tag a receive leaves open."""
    return (receive.peer is None) + (receive.tag is None)
