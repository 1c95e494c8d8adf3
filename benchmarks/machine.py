"""The machine that a figure was measured on: part of every figure."""

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from glob import glob


@dataclass(frozen=True)
class Machine:
    """What shapes speed. `load` is the run queue's mean over the minute before the benchmark began."""

    processor: str
    cores: int
    kernel: str
    python: str
    open_vswitch: str
    allocator: str
    load: float

    def text(self) -> str:
        """Return all of it in a line."""
        return (
            f"{self.processor}, {self.cores} cores, Linux {self.kernel}, Python {self.python}, "
            f"Open vSwitch {self.open_vswitch} with {self.allocator}; load before the start {self.load:.2f}"
        )


def this_machine() -> Machine:
    """Look at the machine we run on."""
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        kernel=platform.release(),
        python=platform.python_version(),
        open_vswitch=_open_vswitch(),
        allocator="tcmalloc" if glob("/usr/lib/*/libtcmalloc_minimal.so.4") else "glibc's malloc",
        load=os.getloadavg()[0],
    )


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _open_vswitch() -> str:
    shown = subprocess.run(["ovs-vswitchd", "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\(Open vSwitch\) (\S+)", shown)
    return match[1] if match else "of unknown version"


@dataclass(frozen=True)
class CpuTime:
    """Seconds of processor time that a process has used, all its threads together."""

    user: float
    system: float

    @classmethod
    def of_process(cls, pid: int) -> "CpuTime":
        """Read /proc/PID/stat (proc(5): fields 14 and 15, counted in clock ticks)."""
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        return cls(int(fields[11]) / ticks, int(fields[12]) / ticks)

    def __sub__(self, earlier: "CpuTime") -> "CpuTime":
        return CpuTime(self.user - earlier.user, self.system - earlier.system)

    @property
    def total(self) -> float:
        return self.user + self.system
