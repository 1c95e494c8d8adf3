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

A frame may also go up to the controller (*punted*). The controller tells of each packet-in; the same proof then shows
that the frame has left by no port. Open vSwitch keeps at most 100 packet-ins that the controller has not taken, and
loses more: so a switch that may punt never has more than `PUNT_LIMIT` frames outstanding. `sync` has the controller
confirm that it has told of all.

What Open vSwitch puts out on the controller's behalf (packet-outs) is read in `collect`, at a time when no frame is
outstanding; at any other time a frame that nobody sent in is an error.
"""

import os
import select
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from controllers.channel import PacketIn
from testbed.engine.forwarding import DROPPED, PENDING, PUNTED
from testbed.engine.frame import Frame
from testbed.engine.identity import identity
from testbed.errors import TestbedError
from testbed.fabric.plan import FabricPlan

__all__ = ["OUTSTANDING_LIMIT", "Emission", "OvsDatapath", "OvsSwitch", "identity"]

OUTSTANDING_LIMIT = 10
PUNT_LIMIT = 90
_READ_BYTES = 9216 + 18
_QUIET_S = 0.02
"""Wall time without any answer after which a fence is sent. It only decides when the proof is asked for."""
_FENCE_PATIENCE_S = 30
FENCE_TYPE = bytes.fromhex("88b5")
_FENCE_ADDRESSES = bytes.fromhex("0200000000fe0200000000ff")
_ROCE_PORT = (4791).to_bytes(2, "big")


@dataclass(frozen=True, slots=True)
class Emission:
    """A frame that a switch has put out of a port by itself."""

    switch: str
    port: int
    data: bytes


def is_marked(data: bytes) -> bool:
    """Whether an IP frame says "congestion experienced"."""
    kind = data[12:14]
    return (kind == b"\x08\x00" and data[15] & 3 == 3) or (kind == b"\x86\xdd" and data[15] >> 4 & 3 == 3)


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
        may_punt: whether it may send frames up to the controller.
        marked_frames: those that its rules have marked (CE), counted if `looks_for_marks` is set.
    """

    def __init__(self, datapath: "OvsDatapath", name: str) -> None:
        self.name = name
        self.ports: dict[int, _Port] = {}
        self.frames_in: dict[int, int] = {}
        self.frames_out: dict[int, int] = {}
        self.waiting: dict[bytes, deque[Frame]] = {}
        self.may_punt = self.looks_for_marks = False
        self.marked_frames = 0
        self._packet_ins = datapath.packet_ins
        self._datapath = datapath

    def submit(self, in_port: int, frame: Frame) -> None:
        """Write `frame` into Open vSwitch by `in_port`."""
        port = self.ports[in_port]
        if port.outstanding >= OUTSTANDING_LIMIT:
            self._datapath.make_room(port)
        if self.may_punt:
            self._make_room_for_packet_in()
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

    def _make_room_for_packet_in(self) -> None:
        while sum(port.outstanding for port in self.ports.values()) >= PUNT_LIMIT:
            oldest = self.oldest()
            assert oldest is not None, "frames are outstanding"
            self._datapath.wait(oldest)

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
            if data[12:14] == FENCE_TYPE:
                self._datapath.fence_returned(data)
            else:
                self._datapath.emitted(Emission(self.name, port.number, data))
            return
        frame = waiting.popleft()
        if not waiting:
            del self.waiting[key]
        if self._packet_ins and frame in self._packet_ins:
            raise TestbedError(_unknown_packet_in(PacketIn(0, self.name, frame.ingress.number, "", truncated=False)))
        if self.looks_for_marks and is_marked(data) and not is_marked(frame.data):
            self.marked_frames += 1
        frame.data = data
        frame.answer = port.number
        frame.ingress.outstanding -= 1

    def sent_up(self, packet_in: PacketIn) -> Frame | None:
        """Return the frame that a packet-in is about; None where no frame waits for an answer that it could be."""
        for frame in self.waiting.get(bytes.fromhex(packet_in.identity), ()):
            if frame.ingress.number == packet_in.in_port and frame not in self._datapath.packet_ins:
                return frame
        return None

    def give_up(self, frame: Frame) -> None:
        """It is proved that `frame` has left by no port: Open vSwitch dropped it, or sent it up."""
        key = identity(frame.data)
        waiting = self.waiting[key]
        waiting.remove(frame)
        if not waiting:
            del self.waiting[key]
        frame.ingress.outstanding -= 1
        number = self._datapath.packet_ins.pop(frame, None)
        if number is None:
            frame.answer = DROPPED
        else:
            frame.answer, frame.ingress = PUNTED, number

    def oldest(self) -> Frame | None:
        """Return a frame that has no answer yet, the oldest of its kind; None when there is none."""
        return next((frames[0] for frames in self.waiting.values()), None)


class OvsDatapath:
    """All switches of a run, which share one ovs-vswitchd and so one place to wait at.

    `check` is called while waiting long and raises when a process that is waited for has ended. `sync` is called with a
    switch's name when a frame is about to be given up, and returns when all its packet-ins have been told of.

    Attributes:
        unsolicited: frames that came out and that nobody sent in. fences: fence frames sent.
        packet_ins: frames that are known to have gone up, with the number of their packet-in.
    """

    def __init__(
        self,
        plan: FabricPlan,
        taps: Mapping[str, int],
        check: Callable[[], None],
        sync: Callable[[str], None] = lambda _switch: None,
    ) -> None:
        self.packet_ins: dict[Frame, int] = {}
        self.switches = {switch.name: self._switch(switch.name) for switch in plan.switches}
        self.unsolicited = 0
        self.fences = 0
        self._check = check
        self._sync = sync
        self._returned_fence = 0
        self._collected: list[Emission] | None = None
        self._again: list[PacketIn] = []
        self._poll = select.epoll()
        self._port_of_file: dict[int, _Port] = {}
        self._on_other_file: Callable[[], None] = check
        for planned in plan.switches:
            for port in planned.ports:
                self._add_port(self.switches[planned.name], port.number, port.name, taps[port.name])

    def _switch(self, name: str) -> OvsSwitch:
        return OvsSwitch(self, name)

    def _add_port(self, switch: OvsSwitch, number: int, name: str, file: int) -> None:
        port = _Port(switch, number, name, file)
        switch.ports[number] = self._port_of_file[file] = port
        switch.frames_in[number] = switch.frames_out[number] = 0
        self._poll.register(file, select.EPOLLIN)

    def watch_controller(self, file: int, on_ready: Callable[[], None]) -> None:
        """Call `on_ready` when `file` has something to read while an answer is waited for: news of packet-ins."""
        self._on_other_file = on_ready
        self._poll.register(file, select.EPOLLIN)

    # --- answers ------------------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        """The file that is readable when Open vSwitch has put something out: then `take_answers` may be called."""
        return self._poll.fileno()

    def take_answers(self) -> None:
        """Read what Open vSwitch has put out by now, without waiting."""
        while self._drain(0):
            pass

    def make_room(self, port: _Port) -> None:
        """Wait until `port` has fewer frames outstanding than its socket may hold for sure."""
        while port.outstanding >= OUTSTANDING_LIMIT:
            self.wait(self._outstanding(port)[0])

    def _outstanding(self, port: _Port) -> list[Frame]:
        return [frame for waiting in port.switch.waiting.values() for frame in waiting if frame.ingress is port]

    def wait(self, frame: Frame) -> None:
        """Read what Open vSwitch has put out; when it is quiet and `frame` has not come, prove that it will not.

        A frame that is known to have gone up need not be waited for.
        """
        quiet = frame in self.packet_ins or not self._drain(_QUIET_S)
        if quiet and frame.answer == PENDING:
            self._prove(frame)

    def settle(self) -> None:
        """Wait until every frame that was submitted has its answer."""
        for switch in self.switches.values():
            while (frame := switch.oldest()) is not None:
                self.wait(frame)

    def _drain(self, patience_s: float) -> bool:
        """Read one frame of each port that has one; False when none had within `patience_s`."""
        events = self._poll.poll(patience_s)
        ports = self._port_of_file
        read = os.read
        for file, _ in events:
            port = ports.get(file)
            if port is None:
                self._on_other_file()
            else:
                port.switch.take(port, read(file, _READ_BYTES))
        return bool(events)

    def _prove(self, frame: Frame) -> None:
        """Send two fences, one after the other, behind `frame` and all else that was sent into its port.

        What is missing then went up to the controller, or was dropped.
        """
        port: _Port = frame.ingress
        outstanding = self._outstanding(port)
        for _ in range(2):
            self._fence(port)
            if frame.answer != PENDING:
                return
        self._sync(port.switch.name)
        for missing in outstanding:
            if missing.answer == PENDING:
                port.switch.give_up(missing)

    def _fence(self, port: _Port) -> None:
        self.fences += 1
        number = self.fences
        os.write(port.file, self._fence_frame(number))
        port.switch.frames_in[port.number] += 1
        give_up_at = time.monotonic() + _FENCE_PATIENCE_S
        while self._returned_fence != number:
            if not self._drain(_QUIET_S):
                self._check()
                if time.monotonic() > give_up_at:
                    raise TestbedError(
                        f"Open vSwitch did not return a fence frame sent into {port.name} within {_FENCE_PATIENCE_S} s"
                    )

    def _fence_frame(self, number: int) -> bytes:
        return _FENCE_ADDRESSES + FENCE_TYPE + number.to_bytes(8, "big") + bytes(38)

    def fence_returned(self, data: bytes) -> None:
        """A fence frame has come back."""
        self._returned_fence = int.from_bytes(data[14:22], "big")

    # --- the controller -----------------------------------------------------------------------------------------------

    def on_packet_in(self, packet_in: PacketIn) -> None:
        """A switch has sent a frame up. Raises TestbedError where it sent it elsewhere too, or only a part of it."""
        switch = self.switches[packet_in.switch]
        switch.may_punt = True
        frame = switch.sent_up(packet_in)
        if frame is not None:
            self.packet_ins[frame] = packet_in.number
        elif self._collected is not None:
            self._again.append(packet_in)
        else:
            raise TestbedError(_unknown_packet_in(packet_in))

    def open_to_emissions(self) -> None:
        """From now on, until `collect`, switches may put out frames, and send them up, that nobody sent in."""
        self._collected, self._again = [], []

    def collect(self, emitting: Iterable[str]) -> tuple[list[Emission], list[PacketIn]]:
        """Return what the switches have put out since `open_to_emissions`, and which of it they have sent up again.

        `emitting` are the switches that were told to. Frames are in the order of switches and ports, those of one port
        in the order in which they left: the order among ports depends on the machine.

        Open vSwitch hands on a packet-in only in the turn of its main loop after the one in which it made it, so a
        packet-out's may come behind the answer to the exchange's barrier. A fence's return shows that a new turn has
        begun, and `sync` then brings all that was made before it.
        """
        for name in emitting:
            self._fence(next(iter(self.switches[name].ports.values())))
            self._sync(name)
        while self._drain(0):
            pass
        found, again = self._collected or [], self._again
        self._collected = None
        order = {name: index for index, name in enumerate(self.switches)}
        return (
            sorted(found, key=lambda emission: (order[emission.switch], emission.port)),
            sorted(again, key=lambda packet_in: (order[packet_in.switch], packet_in.in_port)),
        )

    def emitted(self, emission: Emission) -> None:
        """A frame has come out that nobody sent in."""
        if self._collected is None:
            self.unsolicited += 1
        else:
            self._collected.append(emission)

    def close(self) -> None:
        """Stop watching the ports."""
        self._poll.close()


def _unknown_packet_in(packet_in: PacketIn) -> str:
    what = f"switch {packet_in.switch} sent the controller a frame from port {packet_in.in_port}"
    if packet_in.truncated:
        return f"{what}, but not all of it; send whole frames up: OFPActionOutput(OFPP_CONTROLLER, OFPCML_NO_BUFFER)"
    return (
        f"{what} which it had sent on as well; on the model clock a frame goes either to the controller or to ports: "
        "leave one of the two out of the flow's actions"
    )
