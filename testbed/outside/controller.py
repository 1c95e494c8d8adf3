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
from contextlib import suppress
from pathlib import Path
from typing import IO

import controllers
from controllers.channel import (
    AskStatus,
    Channel,
    ChannelClosed,
    Counts,
    Failure,
    Hello,
    Message,
    Ready,
    Status,
    Stop,
    SwitchReady,
    SwitchUp,
)
from testbed.errors import MachineError, RocelabError, ScenarioError, TestbedError
from testbed.fabric.plan import FabricPlan

_QUOTED_LINES = 15
_NAMED_SWITCHES = 8
_POLL_SECONDS = 0.05
_END_SECONDS = 5
_ERRORS: dict[int, type[RocelabError]] = {2: ScenarioError, 3: MachineError}


class ControllerProcess:
    """A controller for `plan` that runs `app`: a name such as ``l3-ecmp``, or the path of a Ryu application.

    Its files, ``controller.log`` among them, go into `directory`. `listen` is the ``HOST:PORT`` for the switches.
    """

    def __init__(self, app: str, plan: FabricPlan, directory: Path, *, listen: str = "127.0.0.1:6653") -> None:
        self.app = app
        self.log = directory / "controller.log"
        self.hello: Hello | None = None
        self._plan = plan
        self._directory = directory
        self._listen = listen
        self._process: subprocess.Popen[bytes] | None = None
        self._server: socket.socket | None = None
        self._channel: Channel | None = None
        self._connected: set[str] = set()
        self._confirmed: set[str] = set()
        self._ready: Ready | None = None
        self._status: Status | None = None

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
        command = [sys.executable, "-m", "controllers.launcher", "--plan", str(plan_file)]
        command += ["--channel", str(address), "--listen", self._listen, self.app]
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

    def status(self) -> Counts:
        """Return the controller's counts of OpenFlow messages."""
        deadline = time.monotonic() + _END_SECONDS
        self._status = None
        self._tell(AskStatus())
        while self._status is None:
            self._take(_POLL_SECONDS)
            if self._status is None and time.monotonic() > deadline:
                raise self._error(f"it did not answer within {_END_SECONDS}s")
        return self._status.counts

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
            case Status():
                self._status = message
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


def _switches(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED_SWITCHES} more" if len(names) > _NAMED_SWITCHES else ""
    return f"{'switch' if len(names) == 1 else 'switches'} {', '.join(names[:_NAMED_SWITCHES])}{more}"


def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    root = str(Path(controllers.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
    )
