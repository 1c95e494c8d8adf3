"""Runs a command as an ordinary user where the tests run as root.

    python ordinary_user.py PLACE ... -- COMMAND ...

In a mount namespace of its own: /dev/net/tun becomes usable by everybody, as it is on Debian and Ubuntu, and each PLACE
(the project, its Python) reachable where a folder above it is closed to others. Then user and groups are dropped.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import namespaces

NOBODY = 65534
TUN = Path("/dev/net/tun")


def main() -> None:
    places, command = namespaces.arguments()
    namespaces.enter()
    _open_tun()
    _open_the_way(places)
    home = namespaces.KEEP / "home"
    home.mkdir()
    home.chmod(0o777)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.environ.update(HOME=str(home), USER="nobody")
    os.execvp(command[0], command)


def _open_tun() -> None:
    node = namespaces.KEEP / "tun"
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(10, 200))
    node.chmod(0o666)
    namespaces.bind(node, TUN)


def _open_the_way(places: Sequence[Path]) -> None:
    """Cover each topmost folder that is closed to others and has a place below."""
    closed = {
        next((folder for folder in reversed(place.parents) if not folder.stat().st_mode & stat.S_IXOTH), None)
        for place in places
    }
    for folder in closed - {None}:
        assert folder is not None
        namespaces.cover(folder, "755", places)


if __name__ == "__main__":
    main()
