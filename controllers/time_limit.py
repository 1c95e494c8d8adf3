"""Ends code of a user's that takes too long, wherever it stands, by an alarm signal."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_AGAIN_S = 0.2


class TooLong(BaseException):
    """The time is over. It is no Exception, so that code which catches all of those does not go on."""


@contextmanager
def time_limit(seconds: float, green_thread: Callable[[], Any] | None = None) -> Iterator[None]:
    """Raise TooLong in the code within when it has taken `seconds` of wall time, and again and again should it catch
    that. For the main thread. `green_thread` returns the running one, where there are any: the code may be waiting.

    Whoever used the alarm before has it back afterwards; what it had still to wait is lost.
    """
    watched = None if green_thread is None else green_thread()

    def end(_number: int, _frame: FrameType | None) -> None:
        error = TooLong(f"expected it to be done within {seconds:g} s, found it still there")
        if green_thread is None or green_thread() is watched:
            raise error
        assert watched is not None
        watched.throw(error)  # it goes on from where it waits

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
