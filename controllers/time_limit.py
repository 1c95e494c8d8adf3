"""Ends code of a user's that takes too long, wherever it stands, by an alarm signal."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TooLong(BaseException):
    """The time is over. It is no Exception, so that code which catches all of those does not go on."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLong in the code within when it has taken `seconds` of wall time. For the main thread.

    Whoever used the alarm before has it back afterwards; what it had still to wait is lost.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLong(f"expected it to be done within {seconds:g} s, found it still there")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
