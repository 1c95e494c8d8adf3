"""When a rank was busy, and when it only waited."""

from traffic.trace_replay.timetable import Timetable
from traffic.traces.model import Collective, Compute, Node

WORKS = (Compute(1), Compute(1, "cpu"), Collective("all-reduce", 8), Compute(1))


def table(*spans: tuple[int | None, int | None]) -> Timetable:
    made = Timetable([Node(str(number), "", "", work) for number, work in enumerate(WORKS)])
    for position, (start, end) in enumerate(spans):
        made.starts_ps[position], made.ends_ps[position] = start, end
    return made


def test_streams_that_overlap_are_one_time() -> None:
    found = table((10, 20), (15, 30), (30, 50), (60, 70))
    assert found.busy() == [(10, 30), (60, 70)]
    assert (found.busy_ps(), found.end_ps) == (30, 70)


def test_waits_are_what_is_left() -> None:
    found = table((10, 20), (15, 30), (30, 50), (60, 70))
    assert list(found.waits()) == [(0, 10), (30, 60)]
    assert found.waited_ps() == 40
    assert list(found.awaited([10, 49, 50, 60])) == [None, None, 2, 2]


def test_communication_at_the_end_is_exposed() -> None:
    assert list(table((0, 20), (0, 10), (20, 90), (5, 5)).waits()) == [(20, 90)]


def test_what_never_ended_counts_up_to_the_end() -> None:
    found = table((0, 20), (20, None), (0, 40), (None, None))
    assert found.busy() == [(0, 40)]
    assert found.end_ps == 40
