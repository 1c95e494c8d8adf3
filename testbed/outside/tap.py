"""TAP devices: network interfaces whose other end is a file that the engine holds.

What is written to the file, the kernel receives on the interface; what is sent out of the interface, can be read from
the file. The interface vanishes when the file is closed, however the process ends.
"""

import fcntl
import os
import resource
import struct

from testbed.errors import MachineError

TUN_DEVICE = "/dev/net/tun"
TUNSETIFF = 0x400454CA
IFF_TAP = 0x0002
IFF_NO_PI = 0x1000
_IFREQ = struct.Struct("16sH22x")


def raise_file_limit(files: int) -> None:
    """See to it that this process may have `files` files open: one for each TAP, and more.

    Raises MachineError, with the command that mends it, where the machine does not allow as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= files or soft == resource.RLIM_INFINITY:
        return
    allowed = hard if hard == resource.RLIM_INFINITY else max(files, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, allowed))
    except (ValueError, OSError) as error:
        raise MachineError(
            f"this fabric needs {files} open files, and this user may have {hard}\n  ulimit -Hn {files}, as root"
        ) from error


def open_tap(name: str) -> int:
    """Make the interface `name` (at most 15 characters) and return its file, non-blocking.

    The interface is made in this process's network namespace; the file stays valid when it is moved to another.
    """
    if len(name.encode()) > 15:
        raise ValueError(f"interface name {name!r} is longer than 15 bytes")
    try:
        file = os.open(TUN_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise MachineError(
            f"cannot open {TUN_DEVICE}: {error.strerror}\n  ./rocelab doctor prints the command that mends it"
        ) from error
    try:
        fcntl.ioctl(file, TUNSETIFF, _IFREQ.pack(name.encode(), IFF_TAP | IFF_NO_PI))
    except OSError as error:
        os.close(file)
        raise MachineError(f"cannot make the TAP device {name}: {error.strerror}") from error
    return file
