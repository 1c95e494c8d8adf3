"""Two NICs joined by a wire that loses and marks what a test says, and a transcript of what crossed it.

A failing test prints the numbered steps: `>>` from host a to host b, `<<` the other way, `xx` behind what was lost,
`CE` behind what was marked.
"""

from collections.abc import Callable, Collection, Sequence

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter
from testbed.fabric import plan
from testbed.scenario.model import TransportOptions
from testbed.units import format_time
from traffic.nic import Nic, connect
from traffic.nic.queue_pair import QueuePair
from traffic.nic.verbs import MemoryRegion, ReceiveRequest, SendRequest, WcStatus, WorkCompletion, WorkOpcode
from traffic.wire.aeth import Syndrome, is_rnr_nak
from traffic.wire.opcodes import Opcode
from traffic.wire.packet import CONGESTION_EXPERIENCED, parse
from traffic.wire.template import ipv4_checksum

RATE_BPS = 100_000_000_000
DELAY_PS = 500_000

Loses = Callable[[int], bool]
"""Whether the n-th frame (from 0) of one direction of the wire is lost."""


def planned_nic(index: int, gateway: int) -> plan.Nic:
    """Return the plan of host `index`'s NIC, whose frames go to the MAC address of host `gateway`."""
    return plan.Nic(
        name=f"h{index}-eth0",
        host=f"h{index}",
        index=0,
        mac=f"02:00:00:00:00:{index:02x}",
        ipv4=f"10.0.0.{index}",
        ipv6=f"fd00::{index:x}",
        gateway_mac=f"02:00:00:00:00:{gateway:02x}",
    )


class Wire:
    """One direction: an impairment that loses, marks and corrupts by number, and writes the transcript."""

    def __init__(self, arrow: str, transcript: list[str]) -> None:
        self.loses: Loses = lambda _number: False
        self.marks: Loses = lambda _number: False
        self.corrupts: Collection[int] = ()
        self.bytes_of: list[bytes] = []
        self.frames = 0
        self._arrow = arrow
        self._transcript = transcript

    def on_departure(self, frame: Frame, now: int) -> str | None:
        number = self.frames
        self.frames += 1
        lost = self.loses(number)
        marked = self.marks(number)
        if marked:
            frame.data = mark_ce(frame.data)
        self.bytes_of.append(frame.data)
        if number in self.corrupts:
            frame.data = frame.data[:-1] + bytes([frame.data[-1] ^ 1])
        mark = " xx" if lost else " ~~" if number in self.corrupts else " CE" if marked else ""
        self._transcript.append(f"{self._arrow} {describe(frame.data)} at {format_time(now)}{mark}")
        return "fault" if lost else None

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002 - its signature
        return None


def mark_ce(data: bytes) -> bytes:
    """Return an IPv4 frame with CE set as a switch sets it: the two ECN bits, and the header checksum that follows."""
    changed = bytearray(data)
    changed[15] |= CONGESTION_EXPERIENCED
    changed[24:26] = bytes(2)
    changed[24:26] = ipv4_checksum(changed[14:34]).to_bytes(2, "big")
    return bytes(changed)


def describe(data: bytes) -> str:
    """Return a packet as a step of the transcript: ``Send(psn=8, ack request)``, ``Ack(psn=7, msn=1)``."""
    packet = parse(data)
    assert packet is not None
    if packet.opcode != Opcode.ACKNOWLEDGE:
        return f"{Opcode(packet.opcode).name}(psn={packet.psn}{', ack request' if packet.ack_request else ''})"
    assert packet.syndrome is not None
    if packet.syndrome == Syndrome.ACK:
        kind = "Ack"
    else:
        kind = "RnrNak" if is_rnr_nak(packet.syndrome) else f"Nak {packet.syndrome:#04x}"
    return f"{kind}(psn={packet.psn}, msn={packet.msn}{', becn' if packet.becn else ''})"


class Pair:
    """Hosts a (1) and b (2), one connection, a region of `size` bytes on each; a's is filled with bytes that differ."""

    def __init__(
        self, size: int = 65536, ip_version: int = 4, priorities: Sequence[int] = bytes(256), **options: object
    ) -> None:
        self.loop = EventLoop()
        self.transcript: list[str] = []
        self.transmitters: dict[str, Transmitter] = {}
        self.settings = TransportOptions.model_validate(options)
        self.a = Nic(planned_nic(1, gateway=2), self.loop, ip_version=ip_version, priority_by_traffic_class=priorities)
        self.b = Nic(planned_nic(2, gateway=1), self.loop, ip_version=ip_version, priority_by_traffic_class=priorities)
        self.there = self._wire(self.a, self.b, ">>")
        self.back = self._wire(self.b, self.a, "<<")
        self.qp_a, self.qp_b = connect(self.a, self.b, self.settings, source_port=49152)
        self.sent = bytes((index * 7 + index // 251) & 0xFF for index in range(size))
        self.received = bytearray(size)
        self.region_a = self.a.register(size, memoryview(bytearray(self.sent)))
        self.region_b = self.b.register(size, memoryview(self.received))

    def _wire(self, source: Nic, destination: Nic, arrow: str) -> Wire:
        transmitter = self.transmitters[arrow] = Transmitter(self.loop, source.name, RATE_BPS, DELAY_PS)
        transmitter.connect(source, destination)
        wire = Wire(arrow, self.transcript)
        transmitter.impair(wire)
        source.attach(transmitter)
        return wire

    def write(self, length: int, offset: int = 0, *, work_id: int = 0, immediate: int | None = None) -> None:
        """Post an RDMA WRITE of a's bytes at `offset` to the same place of b's region."""
        target: MemoryRegion = self.region_b
        address = target.address + offset
        request = SendRequest(
            work_id, WorkOpcode.RDMA_WRITE, self.region_a, offset, length, address, target.rkey, immediate
        )
        self.qp_a.post_send(request)

    def send(self, length: int, offset: int = 0, *, work_id: int = 0, immediate: int | None = None) -> None:
        """Post a SEND of a's bytes at `offset`."""
        self.qp_a.post_send(SendRequest(work_id, WorkOpcode.SEND, self.region_a, offset, length, immediate=immediate))

    def post_receive(self, length: int = 0, offset: int = 0, *, work_id: int = 0) -> None:
        """Post a receive into b's region."""
        self.qp_b.post_receive(ReceiveRequest(work_id, self.region_b, offset, length))

    def story(self) -> str:
        """Return the transcript, numbered, for an assertion's message."""
        return "\n".join(["the wire saw:", *(f"{number:4} {step}" for number, step in enumerate(self.transcript, 1))])


def statuses(qp: QueuePair) -> list[WcStatus]:
    """Return the statuses of a QP's completions, in order."""
    return [completion.status for completion in qp.completions]


def completions(qp: QueuePair) -> list[WorkCompletion]:
    """Return a QP's completions, in order."""
    return list(qp.completions)
