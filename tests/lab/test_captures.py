"""Every frame of a run, at both ends of every link, checked by code that shares nothing with the product, and by
Wireshark; and the same run with switches modelled in Python, which must be equal to the picosecond."""

import shutil
import struct
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from pcapng import FileScanner
from pcapng.blocks import EnhancedPacket, InterfaceDescription

from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import Scenario
from tests.independent_check import HEADER_BYTES, OPCODES, CheckReport, check_capture, tshark_problems
from tests.lab.closed_form import Transport, ring_time_ps
from tests.lab.edges import ring_edges
from tests.lab.runs import Run, good, run, skip_without_lab
from tests.traffic.collectives.kit import Bench

pytestmark = pytest.mark.filterwarnings("ignore:Field type should not be:DeprecationWarning:pcapng")
"""python-pcapng warns of its own table of options."""

FLOW_BYTES = 10_001
"""No multiple of 4: the last packet has a pad."""

SCENARIO: dict[str, Any] = {
    "title": "A ring All-Reduce, and a flow when it is over; no ECMP, so that there is one way for every frame",
    "seed": 5,
    "fabric": {"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 2}},
    "transport": {"mtu": 1024, "initial_psn": 2**24 - 20},
    "workload": [
        {"kind": "all-reduce", "size": "64KiB"},
        {"kind": "flows", "flows": [{"source": "h0", "destination": "h2", "size": f"{FLOW_BYTES}B", "start": "1ms"}]},
    ],
    "measure": {"capture": "all"},
    "expect": {"collectives.0.verified": True, "flows.0.verified": True, "drops.total": 0},
}
"""PSNs wrap in it, too."""


class Seen(NamedTuple):
    """A frame at a port: when, which port's, whether it came in there or went out, and its bytes."""

    time_ns: int
    port: str
    inbound: bool
    frame: bytes


class Captured(NamedTuple):
    """A captured run."""

    ip_version: int
    run: Run
    path: Path
    seen: list[Seen]
    model: Bench


@pytest.fixture(scope="module", params=["ipv4", "ipv6"])
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """The scenario as it ran on real switches, and the same on the modelled ones."""
    skip_without_lab()
    scenario = {**SCENARIO, "fabric": {**SCENARIO["fabric"], "ip": request.param}}
    done = good(run(tmp_path_factory.mktemp(request.param), scenario))
    path = done.directory / "capture.pcapng"
    return Captured(int(request.param[-1]), done, path, list(read(path)), modelled(scenario))


def read(path: Path) -> Iterator[Seen]:
    names = []
    with path.open("rb") as file:
        for block in FileScanner(file):
            if isinstance(block, InterfaceDescription):
                names.append(block.options["if_name"])
            elif isinstance(block, EnhancedPacket):
                time_ns = block.timestamp_high << 32 | block.timestamp_low
                inbound = block.options["epb_flags"].inout == "inbound"
                yield Seen(time_ns, names[block.interface_id], inbound, bytes(block.packet_data))


def modelled(scenario: dict[str, Any]) -> Bench:
    checked = Scenario.model_validate(scenario)
    bench = Bench(scenario["fabric"], *checked.workload, seed=checked.seed, **scenario["transport"])
    bench.run()
    return bench


# --- each frame for itself -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(captured: Captured) -> CheckReport:
    return check_capture(captured.path)


def test_no_frame_is_malformed_and_every_icrc_is_right(report: CheckReport) -> None:
    assert report.problems == []
    assert (report.other_frames, report.retransmissions, report.gaps) == (0, 0, 0)


def test_the_frames_are_those_that_were_sent(captured: Captured, report: CheckReport) -> None:
    """Each is there twice a link: where it goes out and where it comes in."""
    sent = sum(port["sent_frames"] for port in captured.run.summary["ports"].values())
    assert report.frames == 2 * sent
    assert set(report.by_opcode) == {
        "RDMA_WRITE_FIRST", "RDMA_WRITE_MIDDLE", "RDMA_WRITE_LAST_WITH_IMMEDIATE", "ACKNOWLEDGE",
    }  # fmt: skip


def test_psns_wrap(report: CheckReport) -> None:
    psns = {field.psn for field in report.fields}
    assert {2**24 - 1, 0} <= psns


def test_wireshark_reads_the_same(captured: Captured, report: CheckReport) -> None:
    theirs = tshark_problems(captured.path)
    if theirs is None:
        pytest.skip("tshark is not installed")
    assert theirs.problems == []
    assert theirs.fields == report.fields


def test_wireshark_shows_ports_by_name_and_model_time(captured: Captured) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    fields = ["-e", "frame.interface_name", "-e", "frame.time_epoch"]
    command = ["tshark", "-r", str(captured.path), "-T", "fields", *fields]
    rows = [line.split("\t") for line in subprocess.check_output(command, text=True).splitlines()]
    assert [name for name, _ in rows] == [seen.port for seen in captured.seen]
    assert [round(float(time) * 1e9) for _, time in rows] == [seen.time_ns for seen in captured.seen]
    assert {name for name, _ in rows} == set(captured.run.summary["ports"])


def test_times_are_those_of_the_run(captured: Captured) -> None:
    times = [seen.time_ns for seen in captured.seen]
    assert times == sorted(times)
    assert times[0] == 0
    # The last frame acknowledges what arrived last; its way is not part of the work's time.
    assert captured.run.summary["duration_ps"] // 1000 in times
    assert captured.run.summary["duration_ps"] / 1000 < times[-1] < captured.run.summary["duration_ps"] / 1000 + 10_000


# --- on both sides of a switch ---------------------------------------------------------------------------------------


def test_a_switch_routes_each_frame_and_changes_nothing_else(captured: Captured) -> None:
    """MAC addresses rewritten, TTL one less (and, in IPv4, its checksum); all behind, ICRC included, as it was."""
    plan, ip = captured.model.plan, 20 if captured.ip_version == 4 else 40
    for switch in plan.switches:
        ports = {port.name for port in switch.ports}
        sides: dict[bytes, list[Seen]] = defaultdict(list)
        for seen in captured.seen:
            if seen.port in ports:
                sides[seen.frame[14 + ip :]].append(seen)
        assert sides
        for came, left in sides.values():
            assert (came.inbound, left.inbound) == (True, False)
            assert came.port != left.port
            assert left.time_ns >= came.time_ns + switch.latency_ps // 1000
            assert came.frame[:6] == left.frame[6:12] == mac(switch.mac)
            assert left.frame[:6] == mac(next_mac(plan, left.port))
            assert network_header(left.frame, ip) == network_header(came.frame, ip)
            assert ttl(left.frame, ip) == ttl(came.frame, ip) - 1


def mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def next_mac(plan: FabricPlan, port: str) -> str:
    """Return the MAC address of the switch or NIC at the other end of the link at `port`."""
    far = plan.far_end(port)
    return plan.nic_by_name[far.name].mac if far.name in plan.nic_by_name else plan.switch_by_name[far.node].mac


def ttl(frame: bytes, ip: int) -> int:
    return frame[14 + (8 if ip == 20 else 7)]


def network_header(frame: bytes, ip: int) -> bytes:
    """Return the IP header without TTL and checksum."""
    header = bytearray(frame[14 : 14 + ip])
    for place in (8, 10, 11) if ip == 20 else (7,):
        header[place] = 0
    return bytes(header)


# --- what they carry -------------------------------------------------------------------------------------------------


def test_the_payloads_of_a_flow_are_the_bytes_that_were_sent(captured: Captured) -> None:
    """Put each packet's payload where its message's RETH says, packets in the order of arrival at h2."""
    received = np.zeros(FLOW_BYTES, dtype=np.uint8)
    start = at = None
    for seen in captured.seen:
        if seen.port != "h2-eth0" or not seen.inbound or seen.time_ns < 1_000_000:
            continue
        headers, payload = transport(seen.frame, 14 + (20 if captured.ip_version == 4 else 40) + 8)
        if "R" in headers:
            address, _, length = struct.unpack("!QII", headers["R"])
            assert length == FLOW_BYTES
            start, at = address, address
        assert start is not None
        assert at is not None
        received[at - start : at - start + len(payload)] = np.frombuffer(payload, dtype=np.uint8)
        at += len(payload)
    # What `traffic.collectives.flows` makes up for the second job of the workload (the first is number 0).
    sent = np.random.Generator(np.random.PCG64(SCENARIO["seed"] << 20 | 1)).integers(0, 256, FLOW_BYTES, dtype=np.uint8)
    assert np.array_equal(received, sent)


def transport(frame: bytes, bth: int) -> tuple[dict[str, bytes], bytes]:
    """Return the headers behind the BTH, by kind, and the payload without pad."""
    name, kinds = OPCODES[frame[bth]]
    assert name.startswith("RDMA_WRITE")
    at, headers = bth + 12, {}
    for kind in kinds:
        headers[kind] = frame[at : at + HEADER_BYTES[kind]]
        at += HEADER_BYTES[kind]
    return headers, frame[at : len(frame) - 4 - (frame[bth + 1] >> 4 & 3)]


# --- compared with theory and with the model -------------------------------------------------------------------------


def test_the_ring_takes_what_the_closed_form_says(captured: Captured) -> None:
    (result,) = captured.run.summary["collectives"]
    transport = Transport(mtu=1024, ip_version=captured.ip_version)
    theory = ring_time_ps(ring_edges(captured.model.plan), result["size_bytes"], transport)
    assert result["time_ps"] == pytest.approx(theory, rel=0.01)


def test_real_and_modelled_switches_give_the_same_to_the_picosecond(captured: Captured) -> None:
    real, model = captured.run.summary, captured.model
    ring, flow = (job.result() for job in model.jobs)
    (collective,), (transfer,) = real["collectives"], real["flows"]
    assert collective["time_ps"] == ring.time_ps
    assert collective["stall_ps_by_rank"] == ring.stall_ps_by_rank  # type: ignore[union-attr] # the first job is the ring
    assert transfer["time_ps"] == flow.time_ps
    assert real["nic"] == {name: dict(nic.statistics()) for name, nic in model.nics.items()}
    for name, wire in model.fabric.transmitters.items():
        port = real["ports"][name]
        assert (port["sent_frames"], port["sent_bytes"], port["busy_ps"]) == (
            wire.sent_frames, wire.sent_bytes, wire.busy_ps,
        )  # fmt: skip


def test_acknowledgements_are_one_for_each_message_and_16_packets(captured: Captured) -> None:
    """A part of 16 KiB is 16 packets of 1024 B, so each message asks once; the flow has 10."""
    kinds = Counter(seen.frame[14 + (20 if captured.ip_version == 4 else 40) + 8] for seen in captured.seen
                    if seen.inbound and seen.port.startswith("h"))  # fmt: skip
    messages = 4 * 6 + 1
    assert kinds[0x11] == messages
    assert sum(kinds.values()) - kinds[0x11] == 4 * 6 * 16 + 10
