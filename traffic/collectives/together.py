"""Branches of a process: coroutines that go on side by side, until all have returned.

A rank with several branches waits only while all of them wait. That is between any two of its events, since a running
branch takes no time; so the time before an event is put down to the wait that the event ends.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any

from testbed.engine.loop import EventLoop
from traffic.collectives.process import Pause, Process, Resumable


class Together(Pause):
    """Wait until all `branches` have returned. It stands for the oldest of their waits."""

    __slots__ = ("_branches", "_coroutines", "_left", "_process")

    def __init__(self, *branches: Coroutine[Pause, None, None]) -> None:
        super().__init__("branches")
        self._coroutines = branches
        self._branches: list[_Branch] = []
        self._process: Process | None = None

    def __await__(self) -> Generator[Pause, None, None]:
        try:
            yield self
        finally:
            for coroutine in self._coroutines:
                coroutine.close()

    def begin(self, process: Resumable) -> None:
        assert isinstance(process, Process), "branches of a branch are not needed"
        self._process = process
        self._left = len(self._coroutines)
        self._branches = [_Branch(self, process.loop, coroutine) for coroutine in self._coroutines]
        for branch in tuple(self._branches):
            branch.resume()

    def ended(self, pause: Pause) -> bool:
        """A branch's `pause` is over. Return whether its process still runs."""
        assert self._process is not None
        if self._process.done:
            return False
        self._process.waited(pause)
        return True

    def look(self) -> None:
        """A branch waits anew: what the process waits for is now what its oldest waiting branch does."""
        pause = next((branch.pause for branch in self._branches if branch.pause is not None), None)
        if pause is not None:
            self.what, self.step, self.piece = pause.what, pause.step, pause.piece

    def returned(self) -> None:
        """A branch has returned: when it was the last, the process goes on."""
        assert self._process is not None
        self._left -= 1
        if self._left:
            self.look()
        else:
            self._process.resume()


class _Branch:
    """Runs one coroutine as part of a process."""

    __slots__ = ("_coroutine", "_together", "loop", "pause", "wake")

    def __init__(self, together: Together, loop: EventLoop, coroutine: Coroutine[Pause, None, None]) -> None:
        self.loop = loop
        self.pause: Pause | None = None
        self.wake: Callable[[Any], None] = self._wake
        self._coroutine = coroutine
        self._together = together

    def _wake(self, _nothing: Any) -> None:
        self.resume()

    def resume(self) -> None:
        """What the branch waited for has happened: run until its next pause."""
        if self.pause is not None and not self._together.ended(self.pause):
            return
        self.pause = None
        try:
            self.pause = pause = self._coroutine.send(None)
        except StopIteration:
            self._together.returned()
        else:
            pause.begin(self)
            self._together.look()
