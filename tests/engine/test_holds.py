"""The times when a port was held: within any two instants, and as a whole."""

from testbed.engine.holds import NEVER, Holds, Span


def held(*spans: tuple[int, int], priority: int = 3) -> Holds:
    holds = Holds()
    for begin, end in spans:
        holds.begin(priority, begin)
        holds.end(priority, end)
    return holds


def test_what_lies_within_two_instants_comes_latest_first() -> None:
    holds = held((10, 20), (30, 40), (50, 60))
    assert [*holds.within(3, 15, 55)] == [Span(50, 50, 55), Span(30, 30, 40), Span(10, 15, 20)]
    assert [*holds.within(3, 20, 30)] == []
    assert [*holds.within(3, 33, 35)] == [Span(30, 33, 35)]


def test_another_priority_was_not_held() -> None:
    assert [*held((10, 20)).within(4, 0, 100)] == []


def test_what_lasts_still_covers_all_that_follows() -> None:
    holds = held((10, 20))
    holds.begin(3, 30)
    assert [*holds.within(3, 15, 100)] == [Span(30, 30, 100), Span(10, 15, 20)]
    assert holds.spans() == ((10, 20), (30, NEVER))


def test_what_ended_before_it_would_have_begun_never_was() -> None:
    """A credit can come before the wire could have taken the frame."""
    holds = held((10, 20))
    holds.begin(3, 40)
    holds.end(3, 35)
    assert holds.spans() == ((10, 20),)


def test_the_whole_joins_what_overlaps_or_touches() -> None:
    holds = held((10, 20), (50, 60))
    for begin, end in ((15, 30), (30, 35)):
        holds.begin(5, begin)
        holds.end(5, end)
    assert holds.spans() == ((10, 35), (50, 60))


def test_what_is_forgotten_is_only_what_was_over() -> None:
    holds = held((10, 20), (30, 40))
    holds.begin(3, 50)
    holds.forget_before(35)
    assert holds.spans() == ((30, 40), (50, NEVER))
    holds.end(3, 60)
    assert holds.spans() == ((30, 40), (50, 60))
