"""The controller's process, as the testbed sees it: started early, waited for late, watched during the run.

It is a child in a session of its own, with its output in a file. Whatever ends it (an exception in its application, a
switch that refuses a rule, a signal) becomes one error here, which quotes the last lines that it wrote; so does a
switch that does not come. It ends by itself when this process does, as the line between them closes then.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import controllers
from controllers.channel import (
    WALL_LIMIT_S,
    AskPolicy,
    AskStatus,
    Channel,
    ChannelClosed,
    Counts,
    Decision,
    Exchange,
    Exchanged,
    Failure,
    Hello,
    Message,
    PacketIn,
    PolicyFailure,
    PolicyUsed,
    Ready,
    Status,
    Stop,
    SwitchReady,
    SwitchUp,
    Sync,
    Synced,
    UsePolicy,
)
from testbed.errors import MachineError, RocelabError, ScenarioError, TestbedError
from testbed.fabric.plan import FabricPlan

_ROOT = str(Path(controllers.__file__).resolve().parents[1])
_LAUNCH = (
    f"import runpy, sys; sys.path[0] = {_ROOT!r}; "
    "runpy.run_module('controllers.launcher', run_name='__main__', alter_sys=True)"
)
"""Starts the launcher with the project in the place of the working folder: a user's ``queue.py`` that lies there is
not the standard library's."""

_QUOTED_LINES = 15
_NAMED_SWITCHES = 8
_POLL_SECONDS = 0.05
_END_SECONDS = 5
_GRACE_SECONDS = 10
"""A policy that hangs is found from inside its process; this much later from outside."""
_ERRORS: dict[int, type[RocelabError]] = {2: ScenarioError, 3: MachineError}

_Answer = TypeVar("_Answer", Status, Synced, Decision, Exchanged, PolicyUsed)


class ControllerProcess:
    """A controller for `plan` that runs `app`: a name such as ``l3-ecmp``, or the path of a Ryu application.

    Its files, ``controller.log`` among them, go into `directory`. `listen` is the ``HOST:PORT`` for the switches.
    `policy` is a policy's kind and options. With `model_time` it speaks to the switches only in an `exchange`, and
    holds what they send up till then; `on_packet_in` is called for each. `openflow_log` is the file that it writes down
    all messages in.
    """

    def __init__(
        self,
        app: str,
        plan: FabricPlan,
        directory: Path,
        *,
        listen: str = "127.0.0.1:6653",
        policy: Mapping[str, Any] | None = None,
        model_time: bool = False,
        openflow_log: Path | None = None,
    ) -> None:
        self.app = app
        self.has_policy = policy is not None
        self.on_packet_in: Callable[[PacketIn], None] = _nobody
        self.log = directory / "controller.log"
        self.hello: Hello | None = None
        self._plan = plan
        self._directory = directory
        self._options = ["--listen", listen]
        if policy is not None:
            self._options += ["--policy", json.dumps(policy)]
        if model_time:
            self._options += ["--model-time"]
        if openflow_log is not None:
            self._options += ["--openflow-log", str(openflow_log)]
        self._process: subprocess.Popen[bytes] | None = None
        self._server: socket.socket | None = None
        self._channel: Channel | None = None
        self._connected: set[str] = set()
        self._confirmed: set[str] = set()
        self._ready: Ready | None = None
        self._answers: deque[Status | Synced | Decision | Exchanged | PolicyUsed] = deque()
        self._asked = 0

    def start(self) -> None:
        """Start the process and return at once, so that the fabric can be built meanwhile."""
        self._directory.mkdir(parents=True, exist_ok=True)
        plan_file, address = self._directory / "plan.json", self._directory / "controller.sock"
        plan_file.write_text(json.dumps(self._plan.as_json()))
        address.unlink(missing_ok=True)
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(address))
        self._server.listen(1)
        self._server.settimeout(_POLL_SECONDS)
        command = [sys.executable, "-c", _LAUNCH, "--plan", str(plan_file)]
        command += ["--channel", str(address), *self._options, self.app]
        with self.log.open("wb") as log:
            self._process = _spawn(command, log)

    def wait_ready(self, timeout_seconds: float = 30) -> Ready:
        """Wait until every switch has confirmed its rules. Raises TestbedError that says what did not come."""
        deadline = time.monotonic() + timeout_seconds
        while self._ready is None:
            self._take(_POLL_SECONDS)
            if self._ready is None and time.monotonic() > deadline:
                who, verb, _ = self._missing()
                raise self._error(f"{who} did not {verb} within {timeout_seconds:g}s")
        return self._ready

    def check(self) -> None:
        """Raise if the controller has ended or has reported a failure. Cheap: for calls during a run."""
        self._take(0)

    def wait_hello(self, timeout_seconds: float = 30) -> None:
        """Wait until the application and the policy have been loaded and found right."""
        deadline = time.monotonic() + timeout_seconds
        while self.hello is None:
            self._take(_POLL_SECONDS)
            if self.hello is None and time.monotonic() > deadline:
                raise self._error(f"it did not start within {timeout_seconds:g}s")

    # --- questions: answers come in their order -----------------------------------------------------------------------

    def status(self) -> Counts:
        """Return the controller's counts of OpenFlow messages."""
        self._tell(AskStatus())
        return self._answer(Status, _END_SECONDS).counts

    def ask_policy(self, hook: str, time_ps: int, argument: Any = None) -> int:
        """Tell the policy what happened, and return at once with the question's number; `decision` has the answer."""
        self._asked += 1
        self._tell(AskPolicy(self._asked, hook, time_ps, argument))
        return self._asked

    def decision(self) -> Decision:
        """Wait for the answer to the oldest question to the policy. Raises TestbedError when the policy has failed."""
        return self._answer(Decision, WALL_LIMIT_S + _GRACE_SECONDS)

    def use_policy(self, policy: Mapping[str, Any] | None) -> PolicyUsed:
        """Put another policy, of a kind and options, in charge; None: none."""
        self._tell(UsePolicy(None if policy is None else dict(policy)))
        used = self._answer(PolicyUsed, WALL_LIMIT_S)
        if used.refusal is None:
            self.has_policy = policy is not None
        return used

    def sync(self, switch: str) -> None:
        """Wait until `on_packet_in` has been called for all that `switch` has sent up so far."""
        self._tell(Sync(switch))
        self._answer(Synced, WALL_LIMIT_S)

    def exchange(self, time_ps: int, packet_ins: Sequence[int], decision: int | None) -> Exchanged:
        """Let the applications have `packet_ins` and the policy send what it decided, until all is quiet again."""
        self._tell(Exchange(time_ps, list(packet_ins), decision))
        return self._answer(Exchanged, WALL_LIMIT_S)

    def fileno(self) -> int:
        """The file that is readable when the controller has something to say: then call `check`."""
        return self._open_channel().fileno()

    def _answer(self, kind: type[_Answer], limit_seconds: float) -> _Answer:
        """Return the oldest answer of `kind`, waiting for it as long as given."""
        deadline = time.monotonic() + limit_seconds
        while True:
            for answer in self._answers:
                if isinstance(answer, kind):
                    self._answers.remove(answer)
                    return answer
            if time.monotonic() > deadline:
                raise self._error(f"it did not answer within {limit_seconds:g}s")
            self._take(_POLL_SECONDS)

    def stop(self) -> None:
        """End the process: ask it, and end it where it does not. Never raises for what it did wrong before."""
        if self._process is None:
            return
        if self._channel is not None:
            with suppress(ChannelClosed):
                self._channel.send(Stop())
            self._channel.close()
        if self._server is not None:
            self._server.close()
        try:
            self._process.wait(_END_SECONDS if self._channel is not None else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = self._channel = self._server = None

    # --- messages ----------------------------------------------------------------------------------------------------

    def _take(self, timeout_seconds: float) -> None:
        """Take in all messages that are there, waiting for the first as long as given; notice the end."""
        if self._channel is None and not self._accept():
            return
        try:
            while (message := self._open_channel().receive(timeout_seconds)) is not None:
                self._note(message)
                timeout_seconds = 0
        except ChannelClosed:
            raise self._death() from None

    def _accept(self) -> bool:
        """Take the controller's call, if it comes before the listening socket's timeout."""
        if self._server is None or self._process is None:
            raise TestbedError(f"controller {self.app}: not running")
        try:
            connection, _ = self._server.accept()
        except TimeoutError:
            if self._process.poll() is not None:
                raise self._death() from None
            return False
        self._channel = Channel(connection)
        return True

    def _open_channel(self) -> Channel:
        if self._channel is None:
            raise TestbedError(f"controller {self.app}: not running")
        return self._channel

    def _tell(self, message: Message) -> None:
        try:
            self._open_channel().send(message)
        except ChannelClosed:
            raise self._death() from None

    def _note(self, message: Message) -> None:
        match message:
            case Hello():
                self.hello = message
            case SwitchUp(name):
                self._connected.add(name)
            case SwitchReady(name):
                self._confirmed.add(name)
            case Ready():
                self._ready = message
            case PacketIn():
                self.on_packet_in(message)
            case Status() | Synced() | Decision() | Exchanged() | PolicyUsed():
                self._answers.append(message)
            case PolicyFailure(text):
                raise TestbedError(text)
            case Failure():
                raise self._death()

    # --- errors ------------------------------------------------------------------------------------------------------

    def _missing(self) -> tuple[str, str, str]:
        """Return what the testbed still waits for: who, does what, and that as a participle."""
        names = [switch.name for switch in self._plan.switches]
        if self.hello is None:
            return "it", "start", "started"
        absent = [name for name in names if name not in self._connected]
        if absent:
            return _switches(absent), "connect", "connected"
        unconfirmed = [name for name in names if name not in self._confirmed]
        return _switches(unconfirmed), "confirm the rules", "confirmed the rules"

    def _death(self) -> RocelabError:
        """The process has said that it ends, or hung up: wait until it has, and say how."""
        if self._process is None:
            return TestbedError(f"controller {self.app}: not running")
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return self._error("it hung up and went on")
        how = f"exit status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
        if self.hello is None and status in _ERRORS:  # what it wrote is the message, made for the user already
            return _ERRORS[status]("\n".join(self._last_lines()))
        who, _, done = self._missing()
        return self._error(f"it ended with {how} " + ("during the run" if self._ready else f"before {who} had {done}"))

    def _error(self, what: str) -> TestbedError:
        lines = self._last_lines()
        quote = "; its last lines:" + "".join(f"\n  | {line}" for line in lines) if lines else "; it printed nothing"
        return TestbedError(f"controller {self.app}: {what}{quote}")

    def _last_lines(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()[-_QUOTED_LINES:]


def _nobody(_message: PacketIn) -> None:
    """Without a model clock packet-ins are not held, and so not reported."""


def _switches(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED_SWITCHES} more" if len(names) > _NAMED_SWITCHES else ""
    return f"{'switch' if len(names) == 1 else 'switches'} {', '.join(names[:_NAMED_SWITCHES])}{more}"


def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
    )
