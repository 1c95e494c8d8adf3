"""How many packets a second do a requester and a responder make, over a wire that loses nothing?

    python benchmarks/transport.py [--packets 50000] [--profile]

Two NICs, one QP, RDMA WRITEs of 1 MiB in packets of 4 KiB with a real payload, acknowledged every 16 packets. What is
timed is all of it: NIC, frames made and read, ICRC, links and event loop; `wire` is the part that `FrameTemplate.emit`
and `parse` take when they are called alone for the same packets, and `NIC` what is left after that and after the links.

Then the same with DCQCN: `idle`, on a path that marks nothing, so that no rate limiter is at work; and `paced`, with
one packet in `MARKED_EVERY` marked, so that the QP is limited almost all the time.
"""

import argparse
import cProfile
import pstats
import time

from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.engine.transmitter import Transmitter
from testbed.fabric import plan
from testbed.scenario.congestion import DcqcnOptions
from testbed.scenario.model import TransportOptions
from traffic.nic import Nic, connect
from traffic.nic.verbs import SendRequest, WorkOpcode
from traffic.wire.opcodes import Opcode
from traffic.wire.packet import CONGESTION_EXPERIENCED, parse
from traffic.wire.template import FrameTemplate, aeth

MESSAGE_BYTES = 1 << 20
RATE_BPS = 100_000_000_000
DELAY_PS = 500_000
MARKED_EVERY = 200


def _nic(index: int, gateway: int, loop: EventLoop) -> Nic:
    mac, gateway_mac = (f"02:00:00:00:00:{number:02x}" for number in (index, gateway))
    planned = plan.Nic(f"h{index}-eth0", f"h{index}", 0, mac, f"10.0.0.{index}", f"fd00::{index}", gateway_mac)
    return Nic(planned, loop)


class _Marker:
    """An impairment that marks every `MARKED_EVERY`-th data frame CE, and loses none."""

    def __init__(self) -> None:
        self._seen = 0

    def on_departure(self, frame: Frame, now: int) -> str | None:  # noqa: ARG002 - an impairment's signature
        self._seen += frame.is_data
        if frame.is_data and self._seen % MARKED_EVERY == 0:
            changed = bytearray(frame.data)
            changed[15] |= CONGESTION_EXPERIENCED
            frame.data = bytes(changed)
        return None

    def lost_in_flight(self, departed_ps: int, arrived_ps: int) -> str | None:  # noqa: ARG002
        return None


def transfer(packets: int, settings: TransportOptions, *, marked: bool = False) -> float:
    """Send `packets` from one NIC to another and return the seconds of wall time that it took."""
    loop = EventLoop()
    sender, receiver = _nic(1, 2, loop), _nic(2, 1, loop)
    for source, destination in ((sender, receiver), (receiver, sender)):
        transmitter = Transmitter(loop, source.name, RATE_BPS, DELAY_PS)
        transmitter.connect(source, destination)
        source.attach(transmitter)
        if marked and source is sender:
            transmitter.impair(_Marker())
    qp, _ = connect(sender, receiver, settings, source_port=49152)
    local = sender.register(MESSAGE_BYTES, memoryview(bytearray(range(256)) * (MESSAGE_BYTES // 256)))
    remote = receiver.register(MESSAGE_BYTES, memoryview(bytearray(MESSAGE_BYTES)))
    messages = packets * settings.mtu // MESSAGE_BYTES
    for number in range(messages):
        qp.post_send(SendRequest(number, WorkOpcode.RDMA_WRITE, local, 0, MESSAGE_BYTES, remote.address, remote.rkey))
    started = time.perf_counter()
    loop.run()
    seconds = time.perf_counter() - started
    if len(qp.completions) != messages or receiver.counters.received_data_packets != packets:
        raise RuntimeError(f"expected {messages} messages delivered, found {len(qp.completions)}")
    if marked and not sender.counters.rp_cnp_handled:
        raise RuntimeError("expected CNPs, found none")
    return seconds


class _Frames:
    """A source that has `count` frames of `size` bytes, and a receiver that takes them: links without a NIC."""

    def __init__(self, count: int, size: int) -> None:
        self._left = count
        self._data = bytes(size)

    def dequeue(self) -> Frame | None:
        if not self._left:
            return None
        self._left -= 1
        return Frame(self._data, is_data=True)

    def has_more(self) -> bool:
        return self._left > 0

    def receive(self, frame: Frame) -> None:
        """Take a frame."""


def links(packets: int, frame_bytes: int) -> float:
    """Return the seconds that the wire and the event loop take for `packets` frames alone."""
    loop = EventLoop()
    source = _Frames(packets, frame_bytes)
    transmitter = Transmitter(loop, "bare", RATE_BPS, DELAY_PS)
    transmitter.connect(source, source)
    started = time.perf_counter()
    transmitter.kick()
    loop.run()
    return time.perf_counter() - started


def wire_format(packets: int, settings: TransportOptions) -> float:
    """Return the seconds that making and reading `packets` data frames, and their share of ACKs, take alone."""
    template = FrameTemplate(
        source_mac="02:00:00:00:00:01", destination_mac="02:00:00:00:00:02", source_ip="10.0.0.1",
        destination_ip="10.0.0.2", source_port=49152, destination_qp=17, traffic_class=106,
    )  # fmt: skip
    payload = memoryview(bytearray(settings.mtu))
    middle, acknowledge, extension = int(Opcode.RDMA_WRITE_MIDDLE), int(Opcode.ACKNOWLEDGE), aeth(0x1F, 1)
    started = time.perf_counter()
    for psn in range(packets):
        parse(template.emit(middle, psn, b"", payload))
        if psn % settings.ack_every == 0:
            parse(template.emit(acknowledge, psn, extension))
    return time.perf_counter() - started


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--packets", type=int, default=50_000, help="data packets (multiple of 256)")
    arguments.add_argument("--profile", action="store_true", help="say where the time goes")
    options = arguments.parse_args()
    packets = options.packets // 256 * 256
    settings = TransportOptions(mtu=4096)
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(transfer, packets, settings)
        pstats.Stats(profile).sort_stats("tottime").print_stats(18)
        return
    total = min(transfer(packets, settings) for _ in range(3)) / packets * 1e6
    bare = min(links(packets, 4154) for _ in range(3)) / packets * 1e6
    wire = min(wire_format(packets, settings) for _ in range(3)) / packets * 1e6
    print(f"{'all':>8} {total:6.2f} us a packet, {1e6 / total:,.0f} packets/s")
    print(f"{'wire':>8} {wire:6.2f} us: emit and parse, ICRC both times")
    print(f"{'links':>8} {bare:6.2f} us: transmitter and event loop")
    print(f"{'NIC':>8} {total - wire - bare:6.2f} us: requester, responder, scheduler, their share of ACKs")
    controlled = TransportOptions(mtu=4096, congestion=DcqcnOptions(kind="dcqcn"))
    for name, marked in (("idle", False), ("paced", True)):
        cost = min(transfer(packets, controlled, marked=marked) for _ in range(3)) / packets * 1e6
        print(f"{name:>8} {cost:6.2f} us: all, with DCQCN")


if __name__ == "__main__":
    main()
