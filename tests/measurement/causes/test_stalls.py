"""What each wait of a rank saw of its stall, in picoseconds that can be added up by hand."""

from collections.abc import Sequence

from testbed.measurement.causes.lateness import Lateness, Part, passed_on, with_part
from testbed.measurement.causes.stalls import RankStall, Seen

OWN, LOST, QUEUED, PAUSED, REST = range(5)


def late(*parts: tuple[int, int]) -> Lateness:
    """Return a lateness of parts (cause, duration), lost one after the other."""
    found: Lateness = None
    now = 0
    for cause, duration_ps in parts:
        found = with_part(found, Part(cause, duration_ps, now, now + duration_ps))
        now += duration_ps
    return found


def parts(stall: Sequence[Seen]) -> list[list[tuple[int, int]]]:
    """Return what each wait saw, as (cause, duration)."""
    return [[(part.cause, part.duration_ps) for part in seen.parts] for seen in stall]


def test_a_wait_stalls_by_what_is_later_than_the_rank() -> None:
    stall = RankStall(OWN)
    stall.waited(late((LOST, 50)), 200)
    stall.waited(late((LOST, 50), (QUEUED, 7)), 30)
    assert parts(stall.fitted(57, REST)) == [[(LOST, 50)], [(QUEUED, 7)]]


def test_what_compute_absorbed_is_no_stall() -> None:
    """The message comes 50 later than alone, when the rank has waited for 20: it computed for 30 of them."""
    stall = RankStall(OWN)
    stall.waited(late((LOST, 30), (QUEUED, 20)), 20)
    assert parts(stall.fitted(20, REST)) == [[(LOST, 20)]]


def test_a_stall_outlives_the_lateness() -> None:
    """Another stream of the rank is on time: what was waited for before stays what it was."""
    stall = RankStall(OWN)
    stall.waited(late((PAUSED, 40)), 40)
    stall.waited(None, 10)
    assert parts(stall.fitted(40, REST)) == [[(PAUSED, 40)]]


def test_time_that_is_made_up_for_is_taken_off_when_it_is() -> None:
    """Alone, the rank waits for 60 more at its second wait: nothing of the loss is left when the pause comes."""
    stall = RankStall(OWN)
    stall.waited(late((LOST, 60)), 60)
    stall.waited(None, 0)
    stall.waited(late((PAUSED, 25)), 90)
    assert parts(stall.fitted(25, REST)) == [[(PAUSED, 25)]]


def test_posts_say_how_late_the_rank_is() -> None:
    """Its own compute took 100 longer: a message that is 130 late delays it by 30, and not by its own doing."""
    stall = RankStall(OWN)
    stall.posts(100)
    stall.waited(late((LOST, 30), (OWN, 100)), 500)
    assert parts(stall.fitted(30, REST)) == [[(LOST, 30)]]


def test_too_much_is_taken_off_what_was_lost_last() -> None:
    stall = RankStall(OWN)
    stall.waited(late((LOST, 50)), 50)
    stall.waited(late((LOST, 50), (QUEUED, 20)), 20)
    assert parts(stall.fitted(45, REST)) == [[(LOST, 45)]]


def test_what_no_wait_saw_has_a_cause_of_its_own() -> None:
    stall = RankStall(OWN)
    stall.waited(late((LOST, 50)), 50)
    assert parts(stall.fitted(60, REST)) == [[(LOST, 50)], [(REST, 10)]]
    assert RankStall(OWN).fitted(0, REST) == ()


def test_a_wait_that_no_message_ended() -> None:
    stall = RankStall(OWN)
    stall.waited_for_nothing(Part(QUEUED, 30, 0, 30))
    stall.waited(late((LOST, 50)), 50)
    assert parts(stall.fitted(50, REST)) == [[(QUEUED, 30)], [(LOST, 20)]]


def test_the_way_of_a_part_ends_with_the_wait_that_saw_it() -> None:
    stall = RankStall(OWN)
    stall.waited(passed_on(late((LOST, 50)), 2, 70), 50)
    stall.waited(passed_on(passed_on(late((LOST, 50), (QUEUED, 5)), 3, 80), 2, 90), 10)
    first, second = stall.fitted(55, REST)
    assert first.way(first.parts[0]) == ((2, 70),)
    assert second.way(second.parts[0]) == ((3, 80), (2, 90))


def test_a_delay_that_comes_by_two_branches_is_lost_once() -> None:
    """One branch posts in time, although the other one has made the rank late; then it hears of the same pause."""
    stall = RankStall(OWN)
    stall.waited(late((PAUSED, 40)), 40)
    stall.posts(0)
    stall.waited(late((PAUSED, 40), (QUEUED, 10)), 50)
    assert parts(stall.fitted(50, REST)) == [[(PAUSED, 40), (QUEUED, 10)]]


def test_parts_of_one_pause_are_the_same_time() -> None:
    """Two messages stood before a port that was paused from 100 on: one for 30 of that, one for 35."""
    stall = RankStall(OWN)
    stall.waited(with_part(None, Part(PAUSED, 30, 110, 140, 100)), 30)
    stall.waited(with_part(None, Part(PAUSED, 35, 105, 140, 100)), 90)
    assert parts(stall.fitted(60, REST)) == [[(PAUSED, 30)], [(PAUSED, 5)], [(REST, 25)]]
