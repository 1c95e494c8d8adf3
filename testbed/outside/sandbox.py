"""The sandbox: a run in network, mount and PID namespaces of its own, which end with it.

Why: whatever a run makes (interfaces, bridges, daemons, files under /run) lives inside, so that the kernel removes it
when the run's first process ends, however it ends; the host's own network and Open vSwitch are out of reach; and with a
user namespace around them an ordinary user may do all of it.

Two processes. The *outer* one, which the user started, only waits: it hands on signals and the exit status. The *inner*
one is the first process (PID 1) of the new PID namespace. When it ends the kernel kills everything else in there; and
when the outer one ends, even by SIGKILL, the inner one's parent-death signal ends it.

Only forks and system calls here, by ctypes: Python has `os.unshare` from 3.12 on only, and the program of that name
keeps SIGTERM from the process inside.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from testbed.errors import MachineError, RocelabError
from testbed.outside.shared_screen import SharedScreen

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 1 << 18
PR_SET_PDEATHSIG, PR_GET_PDEATHSIG = 1, 2

_HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_libc = ctypes.CDLL(None, use_errno=True)


def run_in_sandbox(inside: Callable[[], int], screen: SharedScreen | None = None) -> int:
    """Run `inside` as the first process of new namespaces; return its exit status (128 + n for signal n).

    `screen`: what `inside` draws on, to be given back while the run is stopped (Ctrl-Z).

    Must be called before the process has threads. Raises MachineError where the kernel refuses the namespaces.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if os.geteuid() != 0 and len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a process with threads gets no user namespace; import what makes some (numpy) inside")
    _enter_namespaces()
    alive_read, alive_write = os.pipe()
    # Signals wait until both processes have their handlers: the first process of a namespace ignores all others.
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDED_ON)
    pid = os.fork()
    if pid == 0:
        os.close(alive_write)
        os._exit(_inner(inside, alive_read))
    os.close(alive_read)
    return _wait(pid, screen or SharedScreen())


def _enter_namespaces() -> None:
    """Unshare network, mounts and PIDs (of children); as an ordinary user inside a user namespace where we are root."""
    flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0:
        flags |= CLONE_NEWUSER
    with_parent = ctypes.c_int()
    _call("prctl", PR_GET_PDEATHSIG, ctypes.byref(with_parent), 0, 0, 0)
    _call("unshare", flags)
    if uid != 0:
        _call("prctl", PR_SET_PDEATHSIG, with_parent.value, 0, 0, 0)  # forgotten with the old user namespace
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"0 {uid} 1")
        _write("/proc/self/gid_map", f"0 {gid} 1")


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise _refused(f"write {path}", error.strerror) from error


def _inner(inside: Callable[[], int], alive_read: int) -> int:
    """PID 1 of the sandbox: tie this life to the outer process's, make /proc and /run private, do the work."""
    try:
        _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if _is_closed(alive_read):  # the outer process died before the call above
            return 128 + signal.SIGKILL
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _exit_by_signal)
        signal.signal(signal.SIGINT, _interrupt_once)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
        _private_mounts()
        _private_network()
        status = inside()
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except RocelabError as error:
        print(f"rocelab: {error}", file=sys.stderr)
        status = error.exit_status
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass
    return status


def end_with_parent(parent: int) -> None:
    """End by SIGKILL when the process `parent` ends, which has just forked this one."""
    _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call above
        os._exit(128 + signal.SIGKILL)


def _exit_by_signal(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Ctrl-C comes twice, from the terminal and from the outer process: the second must not disturb the ending."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.default_int_handler(number, frame)


def _is_closed(pipe_read: int) -> bool:
    return bool(select.select([pipe_read], [], [], 0)[0])


def _private_mounts() -> None:
    _mount(b"none", b"/", None, MS_REC | MS_PRIVATE)
    _mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    _mount(b"tmpfs", b"/run", b"tmpfs", MS_NOSUID | MS_NODEV)
    os.environ["TMPDIR"] = "/run"


def _private_network() -> None:
    """Loopback up, and no IPv6 by the kernel itself: its neighbour discovery would put frames of its own on TAPs."""
    for scope in ("all", "default"):
        setting = Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6")
        if setting.exists():
            setting.write_text("1")
    done = subprocess.run(["ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    if done.returncode != 0:
        raise _refused("ip link set lo up", done.stderr.strip())


def _wait(pid: int, screen: SharedScreen) -> int:
    """Wait for the inner process, handing on the signals that end programs, and those of Ctrl-Z and ``fg``.

    Return its exit status. What it leaves on the terminal when it is killed is put in order before that is said.
    """

    def hand_on(number: int, _frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):  # a terminal's Ctrl-C goes to both, and it may have ended of that already
            os.kill(pid, number)

    for number in _HANDED_ON:
        signal.signal(number, hand_on)
    signal.signal(signal.SIGTSTP, lambda _number, _frame: _stop_once(pid, screen))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDED_ON)
    _, status = os.waitpid(pid, 0)
    screen.end()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        print(f"rocelab: the run was ended by {signal.Signals(-code).name}", file=sys.stderr)
        return 128 - code
    return code


def _stop_once(pid: int, screen: SharedScreen) -> None:
    """Ctrl-Z; a second one while the first is at work is the same one."""
    # A function, not SIG_IGN: of a signal that has come already Python would complain.
    again = signal.signal(signal.SIGTSTP, lambda _number, _frame: None)
    try:
        _stop_with(pid, screen)
    finally:
        signal.signal(signal.SIGTSTP, again)


def _stop_with(pid: int, screen: SharedScreen) -> None:
    """The inner process, which as first of its namespace ignores Ctrl-Z, stops with us and goes on with us."""
    try:
        os.kill(pid, signal.SIGSTOP)
        state = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)  # only then does it draw no more
    except (ProcessLookupError, ChildProcessError):
        return  # it has ended, and was waited for
    if state is None or state.si_code != os.CLD_STOPPED:
        return  # it has just ended: so do we, in a moment
    screen.hide()
    os.kill(os.getpid(), signal.SIGSTOP)
    screen.show_again()
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _call(name: str, *arguments: Any) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        raise _refused(name, os.strerror(ctypes.get_errno()))


def _mount(source: bytes, target: bytes, kind: bytes | None, flags: int) -> None:
    if _libc.mount(source, target, kind, flags, None) != 0:
        raise _refused(f"mount {target.decode()}", os.strerror(ctypes.get_errno()))


def mount_over(file: Path, place: Path) -> None:
    """Let `place` show what `file` holds, to this process and those that it makes. Call inside the sandbox."""
    _mount(os.fsencode(file), os.fsencode(place), None, MS_BIND)


@contextmanager
def network_of(namespace: int) -> Iterator[None]:
    """Let this thread, and what it starts meanwhile, be in the network namespace that the file `namespace` is of."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("setns", namespace, CLONE_NEWNET)
        try:
            yield
        finally:
            _call("setns", own, CLONE_NEWNET)
    finally:
        os.close(own)


def _refused(what: str, why: str | None) -> MachineError:
    return MachineError(
        f"cannot make the namespaces that a run lives in: {what}: {why}\n"
        "  ./rocelab doctor says what this machine lacks"
    )
