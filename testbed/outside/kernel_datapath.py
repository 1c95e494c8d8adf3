"""Open vSwitch's kernel datapath: whether this kernel has it, and what the engine does to use it.

Open vSwitch forwards in one of two places. In its *userspace* datapath (`netdev`) ovs-vswitchd reads and writes every
frame itself: nothing of the kernel is needed, and it is the default. In its *kernel* datapath (`system`) the module
openvswitch forwards by a table of its own, and ovs-vswitchd decides only on what misses there: what most installations
of Open vSwitch run. A run's results are the same on both, bit for bit; see `testbed.outside.ovs_kernel_forwarder`.

The module is one for all of the machine, and each network namespace has datapaths of its own in it: so runs do not meet
there, and an ordinary user needs no right but those of the run's user namespace, once the module is loaded.

References: generic netlink's ``CTRL_CMD_GETFAMILY`` (linux/genetlink.h).
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import glob

from testbed.errors import MachineError
from testbed.outside.check import Check

USER, KERNEL = "user", "kernel"
DATAPATHS = (USER, KERNEL)
"""What ``--datapath`` takes."""

FAMILY = "ovs_datapath"
"""The generic netlink family by which ovs-vswitchd talks to the module. Asking for it loads the module where the
kernel may load modules on demand."""

_GENERIC_NETLINK = 16
_CONTROLLER, _GET_FAMILY, _FAMILY_NAME = 16, 3, 2
_REQUEST, _ERROR = 1, 2
_HEADER = struct.Struct("=IHHII")


def ask_for_family(name: str) -> None:
    """Return when the kernel knows the generic netlink family `name`. Raises OSError, with its words, when not."""
    text = name.encode() + b"\0"
    attribute = struct.pack("=HH", 4 + len(text), _FAMILY_NAME) + text + bytes(-len(text) % 4)
    body = struct.pack("=BBH", _GET_FAMILY, 1, 0) + attribute
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC_NETLINK) as line:
        line.send(_HEADER.pack(_HEADER.size + len(body), _CONTROLLER, _REQUEST, 1, 0) + body)
        reply = line.recv(65536)
    if _HEADER.unpack_from(reply)[1] == _ERROR:
        number = -struct.unpack_from("=i", reply, _HEADER.size)[0]
        raise OSError(number, os.strerror(number))


def kernel_datapath_check(family: str = FAMILY, modules: str = "/lib/modules") -> Check:
    """Return whether ``--datapath kernel`` would work; `modules` is where kernels' modules are."""
    name = "kernel datapath"
    missing = _missing(family, modules)
    if missing is None:
        return Check(name, True, False, f"the module openvswitch answers (generic netlink family {family})")
    found, remedy = missing
    return Check(name, False, False, f"{found}; only --datapath kernel needs it", remedy)


def require_datapath(datapath: str) -> None:
    """Raise MachineError, with what is missing and the command that mends it, where `datapath` would not work."""
    missing = _missing() if datapath == KERNEL else None
    if missing is not None:
        found, remedy = missing
        raise MachineError(
            f"--datapath kernel: {found}\n  {remedy}\n"
            "  ./rocelab doctor shows whether it is there; --datapath user, the default, has the same results without"
        )


def _missing(family: str = FAMILY, modules: str = "/lib/modules") -> tuple[str, str] | None:
    """Return what keeps the kernel datapath from working and what mends it; None where nothing does."""
    try:
        ask_for_family(family)
    except OSError as error:
        release = os.uname().release
        words = f"generic netlink family {family}: {error.strerror}"
        if glob(f"{modules}/{release}/**/openvswitch.ko*", recursive=True):
            return f"the kernel's module openvswitch is not loaded ({words})", "sudo modprobe openvswitch"
        return (
            f"no module openvswitch is to be seen for the kernel {release} ({words})",
            "sudo modprobe openvswitch, on the machine itself: the kernels of Debian and Ubuntu have it, "
            "WSL2's and some clouds' have not",
        )
    return None


@contextmanager
def on_one_processor(datapath: str) -> Iterator[frozenset[int] | None]:
    """Keep this thread on one processor meanwhile, with the kernel datapath; yield which it may use otherwise.

    Since Linux 5.15 what misses in the kernel goes up to ovs-vswitchd by a queue for each processor. On one of them all
    of the engine's frames share one queue, and that keeps their order: what a fence proves rests on it.
    """
    if datapath != KERNEL:
        yield None
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_current_processor(allowed)})
    try:
        yield frozenset(allowed)
    finally:
        with suppress(OSError):  # the processors that it may use have been changed meanwhile
            os.sched_setaffinity(0, allowed)


def _current_processor(allowed: set[int]) -> int:
    """Return where this thread runs now: the scheduler has chosen it for being the least busy."""
    with open("/proc/thread-self/stat", encoding="ascii") as file:
        current = int(file.read().rpartition(")")[2].split()[36])
    return current if current in allowed else min(allowed)
