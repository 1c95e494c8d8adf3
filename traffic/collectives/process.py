"""Processes on the model clock: an `async def` runs until it waits, and goes on when what it waits for has happened.

    async def program(endpoint):
        await endpoint.sleep(compute_ps)
        endpoint.send(right, step, piece, ...)
        await endpoint.receive(left, step, piece)

There is no asyncio and no thread in this: an awaited `Pause` travels up to the `Process`, which arms it and returns to
the event loop; whoever ends the pause calls the process's `resume`. So an algorithm reads like its textbook, takes no
model time of its own, and it is known at every instant what it waits for: each pause that took time is kept as a
`Wait`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol

from testbed.engine.loop import EventLoop
from testbed.units import format_time
from traffic.results import Wait


class Resumable(Protocol):
    """What can wait in a pause: a process, or a branch of one (`traffic.collectives.together`)."""

    loop: EventLoop
    wake: Callable[[Any], None]
    """`resume`, as the event loop calls it."""

    def resume(self) -> None:
        """What was waited for has happened."""


class Pause:
    """Something to wait for: `what` in words, and the step and piece that it belongs to."""

    __slots__ = ("piece", "step", "what")

    def __init__(self, what: str, step: int = 0, piece: int = 0) -> None:
        self.what = what
        self.step = step
        self.piece = piece

    def __await__(self) -> Generator[Pause, None, None]:
        yield self

    def begin(self, process: Resumable) -> None:
        """Arrange that `process.resume` is called once, later."""
        raise NotImplementedError


class Sleep(Pause):
    """Wait until a time."""

    __slots__ = ("_until_ps",)

    def __init__(self, until_ps: int, what: str) -> None:
        super().__init__(what)
        self._until_ps = until_ps

    def begin(self, process: Resumable) -> None:
        process.loop.at(self._until_ps, process.wake)


class Mailbox:
    """Where one rank's messages arrive, each known by a key. A message may come before or after it is waited for."""

    __slots__ = ("_arrived", "_waiting")

    def __init__(self) -> None:
        self._arrived: set[tuple[int, ...]] = set()
        self._waiting: dict[tuple[int, ...], Resumable] = {}

    def put(self, key: tuple[int, ...]) -> None:
        """A message has arrived: wake the process that waits for it, or keep it."""
        process = self._waiting.pop(key, None)
        if process is not None:
            process.resume()
        else:
            self._arrived.add(key)

    async def get(self, key: tuple[int, ...], what: str, step: int, piece: int) -> None:
        """Wait until the message `key` is there, and take it."""
        if key in self._arrived:
            self._arrived.remove(key)
        else:
            await _Arrival(self, key, what, step, piece)

    def hold(self, key: tuple[int, ...], process: Resumable) -> None:
        """Remember that `process` waits for the message `key`."""
        self._waiting[key] = process


class _Arrival(Pause):
    __slots__ = ("_key", "_mailbox")

    def __init__(self, mailbox: Mailbox, key: tuple[int, ...], what: str, step: int, piece: int) -> None:
        super().__init__(what, step, piece)
        self._mailbox = mailbox
        self._key = key

    def begin(self, process: Resumable) -> None:
        self._mailbox.hold(self._key, process)


class Process:
    """Runs one coroutine.

    Attributes:
        name: whose process it is (a rank). waits: every pause that took time, in order.
        done: the coroutine has returned. `on_done` is called then.
    """

    __slots__ = ("_coroutine", "_on_done", "_pause", "_paused_at", "done", "loop", "name", "waits", "wake")

    def __init__(
        self, loop: EventLoop, name: str, coroutine: Coroutine[Pause, None, None], on_done: Callable[[], None]
    ) -> None:
        self.loop = loop
        self.name = name
        self.waits: list[Wait] = []
        self.done = False
        self.wake: Callable[[Any], None] = self._wake
        self._coroutine = coroutine
        self._on_done = on_done
        self._pause: Pause | None = None
        self._paused_at = 0

    def start(self) -> None:
        """Run until the first pause, when the clock next runs."""
        self.loop.at(self.loop.now, self.wake)

    def _wake(self, _nothing: Any) -> None:
        self.resume()

    def resume(self) -> None:
        """What the process waited for has happened: run until the next pause. After `stop`: nothing."""
        if self.done:
            return
        if self._pause is not None:
            self.waited(self._pause)
            self._pause = None
        try:
            pause = self._coroutine.send(None)
        except StopIteration:
            self.done = True
            self._on_done()
        else:
            self._pause, self._paused_at = pause, self.loop.now
            pause.begin(self)

    def waited(self, pause: Pause) -> None:
        """Keep what the process has waited for until now."""
        now = self.loop.now
        if now > self._paused_at:
            self.waits.append(Wait(self.name, pause.what, pause.step, pause.piece, self._paused_at, now))
            self._paused_at = now

    def stop(self) -> None:
        """End the process where it is; what it waits for now counts as waited for."""
        if not self.done:
            if self._pause is not None:
                self.waited(self._pause)
                self._pause = None
            self.done = True
            self._coroutine.close()

    @property
    def pause(self) -> tuple[Pause, int] | None:
        """What the process waits for now, and since when; None when it has not begun or is done."""
        return None if self._pause is None else (self._pause, self._paused_at)

    def waiting_for(self) -> str:
        """Return what the process waits for, in words."""
        if self._pause is None:
            return f"{self.name}: {'done' if self.done else 'not started'}"
        pause = self._pause
        since = format_time(self._paused_at)
        return f"{self.name}: waits for {pause.what}, step {pause.step}, piece {pause.piece}, since {since}"
