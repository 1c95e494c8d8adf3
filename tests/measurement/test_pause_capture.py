"""Pause frames and congestion notifications in a capture, as tshark and scapy read them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.layers.l2 import Ether

from testbed.engine.frame import Frame
from testbed.engine.pause.frames import pause_frame, pfc_frame
from testbed.measurement.capture import PortCapture
from testbed.scenario.qos import QosOptions
from tests.engine.fabric_kit import Lab, plan_of
from tests.tshark import tshark_problems
from traffic.wire.template import FrameTemplate

WIRE = 4198
MAC = "02:00:00:00:01:07"


def test_scapy_reads_a_pfc_frame() -> None:
    frame = Ether(pfc_frame(MAC, {3: 0xFFFF, 5: 0}))
    assert (frame.dst, frame.src, frame.type) == ("01:80:c2:00:00:01", MAC, 0x8808)
    control = frame[MACControlClassBasedFlowControl]
    enabled = [getattr(control, f"c{priority}_enabled") for priority in range(8)]
    assert enabled == [0, 0, 0, 1, 0, 1, 0, 0]
    assert (control.c3_pause_time, control.c5_pause_time) == (0xFFFF, 0)


def test_scapy_reads_a_pause_frame() -> None:
    assert Ether(pause_frame(MAC, 0x1234))[MACControlPause].pause_time == 0x1234


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt install tshark")
def test_tshark_reads_the_pauses_of_an_incast(tmp_path: Path) -> None:
    lab = Lab(plan_of("single-switch", buffer="512KiB"), qos=QosOptions.model_validate({"pfc": {}}))
    path = tmp_path / "capture.pcapng"
    with PortCapture.of(lab.fabric, path, ("leaf0-eth2",)):
        for source in (1, 2, 3):
            for number in range(60):
                lab.send_ip(0, source, 0, WIRE, number)
        lab.run()
    fields = ["macc.opcode", "eth.dst", "eth.src", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "_ws.malformed"]
    command = ["tshark", "-r", str(path), "-Y", "macc", "-T", "fields"]
    command += [part for name in fields for part in ("-e", name)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    mac = lab.fabric.plan.switches[0].mac
    assert lab.fabric.flow_control is not None
    counted = lab.fabric.flow_control.statistics("leaf0-eth2")[3]
    assert len(rows) == counted.out_pfc + counted.out_pfc_xon > 2
    assert all(row[:3] == ["0x0101", "01:80:c2:00:00:01", mac] and not row[5] for row in rows)
    assert {int(row[3], 0) for row in rows} == {1 << 3}
    assert [int(row[4], 0) for row in rows] == [0xFFFF, 0] * (len(rows) // 2)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt install tshark")
def test_tshark_reads_a_congestion_notification_as_field_facts_say(tmp_path: Path) -> None:
    """Opcode 0x81 and BECN (bit 6 of what Wireshark calls reserved), DSCP 48, ECT(0), for the sender's queue pair."""
    lab = Lab(plan_of("single-switch"))
    path = tmp_path / "capture.pcapng"
    with PortCapture.of(lab.fabric, path, ("h0-eth0",)):
        lab.nics["h0-eth0"].send(Frame(cnp()))
        lab.run()
    report = tshark_problems(path)
    assert report is not None
    assert report.problems == []
    assert [(seen.opcode, seen.destination_qp, seen.psn) for seen in report.fields] == [(0x81, 0x12, 0)]
    command = ["tshark", "-r", str(path), "-T", "fields"]
    for name in ("ip.dsfield", "infiniband.bth.reserved7", "infiniband.bth.tver", "frame.len"):
        command += ["-e", name]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert cnp()[14 + 20 + 8 + 4] == 0x40  # BECN, in the byte in front of the queue pair's number
    assert [int(value, 0) for value in out] == [48 << 2 | 2, 0, 0, 14 + 20 + 8 + 12 + 16 + 4]


def cnp() -> bytes:
    template = FrameTemplate(
        source_mac=MAC, destination_mac="02:00:00:00:02:01", source_ip="10.0.0.1", destination_ip="10.0.0.2",
        source_port=50_000, destination_qp=0x12, traffic_class=48 << 2 | 2,
    )  # fmt: skip
    return template.cnp()
