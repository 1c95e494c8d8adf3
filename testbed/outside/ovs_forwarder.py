"""Open vSwitch as the forwarder of the modelled switches: frames in and out through the TAP devices of its ports.

A frame that is submitted is written into its port's TAP. Open vSwitch puts it out of another port's, perhaps rewritten,
where `_drain` reads it. Which submitted frame it is, is told by its *identity*: what no switch changes.

Two things make testbed loss impossible to mistake for a drop:

* Open vSwitch loses frames that no counter of it shows when a port's socket is full (about 30 frames of 4 KiB). So no
  port ever has more than `OUTSTANDING_LIMIT` frames outstanding, a port's TAP can hold all that are outstanding in its
  switch, and at the end of a run its counters must equal ours and show no loss.
* A frame that does not come out is declared dropped by proof, not by a time-out: a *fence* frame written behind it into
  the same port, which a top-priority flow returns. Open vSwitch takes a port's frames in order, but sends a batch's
  frames port by port; so when a second fence, written after the first came back, is back too, all that was before the
  first has left.
"""

import os
import select
import time
from collections import deque
from collections.abc import Callable, Mapping

from testbed.engine.forwarding import DROPPED, PENDING
from testbed.engine.frame import Frame
from testbed.errors import TestbedError
from testbed.fabric.plan import FabricPlan

OUTSTANDING_LIMIT = 10
_READ_BYTES = 9216 + 18
_QUIET_S = 0.02
"""Wall time without any answer after which a fence is sent. It only decides when the proof is asked for."""
_FENCE_PATIENCE_S = 30
_FENCE_HEADER = bytes.fromhex("0200000000fe0200000000ff88b5")
_ROCE_PORT = (4791).to_bytes(2, "big")


def identity(data: bytes) -> bytes:
    """Return what tells `data` from other frames and no switch changes.

    For RoCE over IPv4 or IPv6: UDP ports and length, BTH (QP, PSN), and the invariant CRC, which covers payload and
    addresses and leaves out what switches rewrite (TOS, TTL, checksums). For others: all behind the first 34 bytes.
    """
    if data[36:38] == _ROCE_PORT:
        return data[34:40] + data[42:54] + data[-4:]
    if data[56:58] == _ROCE_PORT:
        return data[54:60] + data[62:74] + data[-4:]
    return data[34:]


class _Port:
    """One Open vSwitch port: its TAP's file, and how many frames written into it are not answered."""

    __slots__ = ("file", "name", "number", "outstanding", "switch")

    def __init__(self, switch: "OvsSwitch", number: int, name: str, file: int) -> None:
        self.switch = switch
        self.number = number
        self.name = name
        self.file = file
        self.outstanding = 0


class OvsSwitch:
    """The forwarder of one switch.

    Attributes:
        frames_in, frames_out: written into and read from each port, by number: to compare with Open vSwitch's own.
    """

    def __init__(self, datapath: "OvsDatapath", name: str) -> None:
        self.name = name
        self.ports: dict[int, _Port] = {}
        self.frames_in: dict[int, int] = {}
        self.frames_out: dict[int, int] = {}
        self.waiting: dict[bytes, deque[Frame]] = {}
        self._datapath = datapath

    def submit(self, in_port: int, frame: Frame) -> None:
        """Write `frame` into Open vSwitch by `in_port`."""
        port = self.ports[in_port]
        if port.outstanding >= OUTSTANDING_LIMIT:
            self._datapath.make_room(port)
        frame.answer = PENDING
        frame.ingress = port
        data = frame.data
        key = identity(data)
        waiting = self.waiting.get(key)
        if waiting is None:
            self.waiting[key] = deque((frame,))
        else:
            waiting.append(frame)
        port.outstanding += 1
        self.frames_in[in_port] += 1
        os.write(port.file, data)

    def answer(self, frame: Frame) -> int:
        """Wait until it is known where `frame` goes."""
        while frame.answer == PENDING:
            self._datapath.wait(frame)
        return frame.answer

    def take(self, port: _Port, data: bytes) -> None:
        """Open vSwitch has put `data` out of `port`."""
        self.frames_out[port.number] += 1
        key = identity(data)
        waiting = self.waiting.get(key)
        if waiting is None:
            if data[12:14] == _FENCE_HEADER[12:14]:
                self._datapath.fence_returned(data)
            else:
                self._datapath.unsolicited += 1
            return
        frame = waiting.popleft()
        if not waiting:
            del self.waiting[key]
        frame.data = data
        frame.answer = port.number
        frame.ingress.outstanding -= 1

    def give_up(self, frame: Frame) -> None:
        """It is proved that Open vSwitch dropped `frame`."""
        key = identity(frame.data)
        waiting = self.waiting[key]
        waiting.remove(frame)
        if not waiting:
            del self.waiting[key]
        frame.answer = DROPPED
        frame.ingress.outstanding -= 1


class OvsDatapath:
    """All switches of a run, which share one ovs-vswitchd and so one place to wait at.

    `check` is called while waiting long and raises when a process that is waited for has ended. `unsolicited` counts
    frames that came out and that nobody sent in.
    """

    def __init__(self, plan: FabricPlan, taps: Mapping[str, int], check: Callable[[], None]) -> None:
        self.switches = {switch.name: OvsSwitch(self, switch.name) for switch in plan.switches}
        self.unsolicited = 0
        self.fences = 0
        self._check = check
        self._returned_fence = 0
        self._poll = select.epoll()
        self._port_of_file: dict[int, _Port] = {}
        for planned in plan.switches:
            for port in planned.ports:
                self._add_port(self.switches[planned.name], port.number, port.name, taps[port.name])

    def _add_port(self, switch: OvsSwitch, number: int, name: str, file: int) -> None:
        port = _Port(switch, number, name, file)
        switch.ports[number] = self._port_of_file[file] = port
        switch.frames_in[number] = switch.frames_out[number] = 0
        self._poll.register(file, select.EPOLLIN)

    def make_room(self, port: _Port) -> None:
        """Wait until `port` has fewer frames outstanding than its socket may hold for sure."""
        while port.outstanding >= OUTSTANDING_LIMIT:
            oldest = next(
                frame for waiting in port.switch.waiting.values() for frame in waiting if frame.ingress is port
            )
            self.wait(oldest)

    def wait(self, frame: Frame) -> None:
        """Read what Open vSwitch has put out; when it is quiet and `frame` has not come, prove that it will not."""
        if not self._drain(_QUIET_S) and frame.answer == PENDING:
            self._prove(frame)

    def _drain(self, patience_s: float) -> bool:
        """Read one frame of each port that has one; False when none had within `patience_s`."""
        events = self._poll.poll(patience_s)
        ports = self._port_of_file
        read = os.read
        for file, _ in events:
            port = ports[file]
            port.switch.take(port, read(file, _READ_BYTES))
        return bool(events)

    def _prove(self, frame: Frame) -> None:
        """Send two fences, one after the other, behind `frame`; if it is still missing then, it was dropped."""
        port: _Port = frame.ingress
        for _ in range(2):
            self._fence(port)
            if frame.answer != PENDING:
                return
        port.switch.give_up(frame)

    def _fence(self, port: _Port) -> None:
        self.fences += 1
        number = self.fences
        os.write(port.file, _FENCE_HEADER + number.to_bytes(8, "big") + bytes(38))
        port.switch.frames_in[port.number] += 1
        give_up_at = time.monotonic() + _FENCE_PATIENCE_S
        while self._returned_fence != number:
            if not self._drain(_QUIET_S):
                self._check()
                if time.monotonic() > give_up_at:
                    raise TestbedError(
                        f"Open vSwitch did not return a fence frame sent into {port.name} within {_FENCE_PATIENCE_S} s"
                    )

    def fence_returned(self, data: bytes) -> None:
        """A fence frame has come back."""
        self._returned_fence = int.from_bytes(data[14:22], "big")

    def close(self) -> None:
        """Stop watching the ports."""
        self._poll.close()
