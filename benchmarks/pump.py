"""Pushes frames through the fabric's Open vSwitch switches with no model around them: how fast is that alone?

    python -m benchmarks.pump --seconds 1 8 32 128 512

In a sandbox it brings up what a run of the reference has (daemons, TAP devices, the controller's rules), writes so many
frames into the switch ports in turn, and for each that comes out writes the next into the same port. So the number of
frames under way is constant; no port ever has more than a run allows. Prints JSON: for each size and number the frames
forwarded, the seconds, and the processor time of Open vSwitch and of this process.
"""

import argparse
import json
import os
import select
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import CpuTime
from benchmarks.product import ROOT, BenchmarkError
from benchmarks.reference import SCENARIO
from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan, Nic, Switch
from testbed.lab import Lab, fabric_up
from testbed.outside.openvswitch import RUN_DIRECTORY
from testbed.outside.ovs_forwarder import OUTSTANDING_LIMIT
from testbed.outside.sandbox import run_in_sandbox
from testbed.scenario.load import load_scenario
from traffic.wire.opcodes import Opcode
from traffic.wire.template import FrameTemplate, aeth

SIZES = ("data", "ack")
"""Frames of 4154 B, a WRITE's middle, and of 62 B, an ACK."""

_READ_BYTES = 9216
_DESTINATION_QP = slice(14 + 20 + 8 + 5, 14 + 20 + 8 + 8)
"""Where a frame carries the number of the port that it went in by."""
_WARM_UP_S = 0.1
_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Pumped:
    """What came through: `frames` in `seconds` with `outstanding` under way; processor seconds meanwhile."""

    size: str
    frame_bytes: int
    outstanding: int
    frames: int
    seconds: float
    switch_cpu: CpuTime
    pump_cpu: CpuTime


class Pump:
    """Switch ports with a frame for each, and Open vSwitch behind them."""

    def __init__(self, frames: dict[int, bytes], switches_pid: int) -> None:
        """`frames` maps a port's file to the frame to write into it."""
        self._files = list(frames)
        self._frames = list(frames.values())
        self._pid = switches_pid
        self._poll = select.epoll()
        for file in self._files:
            self._poll.register(file, select.EPOLLIN)
        self._under_way = 0

    @property
    def most_outstanding(self) -> int:
        """As many frames as all ports together may have."""
        return OUTSTANDING_LIMIT * len(self._files)

    def measure(self, size: str, outstanding: int, seconds: float) -> Pumped:
        """Keep `outstanding` frames under way for `seconds`, then let them come home."""
        for number in range(outstanding):
            port = number % len(self._files)
            os.write(self._files[port], self._frames[port])
        self._under_way = outstanding
        self._turn_over(_WARM_UP_S)
        switch_before, pump_before = CpuTime.of_process(self._pid), CpuTime.of_process(os.getpid())
        started = time.perf_counter()
        frames = self._turn_over(seconds)
        taken = time.perf_counter() - started
        switch_cpu = CpuTime.of_process(self._pid) - switch_before
        pump_cpu = CpuTime.of_process(os.getpid()) - pump_before
        self._drain()
        return Pumped(size, len(self._frames[0]), outstanding, frames, taken, switch_cpu, pump_cpu)

    def _turn_over(self, seconds: float) -> int:
        """For each frame that comes out write the next into the same port; return how many came in `seconds`."""
        frames, files = self._frames, self._files
        read, write = os.read, os.write
        end = time.perf_counter() + seconds
        count = 0
        while time.perf_counter() < end:
            for file, _ in self._ready():
                port = int.from_bytes(read(file, _READ_BYTES)[_DESTINATION_QP], "big")
                write(files[port], frames[port])
                count += 1
        return count

    def _ready(self) -> list[tuple[int, int]]:
        events = self._poll.poll(_PATIENCE_S)
        if not events:
            raise BenchmarkError(f"Open vSwitch lost frames: {self._under_way} are out, none came in {_PATIENCE_S} s")
        return events

    def _drain(self) -> None:
        while self._under_way:
            for file, _ in self._ready():
                os.read(file, _READ_BYTES)
                self._under_way -= 1


def frames_of(plan: FabricPlan, taps: dict[str, int], size: str) -> dict[int, bytes]:
    """Return for each switch port's file the frame that goes in there, which the switch sends on to a host."""
    frames: dict[int, bytes] = {}
    for switch in plan.switches:
        for number, port in enumerate(switch.ports):
            frames[taps[port.name]] = _frame(_destination(plan, switch, number), switch, len(frames), size)
    return frames


def _destination(plan: FabricPlan, switch: Switch, number: int) -> Nic:
    """Return whom a frame that comes in by the `number`-th port is for: a host here, or on the next leaf, in turn."""
    leaves = list(plan.nics_of)
    if switch.name in plan.nics_of:
        nics = plan.nics_of[switch.name]
        return nics[(number + 1) % len(nics)]
    return plan.nics_of[leaves[(number + 1) % len(leaves)]][0]


def _frame(destination: Nic, switch: Switch, number: int, size: str) -> bytes:
    template = FrameTemplate(
        source_mac="02:00:00:00:00:01", destination_mac=switch.mac, source_ip="10.250.0.1",
        destination_ip=destination.ipv4, source_port=49152 + number, destination_qp=number, traffic_class=106,
    )  # fmt: skip
    if size == "data":
        return template.emit(int(Opcode.RDMA_WRITE_MIDDLE), 0, b"", bytes(4096))
    return template.emit(int(Opcode.ACKNOWLEDGE), 0, aeth(0x1F, 1))


def measure_all(lab: Lab, outstanding: list[int], seconds: float) -> list[Pumped]:
    """Measure each size with each number of frames outstanding, the numbers cut to what the ports may have."""
    pid = int((RUN_DIRECTORY / "ovs-vswitchd.pid").read_text())
    found = []
    for size in SIZES:
        pump = Pump(frames_of(lab.plan, lab.network.taps, size), pid)
        found += [pump.measure(size, min(wanted, pump.most_outstanding), seconds) for wanted in outstanding]
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("outstanding", type=int, nargs="+", help="frames under way")
    arguments.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    options = arguments.parse_args()
    scenario = load_scenario(ROOT / SCENARIO)
    plan = build_plan(scenario.fabric)

    def inside() -> int:
        with TemporaryDirectory() as directory, fabric_up(plan, scenario.controller, Path(directory)) as lab:
            found = measure_all(lab, options.outstanding, options.seconds)
        print(json.dumps([asdict(pumped) for pumped in found]))
        return 0

    sys.exit(run_in_sandbox(inside))


if __name__ == "__main__":
    main()
