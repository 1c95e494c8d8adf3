"""A private Open vSwitch: `ovsdb-server` and `ovs-vswitchd` of a run's own, and the tools that ask them.

Their files live in the sandbox's /run, their environment says so (OVS_RUNDIR and its like), so the machine's own Open
vSwitch is neither used nor seen. Both are children of the run and end with it.

The allocator matters: for every receive queue that it polls, ovs-vswitchd allocates and frees 32 packet buffers, and
glibc hands that memory back to the kernel each time. With tcmalloc preloaded, or at least glibc told to keep the
memory, it forwards several times as many frames a second (docs/design.md, Open vSwitch).
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from testbed.errors import MachineError, TestbedError
from testbed.outside.kernel_datapath import KERNEL, USER

RUN_DIRECTORY = Path("/run/openvswitch")
_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
_START_TIMEOUT_S = 30
_FENCE_TYPE = 0x88B5
"""EtherType of the engine's fence frames: IEEE 802 local experimental 1."""

_KERNEL_DATAPATH = "system@ovs-system"
"""The one that ovs-vswitchd makes in the kernel for all its switches."""

_KEEP_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_TOP_PAD_": str(2**26),
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
}


class OpenVSwitch:
    """The two daemons, started in `start` and gone after `stop` (or with the sandbox).

    `datapath` is where they forward: in ovs-vswitchd (``user``) or in the kernel (``kernel``).
    """

    def __init__(self, directory: Path = RUN_DIRECTORY, datapath: str = USER) -> None:
        self.directory = directory
        self._kernel = datapath == KERNEL
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start both daemons and wait until they answer. Sets OVS_* in this process's environment: Mininet needs it."""
        for program in ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "ovs-appctl"):
            if shutil.which(program) is None:
                raise MachineError(f"{program} is not installed\n  sudo apt-get install openvswitch-switch")
        self.directory.mkdir(parents=True, exist_ok=True)
        for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"):
            os.environ[name] = str(self.directory)
        database = self.directory / "conf.db"
        _run("ovsdb-tool", "create", str(database), _SCHEMA)
        self._spawn("ovsdb-server", str(database), f"--remote=punix:{self.directory}/db.sock", env=dict(os.environ))
        self._wait_for(self.directory / "db.sock", "ovsdb-server")
        vsctl("init")
        if self._kernel:  # one thread for what misses there: it then decides in the order in which it was asked
            vsctl("set", "Open_vSwitch", ".", "other_config:n-handler-threads=1")
        without = () if self._kernel else ("--disable-system",)
        self._spawn("ovs-vswitchd", f"unix:{self.directory}/db.sock", *without, env=_vswitchd_environment())
        self._run_in_batches()
        self._wait_for(self.directory / "ovs-vswitchd.pid", "ovs-vswitchd")

    def _run_in_batches(self) -> None:
        """Keep ovs-vswitchd, when it wakes, from interrupting the engine that has just woken it: it then finds more
        frames in each turn. Its threads inherit this."""
        with suppress(OSError):
            os.sched_setscheduler(self._daemons["ovs-vswitchd"].pid, os.SCHED_BATCH, os.sched_param(0))

    def _spawn(self, program: str, *arguments: str, env: dict[str, str]) -> None:
        command = [program, *arguments, f"--pidfile={self.directory}/{program}.pid", "--log-file", "-vconsole:off"]
        with self._output(program).open("wb") as output:
            self._daemons[program] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env, start_new_session=True
            )

    def _output(self, program: str) -> Path:
        return self.directory / f"{program}.out"

    def _wait_for(self, path: Path, program: str) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not path.exists():
            self.check()
            if time.monotonic() > deadline:
                what = f"{program} did not make {path.name} within {_START_TIMEOUT_S} s"
                raise TestbedError(f"{what}{self._log_tail(program)}")
            time.sleep(0.005)

    def wait_for_switches(self, names: Iterable[str]) -> None:
        """Wait until ovs-vswitchd has made the switches `names`: then each has a socket for management."""
        for name in names:
            self._wait_for(self.directory / f"{name}.mgmt", "ovs-vswitchd")

    def check(self) -> None:
        """Raise TestbedError, with the daemon's last lines, if one has ended."""
        for program, process in self._daemons.items():
            status = process.poll()
            if status is not None:
                raise TestbedError(f"{program} ended ({_describe(status)}){self._log_tail(program)}")

    def stop(self) -> None:
        """End both daemons at once: in good order it takes seconds, and the sandbox ends anyway.

        Their files go too, since another fabric may be brought up in the same sandbox.
        """
        for process in self._daemons.values():
            process.kill()
        for process in self._daemons.values():
            process.wait()
        if self._daemons and self._kernel:  # what is in the kernel outlives them
            with suppress(TestbedError, OSError):  # the ending goes on, and what it ends for is told
                _run("ovs-dpctl", "del-dp", _KERNEL_DATAPATH)
        if self._daemons:
            shutil.rmtree(self.directory, ignore_errors=True)
        self._daemons.clear()

    def _log_tail(self, program: str) -> str:
        """Return the daemon's last words: the end of its log and what it wrote to its standard error."""
        files = (self.directory / f"{program}.log", self._output(program))
        lines = [line for file in files if file.exists() for line in file.read_text().splitlines()[-10:]]
        return "".join(f"\n  {line}" for line in lines)


def keep_connections(switches: Iterable[str]) -> None:
    """Have `switches` keep their controller however long it is busy: by default they give up after some seconds."""
    vsctl(*(word for name in switches for word in ("--", "set", "controller", name, "inactivity_probe=0")))


def install_fence(switch: str, datapath: str = USER) -> None:
    """Have `switch` return a fence frame by the port it came in by: what the engine proves a missing answer with.

    In the kernel datapath the flow also copies the source address, a fence's number, so that the kernel has no entry
    that fits another fence (`testbed.outside.ovs_kernel_forwarder`).
    """
    number = "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]," if datapath == KERNEL else ""
    ofctl("add-flow", switch, f"priority=65535,dl_type=0x{_FENCE_TYPE:04x},actions={number}in_port")


def ofctl(*arguments: str) -> str:
    """Run ovs-ofctl (OpenFlow 1.5) and return what it prints."""
    return _run("ovs-ofctl", "-O", "OpenFlow15", *arguments)


def vsctl(*arguments: str) -> None:
    """Change the configuration; ovs-vswitchd carries it out later."""
    _run("ovs-vsctl", "--no-wait", *arguments)


def installed(switch: str) -> list[str]:
    """Return the flows and then the groups of `switch` as installed, a line each."""
    replies = (ofctl("--no-stats", "--names", "dump-flows", switch), ofctl("--names", "dump-groups", switch))
    lines = [line.strip() for reply in replies for line in reply.splitlines()]
    return [line for line in lines if not line.startswith(("OFPST", "NXST"))]


def forget_cached_rules() -> None:
    """Have Open vSwitch decide on the next frames by its flow tables, as they are now.

    It answers a barrier when its tables have changed, and brings the caches in front of them up to date later: so after
    a barrier some frames would still be treated by the old rules.
    """
    _ask_vswitchd("revalidator/purge")


def forget_kernel_rules() -> None:
    """Do as `forget_cached_rules` with the kernel datapath.

    A purge passes over an entry that a thread of ovs-vswitchd is at work on just then, which is one that misses were
    answered with last; the second finds it.
    """
    _ask_vswitchd("revalidator/purge")
    _ask_vswitchd("revalidator/purge")


def finish_turn() -> None:
    """Return when ovs-vswitchd's main loop has finished a turn: its next one hands on all packet-ins made before this.

    With the kernel datapath other threads make them, so that a barrier could be answered in the turn before.
    """
    _ask_vswitchd("version")


def _ask_vswitchd(method: str) -> None:
    """Call a command of ovs-appctl's over its socket: JSON-RPC, some twenty times faster than the program."""
    for address in RUN_DIRECTORY.glob("ovs-vswitchd.*.ctl"):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(address))
            line.sendall(json.dumps({"method": method, "params": [], "id": 0}).encode())
            answer = _json_from(line)
        if answer["error"] is not None:
            raise TestbedError(f"ovs-appctl {method}: {answer['error']}")


def _json_from(line: socket.socket) -> dict[str, Any]:
    received = b""
    while True:
        more = line.recv(65536)
        if not more:
            raise TestbedError("ovs-vswitchd hung up")
        received += more
        with suppress(json.JSONDecodeError):
            value: dict[str, Any] = json.loads(received)
            return value


@dataclass(frozen=True, slots=True)
class Lookups:
    """How many frames the datapath has `taken` from all its ports, and those of them that it lost for want of room."""

    taken: int
    lost: int


def lookups(datapath: str = USER) -> Lookups:
    """Return the datapath's own count of frames: what no other counter of it shows is lost before this point.

    What is lost on the way up to ovs-vswitchd the kernel has counted as a miss before; the userspace datapath counts
    each frame once.
    """
    shown = _run("ovs-appctl", "dpctl/show")
    match = re.search(r"lookups: hit:(\d+) missed:(\d+) lost:(\d+)", shown)
    if match is None:
        raise TestbedError(f"ovs-appctl dpctl/show prints no lookups:\n{shown}")
    hit, missed, lost = map(int, match.groups())
    return Lookups(hit + missed, lost) if datapath == KERNEL else Lookups(hit + missed + lost, lost=0)


@dataclass(frozen=True, slots=True)
class PortCount:
    """What Open vSwitch counts at a port: frames it `received` and `sent`, and those `lost` on either side."""

    received: int
    sent: int
    lost: int


def port_counts(switch: str) -> dict[int, PortCount]:
    """Return the counts of each port of `switch`, by OpenFlow port number."""
    side = r"pkts=(\d+).*?drop=(\d+|\?), errs=(\d+|\?)"
    pattern = re.compile(rf"port +(\d+): rx {side}.*?tx {side}", re.S)
    found = {}
    for port, received, *rx_lost, sent, tx_drop, tx_errors in pattern.findall(ofctl("dump-ports", switch)):
        lost = sum(int(count) for count in (*rx_lost, tx_drop, tx_errors) if count != "?")
        found[int(port)] = PortCount(int(received), int(sent), lost)
    return found


def version() -> str:
    """Return Open vSwitch's version, such as ``3.1.0``."""
    return _run("ovs-vsctl", "--version").splitlines()[0].split()[-1]


def _vswitchd_environment() -> dict[str, str]:
    environment = {**os.environ, **_KEEP_MEMORY}
    libraries = sorted(glob("/usr/lib/*/libtcmalloc_minimal.so.4"))
    if libraries:
        environment["LD_PRELOAD"] = libraries[0]
    return environment


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise TestbedError(f"{' '.join(command)}: {_describe(done.returncode)}\n  {done.stderr.strip()}")
    return done.stdout


def _describe(status: int) -> str:
    return f"exit status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
