"""Mount namespaces of a test's own: folders can be covered with empty ones there, and the machine does not notice."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CLONE_NEWNS = 0x00020000
KEEP = Path("/mnt")
"""Covered first; what must stay reachable under a covered folder is bound here meanwhile."""


def enter() -> None:
    """Give this process a mount namespace of its own."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("--make-rprivate", "/")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(KEEP))


def cover(folder: Path, mode: str, places: Sequence[Path]) -> None:
    """Put an empty folder with `mode` over `folder`, in which only those of `places` below it are there again."""
    inside = [place for place in places if folder in place.parents]
    kept = [KEEP / str(place).replace("/", "_") for place in inside]
    for place, keep in zip(inside, kept, strict=True):
        keep.mkdir()
        mount("--bind", str(place), str(keep))
    mount("-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", str(folder))
    for place, keep in zip(inside, kept, strict=True):
        place.mkdir(parents=True, exist_ok=True)
        mount("--bind", str(keep), str(place))


def mount(*arguments: str) -> None:
    """Run mount(8)."""
    subprocess.run(["mount", *arguments], check=True)


def arguments() -> tuple[list[Path], list[str]]:
    """Return what stands on this process's command line before ``--``, as places, and what stands behind."""
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    return [Path(os.path.realpath(word)) for word in sys.argv[1:split]], sys.argv[split + 1 :]
