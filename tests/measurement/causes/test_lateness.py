"""Chains of parts: they always add up, whatever is added and taken off."""

from hypothesis import given
from hypothesis import strategies as st

from testbed.measurement.causes.lateness import (
    PASSED_ON,
    Lateness,
    Part,
    fitted,
    passed_on,
    total_ps,
    walk,
    with_part,
    without,
)

durations = st.integers(min_value=0, max_value=10**13)
parts = st.builds(
    lambda cause, duration, first: Part(cause, duration, first, first + duration),
    st.integers(0, 5),
    durations,
    durations,
)


def chain_of(*listed: Part) -> Lateness:
    found: Lateness = None
    for part in listed:
        found = with_part(found, part)
    return found


def parts_of(lateness: Lateness) -> list[Part]:
    return [link.part for link in walk(lateness)][::-1]


def lost(cause: int, duration_ps: int) -> Part:
    return Part(cause, duration_ps, 0, duration_ps)


def test_parts_are_kept_in_their_order() -> None:
    assert parts_of(chain_of(lost(1, 5), lost(2, 7))) == [lost(1, 5), lost(2, 7)]


def test_what_was_lost_last_is_made_up_for_first() -> None:
    left = without(chain_of(lost(1, 5), lost(2, 7)), 9)
    assert [(part.cause, part.duration_ps) for part in parts_of(left)] == [(1, 3)]


def test_a_longer_chain_shares_the_beginning() -> None:
    first = chain_of(lost(1, 5))
    longer = with_part(first, lost(2, 7))
    assert longer is not None
    assert longer.before is first
    assert total_ps(first) == 5


def test_slack_takes_off_what_was_late_before_the_message() -> None:
    """A message is posted 10 late and delayed by 4; the contention-free one waits 6 behind its own connection."""
    arrived = fitted(chain_of(lost(1, 10)), (lost(2, 4),), 8, lost(9, 0))
    assert [(part.cause, part.duration_ps) for part in parts_of(arrived)] == [(1, 4), (2, 4)]


def test_slack_beyond_that_takes_off_the_earliest_delays() -> None:
    arrived = fitted(chain_of(lost(1, 2)), (lost(2, 4), lost(3, 4)), 5, lost(9, 0))
    assert [(part.cause, part.duration_ps) for part in parts_of(arrived)] == [(2, 1), (3, 4)]


def test_what_nothing_explains_has_a_part_of_its_own() -> None:
    arrived = fitted(None, (lost(2, 4),), 10, lost(9, 0))
    assert [(part.cause, part.duration_ps) for part in parts_of(arrived)] == [(2, 4), (9, 6)]


def test_notes_outlive_what_is_taken_off() -> None:
    late = passed_on(with_part(passed_on(chain_of(lost(1, 10)), 3, 20), lost(2, 5)), 4, 30)
    left = without(late, 8)
    assert [(link.part.cause, link.rank) for link in walk(left)][::-1] == [(1, -1), (PASSED_ON, 3), (PASSED_ON, 4)]
    assert total_ps(left) == 7


@given(st.lists(parts, max_size=8), durations)
def test_taking_off_is_exact(listed: list[Part], duration_ps: int) -> None:
    late = chain_of(*listed)
    left = without(late, duration_ps)
    assert total_ps(left) == max(0, total_ps(late) - duration_ps) == sum(part.duration_ps for part in parts_of(left))


@given(st.lists(parts, max_size=5), st.lists(parts, max_size=5), durations)
def test_a_fitted_chain_adds_up_to_what_is_wanted(before: list[Part], new: list[Part], wanted_ps: int) -> None:
    found = fitted(chain_of(*before), new, wanted_ps, Part(9, 0, 0, 0))
    kept = parts_of(found)
    assert total_ps(found) == wanted_ps == sum(part.duration_ps for part in kept)
    assert all(part.duration_ps > 0 for part in kept)
