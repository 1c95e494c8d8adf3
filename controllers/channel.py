"""The line between the testbed and the controller's process: JSON messages, one a line, over a unix socket.

    controller -> testbed   Hello           it listens for switches
                            SwitchUp        a switch of the plan has connected
                            SwitchReady     it has confirmed its rules by an OpenFlow barrier
                            Ready           every switch of the plan has
                            Failure         it cannot go on; it ends after this
                            Status          the answer to AskStatus
    testbed -> controller   AskStatus
                            Stop            end (closing the line says the same)

A message is a frozen dataclass; on the wire it is an object of its fields plus ``message``, the class's name:

    {"message": "SwitchUp", "name": "leaf0", "dpid": 1}

One class serves both sides. In the controller the standard library is patched for green threads, so that a blocking
`receive` lets the other green threads run.
"""

import json
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Counts:
    """OpenFlow messages since the start: those sent to switches, but `packet_ins`, which switches sent."""

    flow_mods: int = 0
    group_mods: int = 0
    packet_outs: int = 0
    barriers: int = 0
    packet_ins: int = 0


@dataclass(frozen=True, slots=True)
class Hello:
    """The controller listens. `flavour` is ``ryu`` or ``os-ken``."""

    flavour: str
    version: str
    python: str


@dataclass(frozen=True, slots=True)
class SwitchUp:
    """The switch `name` of the plan has connected."""

    name: str
    dpid: int


@dataclass(frozen=True, slots=True)
class SwitchReady:
    """The switch `name` has its rules."""

    name: str


@dataclass(frozen=True, slots=True)
class Ready:
    """Every switch of the plan has its rules."""

    counts: Counts


@dataclass(frozen=True, slots=True)
class Failure:
    """The controller ends, for this reason."""

    text: str


@dataclass(frozen=True, slots=True)
class Status:
    """The answer to `AskStatus`."""

    counts: Counts


@dataclass(frozen=True, slots=True)
class AskStatus:
    """Asks for a `Status`."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Asks the controller to end."""


Message: TypeAlias = Hello | SwitchUp | SwitchReady | Ready | Failure | Status | AskStatus | Stop
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Hello, SwitchUp, SwitchReady, Ready, Failure, Status, AskStatus, Stop)
}


class ChannelClosed(Exception):  # noqa: N818 - an end, not always an error
    """The other side has closed the line, or has ended."""


def encode(message: Message) -> bytes:
    """Return the line that `message` is on the wire."""
    return json.dumps({"message": type(message).__name__, **asdict(message)}).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Return the message on a line; ValueError if it is none."""
    try:
        fields = json.loads(line)
        kind = _KINDS[fields.pop("message")]
        if "counts" in fields:
            fields["counts"] = Counts(**fields["counts"])
        message: Message = kind(**fields)
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"expected a message such as {encode(Stop())!r}, found {line!r}") from error
    return message


class Channel:
    """One end of the line."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""

    @classmethod
    def connect(cls, path: Path) -> "Channel":
        """Connect to the testbed, which listens at `path`."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(str(path))
        return cls(connection)

    def send(self, message: Message) -> None:
        """Send `message`. Raises ChannelClosed."""
        try:
            self._connection.sendall(encode(message))
        except OSError as error:
            raise ChannelClosed from error

    def receive(self, timeout_seconds: float | None = None) -> Message | None:
        """Return the next message, None if none comes within the time given. Raises ChannelClosed at the end."""
        while b"\n" not in self._buffer:
            try:
                self._connection.settimeout(timeout_seconds)
                data = self._connection.recv(65536)
            except (TimeoutError, BlockingIOError):
                return None
            except OSError as error:
                raise ChannelClosed from error
            finally:
                self._connection.settimeout(None)
            if not data:
                raise ChannelClosed
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return decode(line)

    def close(self) -> None:
        """Close this end."""
        self._connection.close()
