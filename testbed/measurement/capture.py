"""What chosen ports sent and received, as one pcapng file with model time: what Wireshark opens after a run.

Each captured port is an interface of the file, under its own name. One rule for time: a frame that a port *sends* is
noted when its first bit goes on the wire, a frame that it *receives* when its last bit arrives. So a frame that is lost
on the wire shows at the sender alone, and one that waits in a queue shows when it leaves. Its bytes are those at that
place: a switch that rewrites a frame (MAC addresses, TTL, CE mark) shows it differently on its two sides. A frame that
is lost as it goes onto the wire has the comment ``dropped: REASON``.

Frames are noted as they happen, and events happen in the order of their time; so the file is sorted without sorting.
Nothing in it stems from the machine: equal runs give equal files.

References: the pcapng specification (draft-ietf-opsawg-pcapng), sections 3.5 and 4.1 to 4.3.
Known limits: pcapng readers take nanoseconds, so the model's picoseconds are cut; a frame has no FCS in it. What is
lost later than it was noted (in a switch, or on a wire that goes down under way) has no comment: it is written by then.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any

from pcapng import FileWriter
from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader

from testbed.engine.fabric import ModelFabric
from testbed.engine.frame import Frame
from testbed.engine.transmitter import Transmitter
from testbed.fabric.plan import FabricPlan
from testbed.units import NANOSECOND

_ETHERNET = 1
_NANOSECONDS = b"\x09"
_INBOUND = 1
_OUTBOUND = 2
_WRITE_BUFFER_BYTES = 1 << 20


class _Listener:
    """Notes the frames of one port in one direction: the latest of a capture is written when the next one is noted, so
    that what becomes of it at once can be said with it. A block is written again and again, with another frame in it.
    """

    __slots__ = ("_blocks", "_capture", "_data", "_frame", "_make_block", "_time_ns", "_writer")

    def __init__(self, capture: "PortCapture", writer: Any, make_block: Callable[[dict[str, Any]], Any]) -> None:
        self._capture = capture
        self._writer = writer
        self._make_block = make_block
        self._blocks = {"": make_block({})}
        self._frame: Frame | None = None
        self._data = b""
        self._time_ns = 0

    def note(self, now_ps: int, frame: Frame) -> None:
        """Note `frame` as it is at `now_ps`; nothing once the capture is closed."""
        capture = self._capture
        if capture.closed:
            return
        if capture.latest is not None:
            capture.latest.write()
        capture.latest = self
        self._frame, self._data, self._time_ns = frame, frame.data, now_ps // NANOSECOND
        capture.frames += 1

    def lost(self, reason: str, frame: Frame) -> None:
        """`frame` is lost for `reason`: say so, if it is the latest that was noted."""
        if self._capture.latest is self and self._frame is frame:
            self.write(f"dropped: {reason}")

    def write(self, comment: str = "") -> None:
        """Write the latest frame, which is this port's."""
        self._capture.latest = None
        block = self._blocks.get(comment)
        if block is None:
            block = self._blocks[comment] = self._make_block({"opt_comment": comment})
        block.timestamp_high, block.timestamp_low = self._time_ns >> 32, self._time_ns & 0xFFFF_FFFF
        block.packet_data, block.packet_len = self._data, len(self._data)
        self._writer.write_block(block)


class _Ears:
    """Hears of the frames that one wire sends and loses, in front of whoever else does (a policy that sees flows)."""

    __slots__ = ("_listener", "_then_lost", "_then_sent")

    def __init__(self, listener: _Listener, wire: Transmitter) -> None:
        self._listener = listener
        self._then_sent, self._then_lost = wire.on_sent, wire.on_lost
        wire.on_sent, wire.on_lost = self._on_sent, self._on_lost

    def _on_sent(self, now: int, frame: Frame) -> None:
        self._listener.note(now, frame)
        if self._then_sent is not None:
            self._then_sent(now, frame)

    def _on_lost(self, reason: str, frame: Frame) -> None:
        self._listener.lost(reason, frame)
        if self._then_lost is not None:
            self._then_lost(reason, frame)


class PortCapture:
    """Captures ports, given by name, into the pcapng file `path`; made before the run, `attach`-ed to its wires.

    Attributes:
        frames: noted so far. closed: no more will be. latest: whose frame is still to be written.
    """

    @classmethod
    def of(
        cls, fabric: ModelFabric, path: Path, port_names: Iterable[str]
    ) -> AbstractContextManager["PortCapture | None"]:
        """Return a capture of ports of `fabric`, attached, as a context that closes it; none when no port is named."""
        names = tuple(port_names)
        if not names:
            return nullcontext()
        capture = cls(path, fabric.plan, names)
        capture.attach(fabric.transmitters)
        return capture

    def __init__(self, path: Path, plan: FabricPlan, port_names: Iterable[str]) -> None:
        self.path = path
        self.frames = 0
        self.closed = False
        self.latest: _Listener | None = None
        self._plan = plan
        self._names = tuple(port_names)
        self._section = SectionHeader(options={"shb_userappl": "rocelab"})
        for name in self._names:
            self._describe(name)
        self._file = path.open("wb", buffering=_WRITE_BUFFER_BYTES)
        self._writer = FileWriter(self._file, self._section)

    def _describe(self, name: str) -> None:
        link = self._plan.link_at[name]
        self._section.new_member(
            InterfaceDescription,
            link_type=_ETHERNET,
            options={
                "if_name": name,
                "if_description": f"link {link.name}, towards {self._plan.far_end(name).name}",
                "if_speed": link.rate_bps,
                "if_tsresol": _NANOSECONDS,
                "if_fcslen": 0,
            },
        )

    def attach(self, transmitters: Mapping[str, Transmitter]) -> None:
        """Listen at both ends of each captured port's link; `transmitters` are the fabric's, connected, by port."""
        for interface, name in enumerate(self._names):
            _Ears(self._listener(interface, _OUTBOUND), transmitters[name])
            transmitters[self._plan.far_end(name).name].listen(self._listener(interface, _INBOUND).note)

    def _listener(self, interface: int, direction: int) -> _Listener:
        def make_block(options: dict[str, Any]) -> Any:
            options = {**options, "epb_flags": direction}
            return self._section.new_member(EnhancedPacket, interface_id=interface, options=options)

        return _Listener(self, self._writer, make_block)

    def close(self) -> None:
        """Write out what is still in memory, and note nothing any more."""
        if self.latest is not None:
            self.latest.write()
        self.closed = True
        self._file.close()

    def __enter__(self) -> "PortCapture":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
