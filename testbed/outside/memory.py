"""How much memory a run may take: looked at first, since a kernel that is short of it kills without a word."""

from pathlib import Path

from testbed.errors import MachineError
from testbed.units import format_size

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available_memory_bytes() -> int:
    """Return what the kernel says is available, or what this process's control group allows if that is less."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    limits = [Path(path).read_text().strip() for path in _CGROUP_LIMITS if Path(path).exists()]
    return min([available, *(int(limit) for limit in limits if limit.isdigit())])


def require_memory(needed_bytes: int) -> None:
    """Raise MachineError, with the remedy, when the workload's data would not fit."""
    available = available_memory_bytes()
    if needed_bytes > available:
        needed, there = format_size(needed_bytes), format_size(available)
        raise MachineError(
            f"the workload's data takes {needed} of memory, and {there} are available\n"
            "  without real data in the buffers it takes none: --set workload.0.verify=false"
        )
