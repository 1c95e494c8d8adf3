"""How lateness goes from rank to rank: by hand, and for programs made up at random."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.measurement.causes.lateness import Part
from testbed.measurement.causes.spread import Travelled, Waited, spread
from testbed.measurement.causes.stalls import Seen

OWN, REST, QUEUED, LOST, NEVER = range(100, 105)
OWN_DOING = [OWN + 100 * rank for rank in range(1, 6)]


REST_OF = [OWN + 1000 + rank for rank in range(1, 6)]


def spread_over(
    messages: Sequence[Travelled], waits: Sequence[Waited], stalls_ps: Sequence[int], *, overlaps: bool = False
) -> list[tuple[Seen, ...]]:
    ranks = len(stalls_ps)
    return spread(messages, waits, OWN_DOING[:ranks], stalls_ps, NEVER, REST_OF[:ranks], overlaps=overlaps)


def costs(stall: Sequence[Seen]) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in (part for seen in stall for part in seen.parts):
        found[part.cause] = found.get(part.cause, 0) + part.duration_ps
    return found


def way(stall: Sequence[Seen]) -> list[int]:
    """Return the ranks that what was lost first has come through."""
    return [rank for seen in stall[:1] for rank, _ in seen.way(seen.parts[0])]


def message(source: int, destination: int, run: tuple[int, int], ideal: tuple[int, int], *parts: Part) -> Travelled:
    return Travelled(source, destination, *run, *ideal, parts, REST)


def test_a_delay_goes_down_a_chain_of_ranks() -> None:
    """0 -> 1 -> 2, 10 each way alone; the first is delayed by 7, the second by 2."""
    messages = [
        message(0, 1, (0, 17), (0, 10), Part(LOST, 7, 1, 8)),
        message(1, 2, (17, 29), (10, 20), Part(QUEUED, 2, 20, 22)),
    ]
    waits = [Waited(1, 0, 17, 0, REST), Waited(2, 0, 29, 1, REST)]
    stalls = spread_over(messages, waits, [0, 7, 9])
    assert [costs(stall) for stall in stalls] == [{}, {LOST: 7}, {LOST: 7, QUEUED: 2}]
    assert [way(stall) for stall in stalls] == [[], [1], [1, 2]]


def test_a_straggler_is_followed_back_to_its_rank() -> None:
    """Rank 0 computes 50 longer than alone before it sends; its own stall has none of that."""
    messages = [message(0, 1, (50, 60), (0, 10)), message(1, 0, (60, 70), (10, 20))]
    waits = [Waited(1, 0, 60, 0, REST), Waited(0, 50, 70, 1, REST)]
    stalls = spread_over(messages, waits, [0, 50])
    assert [costs(stall) for stall in stalls] == [{}, {OWN_DOING[0]: 50}]


def test_a_message_that_was_there_already_delays_nobody() -> None:
    """Rank 2 waits for rank 1 alone: that rank 0's message was 5 late did not matter."""
    messages = [
        message(0, 2, (0, 15), (0, 10), Part(LOST, 5, 1, 6)),
        message(1, 2, (0, 32), (0, 20), Part(QUEUED, 12, 1, 13)),
    ]
    stalls = spread_over(messages, [Waited(2, 20, 32, 1, REST)], [0, 0, 12])
    assert costs(stalls[2]) == {QUEUED: 12}


def test_a_delay_goes_on_to_the_next_message_of_its_connection() -> None:
    """The second is posted in time, and waits behind the first, which was late: 4 before, and 3 since then."""
    messages = [
        message(0, 1, (0, 17), (0, 10), Part(LOST, 7, 1, 8)),
        message(0, 1, (5, 27), (5, 20), Part(LOST, 3, 5, 8)),
    ]
    stalls = spread_over(messages, [Waited(1, 17, 27, 1, REST)], [0, 7])
    assert costs(stalls[1]) == {LOST: 7}


def test_what_never_came_has_a_cause_of_its_own() -> None:
    messages = [Travelled(0, 1, 0, None, 0, 10, (), REST)]
    stalls = spread_over(messages, [Waited(1, 0, 500, 0, REST)], [0, 490])
    assert costs(stalls[1]) == {NEVER: 490}


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Travelled], list[Waited], list[int]]:
    """Ranks that compute, send and wait in turn, in a run and alone, where nothing takes longer.

    Each round every rank computes and sends to one other; then it waits for all that is sent to it. A message's delay
    in the run is any number of parts, and a rest.
    """
    ranks = draw(st.integers(2, 5))
    now, alone = [0] * ranks, [0] * ranks
    waited, waited_alone = [0] * ranks, [0] * ranks
    messages: list[Travelled] = []
    waits: list[Waited] = []
    some = st.integers(0, 50)
    for _ in range(draw(st.integers(1, 4))):
        sent: list[list[int]] = [[] for _ in range(ranks)]
        for rank in range(ranks):
            compute = draw(some)
            now[rank] += compute + draw(some)  # a straggler's own
            alone[rank] += compute
            target = (rank + draw(st.integers(1, ranks - 1))) % ranks
            transit = 1 + draw(some)
            delays = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), max_size=3))
            parts = tuple(Part(cause, duration, now[rank], now[rank] + duration) for cause, duration in delays)
            delay = sum(part.duration_ps for part in parts) + draw(some)
            sent[target].append(len(messages))
            messages.append(
                message(
                    rank, target, (now[rank], now[rank] + transit + delay), (alone[rank], alone[rank] + transit), *parts
                )
            )
        for rank in range(ranks):
            for index in sent[rank]:
                arrived = messages[index].arrived_ps
                assert arrived is not None
                if arrived > now[rank]:
                    waits.append(Waited(rank, now[rank], arrived, index, REST))
                    waited[rank] += arrived - now[rank]
                    now[rank] = arrived
                waited_alone[rank] += max(0, messages[index].ideal_arrived_ps - alone[rank])
                alone[rank] = max(alone[rank], messages[index].ideal_arrived_ps)
    return messages, waits, [max(0, a - b) for a, b in zip(waited, waited_alone, strict=True)]


@settings(deadline=None)
@given(programs())
def test_parts_always_add_up(program: tuple[list[Travelled], list[Waited], list[int]]) -> None:
    messages, waits, stalls_ps = program
    stalls = spread_over(messages, waits, stalls_ps)
    for rank, (stall, wanted) in enumerate(zip(stalls, stalls_ps, strict=True)):
        found = costs(stall)
        assert sum(found.values()) == wanted
        assert all(cost > 0 for cost in found.values())
        assert OWN_DOING[rank] not in found
