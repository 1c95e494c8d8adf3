"""Mount namespaces of a test's own: folders can be covered with empty ones there, and the machine does not notice."""

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)
KEEP = Path("/mnt")
"""Covered first; what must stay reachable under a covered folder is bound here meanwhile."""


def enter() -> None:
    """Give this process a mount namespace of its own."""
    _check(_libc.unshare(CLONE_NEWNS), "unshare")
    _mount("none", Path("/"), None, MS_REC | MS_PRIVATE)
    _mount("tmpfs", KEEP, "tmpfs", options="mode=755")


def cover(folder: Path, mode: str, places: Sequence[Path]) -> None:
    """Put an empty folder with `mode` over `folder`, in which only those of `places` below it are there again."""
    inside = [place for place in places if folder in place.parents]
    kept = [KEEP / str(place).replace("/", "_") for place in inside]
    for place, keep in zip(inside, kept, strict=True):
        keep.mkdir()
        bind(place, keep)
    _mount("tmpfs", folder, "tmpfs", options=f"mode={mode}")
    for place, keep in zip(inside, kept, strict=True):
        place.mkdir(parents=True, exist_ok=True)
        bind(keep, place)


def bind(source: Path, target: Path) -> None:
    """Have `target` be what `source` is."""
    _mount(str(source), target, None, MS_BIND | MS_REC)


def _mount(source: str, target: Path, kind: str | None, flags: int = 0, *, options: str = "") -> None:
    # By system call, since mount(8) leaves a file under /run.
    kind_bytes = kind.encode() if kind else None
    _check(_libc.mount(source.encode(), bytes(target), kind_bytes, flags, options.encode()), f"mount on {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def arguments() -> tuple[list[Path], list[str]]:
    """Return what stands on this process's command line before ``--``, as places, and what stands behind."""
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    return [Path(os.path.realpath(word)) for word in sys.argv[1:split]], sys.argv[split + 1 :]
