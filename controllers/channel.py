"""The line between the testbed and the controller's process: JSON messages, one a line, over a unix socket.

    controller -> testbed   Hello           it listens for switches
                            SwitchUp        a switch of the plan has connected
                            SwitchReady     it has confirmed its rules by an OpenFlow barrier
                            Ready           every switch of the plan has
                            Failure         it cannot go on; it ends after this
                            PolicyFailure   the policy cannot go on; it ends after this
                            Status          the answer to AskStatus
                            PacketIn        a switch has sent up a frame; it is held until an Exchange names it
                            Synced          the answer to Sync
                            Decision        the answer to AskPolicy
                            Exchanged       the answer to Exchange
                            PolicyUsed      the answer to UsePolicy
    testbed -> controller   AskStatus
                            Sync            has everything that a switch has sent up been told of?
                            AskPolicy       something happened: what does the policy want?
                            Exchange        a model time has come: let applications and policy speak to the switches
                            UsePolicy       another policy is to be in charge
                            Stop            end (closing the line says the same)

Answers come in the order of their questions. A message is a frozen dataclass; on the wire it is an object of its fields
plus ``message``, the class's name:

    {"message": "SwitchUp", "name": "leaf0", "dpid": 1}

One class serves both sides. In the controller the standard library is patched for green threads, so that a blocking
`receive` lets the other green threads run.
"""

import json
import os
import socket
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias, get_args

_write = os.write
"""As it is before green threads patch it (this module is imported first): it works where none can run any more."""

WALL_LIMIT_S = float(os.environ.get("ROCELAB_POLICY_SECONDS", "30"))
"""Wall time after which a policy that has not answered is taken to hang; the environment may say otherwise."""


@dataclass(frozen=True, slots=True)
class Counts:
    """OpenFlow messages since the start: those sent to switches, but `packet_ins`, which switches sent.

    `untimed`: those sent during the run by nobody's event but by a clock of an application's own, such as a thread that
    sleeps. `shortest_timeout_s`: the shortest idle or hard timeout of a flow, 0 if none has one; on model time it is
    taken out of the message, as a switch would count wall time.
    """

    flow_mods: int = 0
    group_mods: int = 0
    packet_outs: int = 0
    barriers: int = 0
    packet_ins: int = 0
    untimed: int = 0
    shortest_timeout_s: int = 0


@dataclass(frozen=True, slots=True)
class Hello:
    """The controller listens. `flavour` is ``ryu`` or ``os-ken``; `sees_flows`: the policy wants to know of flows."""

    flavour: str
    version: str
    python: str
    sees_flows: bool = False


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
class PolicyFailure:
    """The policy has failed: which, where in its file, at which model time."""

    text: str


@dataclass(frozen=True, slots=True)
class PacketIn:
    """The switch `switch` has sent up a frame that came in by `in_port`; `identity` tells which, in hexadecimal.

    `number` counts them, from 1; `truncated` says that it has not sent all of the frame.
    """

    number: int
    switch: str
    in_port: int
    identity: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class Synced:
    """The answer to `Sync`: every PacketIn of that switch so far has been sent before this."""

    switch: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to `AskPolicy`: actions on the model (`controllers.policy.actions.as_json`), and how many OpenFlow
    actions are kept in the controller until an `Exchange` names this `serial`."""

    serial: int
    actions: list[Any]
    kept: int


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The answer to `Exchange`: applications are idle and the switches that were told something have confirmed it.

    `changed`: some switch has other rules than before. `cleared`: switches that were told to delete flows by a pattern.
    `emitting`: switches that were told to send packets out.
    """

    changed: bool
    cleared: list[str]
    emitting: list[str]


@dataclass(frozen=True, slots=True)
class PolicyUsed:
    """The answer to `UsePolicy`. `refusal`: why the one before stays in charge, None when it does not."""

    refusal: str | None
    sees_flows: bool


@dataclass(frozen=True, slots=True)
class UsePolicy:
    """Asks for another policy: its kind and options; None: for none."""

    policy: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Sync:
    """Asks for a `Synced`."""

    switch: str


@dataclass(frozen=True, slots=True)
class AskPolicy:
    """Asks for a `Decision` on what happened at `time_ps`: `hook` names the policy's method, `argument` is its own
    (telemetry as JSON for ``on_interval``, a link's name for ``on_link_down``, nothing for ``on_start``)."""

    serial: int
    hook: str
    time_ps: int
    argument: Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """Lets the applications have the packet-ins `packet_ins`, in this order, and sends the OpenFlow actions of the
    decision `decision` (None: no decision)."""

    time_ps: int
    packet_ins: list[int]
    decision: int | None


@dataclass(frozen=True, slots=True)
class AskStatus:
    """Asks for a `Status`."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Asks the controller to end."""


Message: TypeAlias = (
    Hello | SwitchUp | SwitchReady | Ready | Failure | PolicyFailure | Status | PacketIn | Synced | Decision | Exchanged
    | PolicyUsed | Sync | AskPolicy | Exchange | UsePolicy | AskStatus | Stop
)  # fmt: skip
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Message)}


class ChannelClosed(Exception):  # noqa: N818 - an end, not always an error
    """The other side has closed the line, or has ended."""


def encode(message: Message) -> bytes:
    """Return the line that `message` is on the wire."""
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    if "counts" in values:
        values["counts"] = asdict(values["counts"])
    return json.dumps({"message": type(message).__name__, **values}).encode() + b"\n"


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

    def fileno(self) -> int:
        """The socket's file: readable when something has come."""
        return self._connection.fileno()

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

    def send_at_once(self, message: Message) -> None:
        """Send `message` from a signal handler, where no green thread may wait."""
        _write(self._connection.fileno(), encode(message))

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
