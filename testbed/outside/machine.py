"""What a run needs of the machine: looked at one by one, each with the command that mends it.

Two depths. `require_machine` only looks at programs and devices, in a few milliseconds, and is called before every run.
`checks` is the doctor's: it also makes the namespaces and a TAP device as a run does, in a process of its own, and
imports every library, because a program that is there need not work.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from types import TracebackType

from testbed.errors import MachineError
from testbed.outside.check import Check
from testbed.outside.kernel_datapath import kernel_datapath_check
from testbed.outside.libraries import controller_check, library_checks, python_check
from testbed.outside.sandbox import run_in_sandbox
from testbed.outside.tap import TUN_DEVICE, open_tap

ROOT = Path(__file__).parents[2]
_SYSTEM_DIRECTORIES = "/usr/local/sbin:/usr/sbin:/sbin"

_PROGRAMS = {
    "openvswitch-switch": ("ovs-vswitchd", "ovsdb-server", "ovs-vsctl", "ovs-ofctl", "ovs-appctl", "ovsdb-tool"),
    "mininet": ("mnexec",),
    "iproute2": ("ip",),
    "net-tools": ("ifconfig",),
}
"""Debian's package: the programs of it that a run starts (ifconfig is Mininet's)."""


def require_machine() -> None:
    """Raise MachineError, naming each missing thing and its remedy, when a run cannot work here."""
    failing = [check for check in _programs_and_devices() if check.required and not check.ok]
    if failing:
        lines = [f"\n  {check.name}: {check.found}\n    {check.remedy}" for check in failing]
        raise MachineError("this machine lacks what a run needs (./rocelab doctor says more)" + "".join(lines))


def checks() -> list[Check]:
    """Return every check, in the order in which a reader would mend them. Takes some seconds."""
    return [
        *_programs_and_devices(),
        _open_vswitch_version(),
        *sandbox_checks(),
        python_check(),
        *library_checks(),
        controller_check(),
        kernel_datapath_check(),
        _allocator(),
        _tshark(),
    ]


def _programs_and_devices() -> list[Check]:
    return [*(package_check(package, programs) for package, programs in _PROGRAMS.items()), tun_check()]


# --- programs --------------------------------------------------------------------------------------------------------


def package_check(package: str, programs: Sequence[str], required: bool = True) -> Check:
    """Return whether all `programs` of Debian's `package` can be started by their names."""
    name = programs[0] if len(programs) == 1 else package
    missing = [program for program in programs if shutil.which(program) is None]
    if not missing:
        places = sorted({str(Path(str(shutil.which(program))).parent) for program in programs})
        return Check(name, True, required, f"{', '.join(programs)} in {', '.join(places)}")
    elsewhere = shutil.which(missing[0], path=_SYSTEM_DIRECTORIES)
    if elsewhere is not None:
        found = f"{elsewhere} is not in PATH"
        return Check(name, False, required, found, f'export PATH="$PATH:{Path(elsewhere).parent}"')
    return Check(name, False, required, f"not found: {', '.join(missing)}", _apt_install(package))


def _apt_install(package: str) -> str:
    return f"sudo apt-get install --no-install-recommends {package}"


def _open_vswitch_version() -> Check:
    """Start ovs-vswitchd for its version: found in PATH, it may still lack a library."""
    name = "Open vSwitch"
    remedy = _apt_install("--reinstall openvswitch-switch openvswitch-common")
    try:
        done = subprocess.run(["ovs-vswitchd", "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, False, True, f"ovs-vswitchd --version: {error}", remedy)
    version = re.search(r"\(Open vSwitch\) (\S+)", done.stdout)
    if version is None:
        return Check(name, False, True, f"ovs-vswitchd --version: {_last_line(done.stderr, done.returncode)}", remedy)
    return Check(name, True, True, version[1])


def _allocator() -> Check:
    name = "tcmalloc"
    libraries = sorted(glob("/usr/lib/*/libtcmalloc_minimal.so.4"))
    if libraries:
        return Check(name, True, False, libraries[0])
    found = "not found: Open vSwitch forwards about half as many frames a second without it"
    return Check(name, False, False, found, _apt_install("libtcmalloc-minimal4"))


def _tshark() -> Check:
    check = package_check("tshark", ["tshark"], required=False)
    if check.ok:
        return check
    return Check(check.name, False, False, f"{check.found}; the tests then check captures without it", check.remedy)


# --- the TAP device --------------------------------------------------------------------------------------------------


def tun_check(device: str = TUN_DEVICE) -> Check:
    """Return whether this user may open `device`, of which every TAP is made."""
    name = device
    try:
        os.close(os.open(device, os.O_RDWR | os.O_CLOEXEC))
    except PermissionError as error:
        if os.access(device, os.R_OK | os.W_OK):  # the file's mode is not what refuses: a container's device rules
            return Check(name, False, True, f"{error.strerror}", "docker run --device /dev/net/tun ...")
        mode = f"{os.stat(device).st_mode & 0o777:04o}"
        return Check(name, False, True, f"{error.strerror} (its mode is {mode})", f"sudo chmod 0666 {device}")
    except OSError as error:
        return Check(name, False, True, f"{error.strerror}", "sudo modprobe tun")
    return Check(name, True, True, "can be read and written")


# --- the namespaces --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Setting:
    """A kernel setting under /proc/sys that, at the value `refuses`, keeps a run from its namespaces."""

    name: str
    refuses: str
    allows: str
    root_too: bool


_SETTINGS = (
    _Setting("kernel.apparmor_restrict_unprivileged_userns", "1", "0", root_too=False),  # Ubuntu from 23.10 on
    _Setting("kernel.unprivileged_userns_clone", "0", "1", root_too=False),  # Debian's own
    _Setting("user.max_user_namespaces", "0", "15000", root_too=False),
    _Setting("user.max_net_namespaces", "0", "15000", root_too=True),
    _Setting("user.max_mnt_namespaces", "0", "15000", root_too=True),
    _Setting("user.max_pid_namespaces", "0", "15000", root_too=True),
)


def sandbox_checks() -> list[Check]:
    """Make a sandbox and a TAP device in it, in another process, and return how far that came."""
    command = [sys.executable, "-c", "from testbed.outside.machine import probe_sandbox; probe_sandbox()"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    reached = done.stdout.split()
    words = _last_line(done.stderr, done.returncode)
    name, tap = "namespaces", "TAP in a namespace"
    if "namespaces" not in reached:
        found, remedy = refusal(words)
        return [
            Check(name, False, True, found, remedy),
            Check(tap, False, True, "not tried: no namespaces"),
        ]
    inside = Check(name, True, True, "network, mount and PID" + ("" if os.geteuid() == 0 else ", in a user namespace"))
    if "tap" not in reached:
        return [inside, Check(tap, False, True, words, tun_check().remedy or "sudo modprobe tun")]
    return [inside, Check(tap, True, True, "made")]


def probe_sandbox() -> None:
    """Print ``namespaces`` once inside a sandbox, and ``tap`` once a TAP device is made there. Ends the process."""

    def say(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
        print(str(error).splitlines()[0], file=sys.stderr)

    def inside() -> int:
        print("namespaces", flush=True)
        os.close(open_tap("probe"))
        print("tap", flush=True)
        return 0

    sys.excepthook = say  # the sandbox's own calls it for what goes wrong inside, too
    raise SystemExit(run_in_sandbox(inside))


def refusal(words: str, settings: Path = Path("/proc/sys"), root: bool | None = None) -> tuple[str, str]:
    """Return what keeps the kernel from making namespaces, with its own `words`, and the command that mends it.

    `settings` is where the kernel's settings are; `root` says whether root asks (default: this process).
    """
    is_root = os.geteuid() == 0 if root is None else root
    for setting in _SETTINGS:
        path = settings / setting.name.replace(".", "/")
        value = path.read_text().strip() if path.exists() else ""
        if value == setting.refuses and (setting.root_too or not is_root):
            return f"{words} ({setting.name} is {value})", f"sudo sysctl -w {setting.name}={setting.allows}"
    return (
        f"{words} (no kernel setting forbids it; a container or a chroot may)",
        "docker run --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined ...",
    )


def _last_line(text: str, status: int) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else f"exit status {status}"
