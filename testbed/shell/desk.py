"""The engine's side of the shell: takes requests while the clock runs, and hands each to its command.

A command works on the model between two events, so it needs no lock. One that takes its time (`Later`) is asked after
every turn of the clock whether it is done.
"""

import time
import traceback

from rich.text import Text

from testbed.errors import RocelabError
from testbed.live.clock import LiveClock
from testbed.shell.command import Bench, Later, commands, rendered
from testbed.shell.line import Answer, Line, Request


class Desk:
    """Serves one shell. `closed`: the shell has hung up. `failures`: commands that failed."""

    def __init__(self, bench: Bench, line: Line, clock: LiveClock) -> None:
        self._clock = clock
        self.closed = False
        self.failures = 0
        self._bench = bench
        self._line = line
        self._pending: tuple[Request, Later] | None = None

    def take(self) -> None:
        """The line has something to read. Model time stands still while a command works."""
        self._clock.catch_up()
        began_ns = time.monotonic_ns()
        self._take()
        self._clock.held(began_ns)

    def _take(self) -> None:
        requests = self._line.requests()
        if requests is None:
            self.closed = True
            self._cancel()
            return
        for request in requests:
            if request.words:
                self._carry_out(request)
            else:
                self._cancel()
                self._send(Answer("", number=request.number))

    def look(self) -> None:
        """Answer the request that was waiting, if it is done."""
        if self._pending is not None and self._pending[1].done():
            began_ns = time.monotonic_ns()
            request, later = self._pending
            self._pending = None
            self._answer(request, later)
            self._clock.held(began_ns)

    def _carry_out(self, request: Request) -> None:
        self._bench.columns = request.columns
        try:
            outcome = commands[request.words[0]].run(self._bench, request.words[1:])
        except Exception as error:
            self._fail(error, request)
            return
        if isinstance(outcome, Later):
            self._pending = request, outcome
        else:
            self._send(Answer(rendered(outcome, request), number=request.number))

    def _answer(self, request: Request, later: Later) -> None:
        try:
            text = rendered(later.result(), request)
        except Exception as error:
            self._fail(error, request)
        else:
            self._send(Answer(text, number=request.number))

    def _cancel(self) -> None:
        """The user does not want to wait any longer."""
        if self._pending is not None:
            request, later = self._pending
            self._pending = None
            later.cancel()
            if not self.closed:
                self._send(Answer(rendered(Text("given up"), request), failed=True, number=request.number))

    def _fail(self, error: Exception, request: Request) -> None:
        """Say what went wrong. What is no message of our own is our mistake, which must not end the session."""
        self.failures += 1
        text = str(error)
        if not isinstance(error, RocelabError):
            traceback.print_exception(error)
            text = f"failed: {type(error).__name__}: {error}"
        self._send(Answer(f"{text}\n", failed=True, number=request.number))

    def _send(self, answer: Answer) -> None:
        try:
            self._line.send(answer)
        except OSError:
            self.closed = True
