"""How lateness spreads through a collective: along its messages, from rank to rank.

The run and the contention-free run carry out the same program, so each message has been posted and has arrived in both.
In the order of the run's time:

    a rank posts a message      its lateness is the rank's; what the rank has lost since its last wait is its own doing
    the message arrives         that lateness, and what the message's way took longer; of a message that had to wait
                                for the one before it on its connection, that one's lateness, if it is more
    a rank ends a wait for it   the rank is as late as the message

A rank's *stall* is what its waits took longer in all. Each of its waits has seen something of it (`stalls`): what the
message that ended it was later than the rank. What compute absorbed nobody waited for, so it is in no rank's stall.

Known limits: ranks are followed, not the processes in a rank: what a rank posts is put down to the wait that it ended
last. Parts are exact in sum; which of two delays the slack of the contention-free run made good is a matter of rule
(`lateness`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from testbed.measurement.causes.lateness import (
    Lateness,
    Part,
    fitted,
    lost_before,
    passed_on,
    total_ps,
    with_part,
)
from testbed.measurement.causes.stalls import RankStall, Seen


@dataclass(frozen=True, slots=True)
class Travelled:
    """A message: from rank to rank, when it was posted and arrived in the run (None: never) and in the contention-free
    one, and the parts of its delay, in the order of time. `rest` is the cause of what no part explains.

    A message that the contention-free run does without (word that a rank is ready) has no times there: it hands on its
    rank's lateness, and its parts.
    """

    source: int
    destination: int
    posted_ps: int
    arrived_ps: int | None
    ideal_posted_ps: int | None
    ideal_arrived_ps: int | None
    parts: tuple[Part, ...]
    rest: int


class Waited(NamedTuple):
    """A rank waited; `message` is the index of what it waited for, None for something that is no message: then `cause`
    says what it was."""

    rank: int
    start_ps: int
    end_ps: int
    message: int | None
    cause: int


_ARRIVAL, _WAIT_ENDS, _POST = 0, 1, 2


def spread(
    messages: Sequence[Travelled],
    waits: Sequence[Waited],
    own_doing: Sequence[int],
    stalls_ps: Sequence[int],
    unarrived: int,
    rest: Sequence[int],
    *,
    overlaps: bool = False,
) -> list[tuple[Seen, ...]]:
    """Return what each rank's waits saw of its stall, in the order of time: it adds up to its `stalls_ps` exactly.

    `own_doing` has the cause of each rank for time that it takes itself; it is no part of the rank's own stall.
    `unarrived` is the cause of waits for messages that never arrived, `rest` has that of each rank for what none of
    its waits saw. `overlaps`: ranks compute meanwhile, so that not
    all that they wait for is among `waits`; a rank that posts later than its last wait explains is then as late as the
    message that came to it last.
    """
    late: list[Lateness] = [None] * len(stalls_ps)
    arrived: dict[int, Lateness] = {}
    latest: dict[tuple[int, int], int] = {}
    heard: list[Lateness] = [None] * len(stalls_ps)
    stalled = [RankStall(own) for own in own_doing]
    for time_ps, kind, index in _events(messages, waits):
        if kind == _ARRIVAL:
            heard[messages[index].destination] = passed_on(arrived[index], messages[index].destination, time_ps)
        elif kind == _POST:
            message = messages[index]
            _hear(message, late, heard if overlaps else None)
            before = latest.get((message.source, message.destination))
            ahead = None if before is None else _ahead(messages[before], arrived[before], time_ps)
            arrived[index] = _sent(message, ahead, late, own_doing)
            if message.ideal_posted_ps is not None:
                latest[message.source, message.destination] = index
                if not overlaps:
                    stalled[message.source].posts(time_ps - message.ideal_posted_ps)
        else:
            wait = waits[index]
            late[wait.rank] = _after(wait, late[wait.rank], messages, arrived, unarrived, stalled[wait.rank])
    return [account.fitted(stall_ps, cause) for account, stall_ps, cause in zip(stalled, stalls_ps, rest, strict=True)]


def _events(messages: Sequence[Travelled], waits: Sequence[Waited]) -> list[tuple[int, int, int]]:
    """Return arrivals, the ends of waits and posts, in the order of time; where that is equal, in this order."""
    arrivals = [
        (message.arrived_ps, _ARRIVAL, index)
        for index, message in enumerate(messages)
        if message.arrived_ps is not None and message.arrived_ps > message.posted_ps
    ]
    ends = [(wait.end_ps, _WAIT_ENDS, index) for index, wait in enumerate(waits)]
    posts = [(message.posted_ps, _POST, index) for index, message in enumerate(messages)]
    return sorted(arrivals + ends + posts)


def _hear(message: Travelled, late: list[Lateness], heard: Sequence[Lateness] | None) -> None:
    """A rank that posts `message` may be as late as what it has `heard` last, if its waits do not explain it."""
    rank = message.source
    if heard is None or message.ideal_posted_ps is None:
        return
    if message.posted_ps - message.ideal_posted_ps > total_ps(late[rank]) < total_ps(heard[rank]):
        late[rank] = heard[rank]


def _ahead(message: Travelled, arrives: Lateness, now: int) -> Lateness:
    """Return what `message`, the one before on a connection, had lost by now; None once it has arrived.

    What delays it from now on delays the one behind it as well, whose way shows it.
    """
    under_way = message.arrived_ps is not None and message.arrived_ps > now
    return lost_before(arrives, now, message.posted_ps) if under_way else None


def _sent(message: Travelled, ahead: Lateness, late: list[Lateness], own_doing: Sequence[int]) -> Lateness:
    """A rank posts `message`: return how late that arrives; of one that never does, how late it is posted.

    `ahead` is how late the one before it on its connection is by now, if that is under way still.
    """
    posted, rank = message.posted_ps, message.source
    if message.ideal_posted_ps is None or message.ideal_arrived_ps is None:
        return reduce(with_part, message.parts, late[rank])
    wanted = max(0, posted - message.ideal_posted_ps)
    late[rank] = fitted(late[rank], (), wanted, Part(own_doing[rank], 0, max(0, posted - wanted), posted))
    if message.arrived_ps is None:
        return late[rank]
    wanted = max(0, message.arrived_ps - message.ideal_arrived_ps)
    rest = Part(message.rest, 0, posted, message.arrived_ps)
    explained = total_ps(late[rank]) + sum(part.duration_ps for part in message.parts)
    waited = explained < wanted and total_ps(ahead) > total_ps(late[rank])
    return fitted(ahead if waited else late[rank], message.parts, wanted, rest)


def _after(
    wait: Waited,
    before: Lateness,
    messages: Sequence[Travelled],
    arrived: Mapping[int, Lateness],
    unarrived: int,
    stalled: RankStall,
) -> Lateness:
    """Return the lateness of a rank after a wait, and put its part of the stall down in `stalled`."""
    duration_ps = wait.end_ps - wait.start_ps
    if wait.message is None or wait.message not in arrived or messages[wait.message].arrived_ps is None:
        cause = wait.cause if wait.message is None else unarrived
        lost = Part(cause, duration_ps, wait.start_ps, wait.end_ps)
        stalled.waited_for_nothing(lost)
        return with_part(before, lost)
    late = passed_on(arrived[wait.message], wait.rank, wait.end_ps)
    stalled.waited(late, duration_ps)
    return late
