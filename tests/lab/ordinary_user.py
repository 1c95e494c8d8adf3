"""Runs a command as an ordinary user on a machine where the tests run as root, and changes nothing of the machine for it.

In a mount namespace of its own: /dev/net/tun becomes usable by everybody, as it is on Debian and Ubuntu, and the project
and its Python become reachable where a folder above them is closed to others. Then user and groups are dropped.

    python ordinary_user.py --reach DIR [--reach DIR ...] -- COMMAND ...
"""

import ctypes
import os
import stat
import subprocess
import sys
from pathlib import Path

NOBODY = 65534
TUN = Path("/dev/net/tun")
CLONE_NEWNS = 0x00020000


def main() -> None:
    """Prepare the namespace, drop to NOBODY, run the command given after ``--``."""
    split = sys.argv.index("--")
    reach = [Path(word).resolve() for word in sys.argv[1:split] if word != "--reach"]
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    _mount("--make-rprivate", "/")
    keep = Path("/mnt")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(keep))
    _open_tun(keep)
    for index, path in enumerate(reach):
        _make_reachable(path, keep / str(index))
    home = keep / "home"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.environ.update(HOME=str(home), USER="nobody")
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])


def _open_tun(keep: Path) -> None:
    node = keep / "tun"
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(10, 200))
    node.chmod(0o666)
    _mount("--bind", str(node), str(TUN))


def _make_reachable(path: Path, kept: Path) -> None:
    """Where a folder above `path` is closed to others, put an open empty one over it with only `path` inside."""
    closed = [folder for folder in path.parents if not folder.stat().st_mode & stat.S_IXOTH]
    if not closed:
        return
    kept.mkdir()
    _mount("--bind", str(path), str(kept))
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(closed[-1]))
    path.mkdir(parents=True, exist_ok=True)
    _mount("--bind", str(kept), str(path))


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


if __name__ == "__main__":
    main()
