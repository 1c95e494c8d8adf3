"""The line between the shell's process and the engine's: JSON, one request or answer a line, over a socket pair.

    shell -> engine   {"words": ["queue", "leaf0-eth1"], "columns": 80, "colour": false, "number": 7}
    engine -> shell   {"text": "...", "failed": false, "number": 7}

The engine may take its time over an answer (a collective runs as long as it runs). There is one request at a time; a
request without words takes back the one before, for a user who has typed Ctrl-C. Every request is answered.
"""

import json
import socket
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """A command and its arguments, as typed; `columns` is the width of the user's terminal. The answer has the same
    `number`."""

    words: tuple[str, ...]
    columns: int = 80
    colour: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What to print, and whether the command failed."""

    text: str
    failed: bool = False
    number: int = 0


class Line:
    """One end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""

    @staticmethod
    def pair() -> "tuple[Line, Line]":
        """Return both ends of a new line."""
        here, there = socket.socketpair()
        return Line(here), Line(there)

    def fileno(self) -> int:
        """The socket's file."""
        return self._connection.fileno()

    def send(self, message: Request | Answer) -> None:
        """Send a message. Raises OSError when the other end is gone."""
        self._connection.sendall(json.dumps(asdict(message)).encode() + b"\n")

    def requests(self) -> list[Request] | None:
        """Return the requests that have come, without waiting; None at the end."""
        data = self._connection.recv(65536)
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        values = [json.loads(line) for line in lines]
        return [Request(**{**value, "words": tuple(value["words"])}) for value in values]

    def answer(self, number: int = 0) -> Answer:
        """Wait for the answer to the request of a number; others are thrown away. Raises EOFError at the end."""
        while (found := self._answer()).number != number:
            pass
        return found

    def _answer(self) -> Answer:
        while b"\n" not in self._buffer:
            data = self._connection.recv(65536)
            if not data:
                raise EOFError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return Answer(**json.loads(line))

    def close(self) -> None:
        """Close this end."""
        self._connection.close()
