"""Code that takes too long is ended where it stands; the alarm goes back to whoever had it."""

import signal
from contextlib import suppress

import pytest

from controllers.time_limit import TooLong, time_limit


def stubborn() -> None:
    while True:
        with suppress(Exception):
            int("x")


def test_what_takes_too_long_is_ended_even_if_it_catches_all_exceptions() -> None:
    with pytest.raises(TooLong, match=r"within 0\.02 s"), time_limit(0.02):
        stubborn()


def test_the_alarm_goes_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with time_limit(10):
        assert signal.getsignal(signal.SIGALRM) is not before
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
