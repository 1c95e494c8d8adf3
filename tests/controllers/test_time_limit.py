"""Code that takes too long is ended where it stands; the alarm goes back to whoever had it."""

import signal
import time
from contextlib import suppress

import greenlet
import pytest

from controllers.time_limit import TooLong, time_limit


def stubborn() -> None:
    while True:
        with suppress(Exception):
            int("x")


def test_what_takes_too_long_is_ended_even_if_it_catches_all_exceptions() -> None:
    with pytest.raises(TooLong, match=r"within 0\.02 s"), time_limit(0.02):
        stubborn()


def swallowing(until_s: float) -> None:
    """Catches everything, TooLong as well, but for the second time."""
    end = time.monotonic() + until_s
    try:
        while time.monotonic() < end:
            pass
    except BaseException:
        while time.monotonic() < end:
            pass


def test_who_swallows_it_gets_it_again() -> None:
    with pytest.raises(TooLong), time_limit(0.02):
        swallowing(60)


def test_code_that_waits_while_others_run_is_ended_where_it_waits() -> None:
    """Two green threads: the watched one waits, so the alarm comes in the other."""
    ended: list[str] = []

    def watched() -> None:
        try:
            with time_limit(0.02, greenlet.getcurrent):
                other.switch()
        except TooLong as error:
            ended.append(str(error))

    def busy() -> None:
        while not ended:
            pass

    other = greenlet.greenlet(busy)
    greenlet.greenlet(watched).switch()
    assert ended == ["expected it to be done within 0.02 s, found it still there"]


def test_the_alarm_goes_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with time_limit(10):
        assert signal.getsignal(signal.SIGALRM) is not before
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
