"""A capture of ports: what is in it, when, from where; read back by python-pcapng, scapy and tshark."""

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from pcapng import FileScanner
from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader
from scapy.utils import PcapNgReader

from testbed.engine.frame import Frame
from testbed.engine.impairments import Corruption, DropNth, Faults
from testbed.measurement.capture import PortCapture
from tests.engine.fabric_kit import Lab, PlannedForwarder, mark, plan_of

pytestmark = pytest.mark.filterwarnings("ignore:Field type should not be:DeprecationWarning:pcapng")
"""python-pcapng warns of its own table of options."""

INBOUND, OUTBOUND = "inbound", "outbound"
Seen = tuple[str, str, int, int]
"""Interface, direction, nanoseconds, and the last four bytes of the frame."""


class RewritingForwarder(PlannedForwarder):
    """A forwarder whose frames leave with another first byte, as a router's do."""

    def submit(self, in_port: int, frame: Frame) -> None:
        super().submit(in_port, frame)
        frame.data = b"\xaa" + frame.data[1:]


def read(path: Path) -> tuple[list[dict[str, object]], list[Seen]]:
    """Return the options of each interface, and each frame."""
    interfaces, seen = [], []
    with path.open("rb") as file:
        for block in FileScanner(file):
            if isinstance(block, InterfaceDescription):
                interfaces.append(dict(block.options))
            elif isinstance(block, EnhancedPacket):
                time_ns = block.timestamp_high << 32 | block.timestamp_low
                name = block.interface.options["if_name"]
                last = int.from_bytes(block.packet_data[-4:], "big")
                seen.append((name, block.options["epb_flags"].inout, time_ns, last))
            else:
                assert isinstance(block, SectionHeader)
    return interfaces, seen


def run(path: Path, ports: list[str], lab: Lab | None = None, frames: int = 1) -> list[Seen]:
    """Send frames of 1250 wire bytes (100 ns at 100 Gb/s) from h0 to h1 on one switch, and return what was captured."""
    lab = lab or Lab(plan_of("single-switch"))
    for number in range(frames):
        lab.send(lab.loop.now, 0, 1, 1250, number)
    with PortCapture.of(lab.fabric, path, ports):
        lab.loop.run()
    return read(path)[1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capture.pcapng"


def test_time_is_the_first_bit_out_and_the_last_bit_in(path: Path) -> None:
    """Two links of 100 ns serialisation and 500 ns delay, and a switch of 800 ns between them."""
    seen = run(path, ["h0-eth0", "leaf0-eth1", "leaf0-eth2", "h1-eth0"])
    frame = mark(0, 1, 0)
    assert seen == [
        ("h0-eth0", OUTBOUND, 0, frame),
        ("leaf0-eth1", INBOUND, 600, frame),
        ("leaf0-eth2", OUTBOUND, 1400, frame),
        ("h1-eth0", INBOUND, 2000, frame),
    ]


def test_only_the_ports_asked_for(path: Path) -> None:
    assert {name for name, *_ in run(path, ["leaf0-eth2"], frames=3)} == {"leaf0-eth2"}


def test_a_frame_shows_when_it_leaves_the_queue(path: Path) -> None:
    seen = run(path, ["h0-eth0"], frames=3)
    assert [time for *_, time, _ in seen] == [0, 100, 200]


def test_a_lost_frame_shows_at_its_sender_alone(path: Path) -> None:
    lab = Lab(plan_of("single-switch"))
    lab.fabric.transmitters["h0-eth0"].impair(Faults([DropNth("any", nth=2, count=1)]))
    seen = run(path, ["h0-eth0", "leaf0-eth1"], lab, frames=3)
    at = {name: [last & 0xFFFF for place, _, _, last in seen if place == name] for name in ("h0-eth0", "leaf0-eth1")}
    assert at == {"h0-eth0": [0, 1, 2], "leaf0-eth1": [0, 2]}


def test_a_frame_that_is_lost_as_it_is_sent_says_why(path: Path) -> None:
    """The second and third of four. The fabric, which counts them, hears of their loss as well."""
    lab = Lab(plan_of("single-switch"))
    lab.fabric.transmitters["h0-eth0"].impair(Faults([DropNth("any", nth=2, count=2)]))
    run(path, ["h0-eth0", "leaf0-eth1"], lab, frames=4)
    with path.open("rb") as file:
        packets = [block for block in FileScanner(file) if isinstance(block, EnhancedPacket)]
    comments: dict[str, list[str | None]] = {"h0-eth0": [], "leaf0-eth1": []}
    for packet in packets:
        comments[packet.interface.options["if_name"]].append(packet.options.get("opt_comment"))
    assert comments == {"h0-eth0": [None, "dropped: fault", "dropped: fault", None], "leaf0-eth1": [None, None]}
    assert lab.fabric.drops_by_reason() == {"fault": 2}


def test_who_listened_before_goes_on_listening(path: Path) -> None:
    """A policy that sees flows counts what a port sends; to capture the port must not blind it."""
    lab = Lab(plan_of("single-switch"))
    heard: list[int] = []
    lab.fabric.transmitters["leaf0-eth2"].on_sent = lambda now, _frame: heard.append(now)
    seen = run(path, ["leaf0-eth2"], lab, frames=3)
    assert len(heard) == len([place for place, direction, *_ in seen if direction == OUTBOUND]) == 3


def test_bytes_are_those_of_the_place(path: Path) -> None:
    """A switch rewrites the first byte between its two sides."""
    lab = Lab(plan_of("single-switch"), RewritingForwarder)
    with PortCapture.of(lab.fabric, path, ["leaf0-eth1", "leaf0-eth2"]):
        lab.send(0, 0, 1, 1250)
        lab.loop.run()
    with path.open("rb") as file:
        packets = [block for block in FileScanner(file) if isinstance(block, EnhancedPacket)]
    assert [packet.packet_data[0] for packet in packets] == [0, 0xAA]


def test_a_flipped_bit_shows_at_the_receiver_alone(path: Path) -> None:
    lab = Lab(plan_of("single-switch"))
    lab.fabric.transmitters["h0-eth0"].impair(Faults([Corruption("any", 1.0, Random(1))]))
    frame = Frame(bytes(34) + bytes(2) + (4791).to_bytes(2, "big") + bytes(100) + mark(0, 1, 0).to_bytes(4, "big"))
    with PortCapture.of(lab.fabric, path, ["h0-eth0", "leaf0-eth1"]):
        lab.nics["h0-eth0"].send(frame)
        lab.loop.run()
    with path.open("rb") as file:
        sent, received = (block.packet_data for block in FileScanner(file) if isinstance(block, EnhancedPacket))
    assert (int.from_bytes(sent, "big") ^ int.from_bytes(received, "big")).bit_count() == 1


def test_interfaces_say_what_they_are(path: Path) -> None:
    run(path, ["h0-eth0", "leaf0-eth2"])
    interfaces, _ = read(path)
    assert [interface["if_name"] for interface in interfaces] == ["h0-eth0", "leaf0-eth2"]
    assert interfaces[0]["if_description"] == "link h0-leaf0, towards leaf0-eth1"
    assert [interface["if_speed"] for interface in interfaces] == [100 * 10**9] * 2
    assert [interface["if_tsresol"] for interface in interfaces] == [b"\x09"] * 2


def test_it_is_sorted_by_time(path: Path) -> None:
    lab = Lab(plan_of("leaf-spine"))
    for number in range(40):
        lab.send(number * 13_000, number % 4, (number + 1 + number % 3) % 4, 100 + 97 * number, number)
    every = [port.name for port in lab.fabric.plan.ports()]
    with PortCapture.of(lab.fabric, path, every) as capture:
        lab.loop.run()
    times = [time for *_, time, _ in read(path)[1]]
    assert times == sorted(times)
    wires = lab.fabric.transmitters.values()
    assert capture is not None
    assert len(times) == capture.frames == sum(w.sent_frames + w.delivered_frames for w in wires)


def test_equal_runs_give_equal_files_and_no_trace_of_the_machine(tmp_path: Path) -> None:
    paths = [tmp_path / "one.pcapng", tmp_path / "two.pcapng"]
    for path in paths:
        run(path, ["h0-eth0", "leaf0-eth2"], frames=5)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with paths[0].open("rb") as file:
        assert dict(next(iter(FileScanner(file))).options) == {"shb_userappl": "rocelab"}


def test_long_runs_fill_both_halves_of_a_timestamp(path: Path) -> None:
    lab = Lab(plan_of("single-switch"))
    lab.loop.run(until_ps=3_600 * 10**12)
    assert run(path, ["h0-eth0"], lab)[0][2] == 3_600 * 10**9


def test_without_ports_there_is_no_file(path: Path) -> None:
    lab = Lab(plan_of("single-switch"))
    with PortCapture.of(lab.fabric, path, []) as capture:
        lab.loop.run()
    assert capture is None
    assert not path.exists()


def test_scapy_reads_it(path: Path) -> None:
    run(path, ["h0-eth0", "h1-eth0"], frames=2)
    with PcapNgReader(str(path)) as reader:
        packets = list(reader)
    assert [int(packet.time * 10**9) for packet in packets] == [0, 100, 2000, 2100]
    assert [packet.sniffed_on for packet in packets] == ["h0-eth0"] * 2 + ["h1-eth0"] * 2
    assert all(len(packet) == 1250 - 24 for packet in packets)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt install tshark")
def test_tshark_reads_it(path: Path) -> None:
    run(path, ["h0-eth0", "h1-eth0"])
    fields = ["frame.interface_name", "frame.time_epoch", "frame.packet_flags_direction", "frame.len"]
    command = ["tshark", "-r", str(path), "-T", "fields", *(part for name in fields for part in ("-e", name))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    assert [(row[0], float(row[1]), int(row[2], 16), row[3]) for row in rows] == [
        ("h0-eth0", 0.0, 2, "1226"),
        ("h1-eth0", 2e-6, 1, "1226"),
    ]
