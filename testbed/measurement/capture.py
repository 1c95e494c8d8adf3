"""What chosen ports sent and received, as one pcapng file with model time: what Wireshark opens after a run.

Each captured port is an interface of the file, under its own name. One rule for time: a frame that a port *sends* is
noted when its first bit goes on the wire, a frame that it *receives* when its last bit arrives. So a frame that is lost
on the wire shows at the sender alone, and one that waits in a queue shows when it leaves. Its bytes are those at that
place: a switch that rewrites a frame (MAC addresses, TTL, CE mark) shows it differently on its two sides.

Frames are noted as they happen, and events happen in the order of their time; so the file is sorted without sorting.
Nothing in it stems from the machine: equal runs give equal files.

References: the pcapng specification (draft-ietf-opsawg-pcapng), sections 4.1 to 4.3.
Known limits: pcapng readers take nanoseconds, so the model's picoseconds are cut; a frame has no FCS in it.
"""

from collections.abc import Iterable, Mapping
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
    """Notes the frames of one port in one direction. Its block is written again and again, with another frame in it."""

    __slots__ = ("_block", "_capture", "_writer")

    def __init__(self, capture: "PortCapture", writer: Any, block: Any) -> None:
        self._capture = capture
        self._writer = writer
        self._block = block

    def note(self, now_ps: int, frame: Frame) -> None:
        """Write `frame` as it is at `now_ps`; nothing once the capture is closed."""
        if self._capture.closed:
            return
        block, data, time_ns = self._block, frame.data, now_ps // NANOSECOND
        block.timestamp_high, block.timestamp_low = time_ns >> 32, time_ns & 0xFFFF_FFFF
        block.packet_data, block.packet_len = data, len(data)
        self._writer.write_block(block)
        self._capture.frames += 1


class PortCapture:
    """Captures ports, given by name, into the pcapng file `path`; made before the run, `attach`-ed to its wires.

    Attributes:
        frames: noted so far. closed: no more will be.
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
            transmitters[name].on_sent = self._listener(interface, _OUTBOUND).note
            transmitters[self._plan.far_end(name).name].listen(self._listener(interface, _INBOUND).note)

    def _listener(self, interface: int, direction: int) -> _Listener:
        block = self._section.new_member(EnhancedPacket, interface_id=interface, options={"epb_flags": direction})
        return _Listener(self, self._writer, block)

    def close(self) -> None:
        """Write out what is still in memory, and note nothing any more."""
        self.closed = True
        self._file.close()

    def __enter__(self) -> "PortCapture":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
