"""How much memory a workload's real data takes, reckoned before any of it is there.

With ``verify: true`` every rank holds its buffers, and every flow its bytes twice; sizes that a fabric moves in seconds
of model time can be larger than a machine. Without memory for them a run would die half-way, so it is refused at the
start.
"""

from collections.abc import Sequence

from testbed.errors import MachineError
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import RingAllReduce, Work
from traffic.collectives.flows import flows_of, needed_bytes
from traffic.collectives.ring_all_reduce import ELEMENT_BYTES
from traffic.collectives.ring_buffers import RealBuffers

_GIB = 2**30
_BESIDE_BYTES = 256 * 2**20
"""What a run takes beside its workload's data: the interpreter, the fabric, frames on their way."""


def verified_bytes(work: Work, plan: FabricPlan, where: str) -> int:
    """Return the memory that the data of `work` takes: 0 when it is not verified. `where` it stands is for errors."""
    if not work.verify:
        return 0
    if isinstance(work, RingAllReduce):
        ranks = len(plan.hosts) if work.ranks == "all" else len(work.ranks)
        return RealBuffers.needed_bytes(ranks, work.size // ELEMENT_BYTES, work.iterations)
    return needed_bytes(flows_of(work, plan, where))


def require_memory(workload: Sequence[Work], plan: FabricPlan, available_bytes: int) -> None:
    """Raise MachineError, with the sum and the remedy, when the data to verify does not fit into `available_bytes`."""
    needed = {
        f"workload.{index}": verified_bytes(work, plan, f"workload.{index}") for index, work in enumerate(workload)
    }
    total = sum(needed.values())
    if not total or total + _BESIDE_BYTES <= available_bytes:
        return
    largest = max(needed, key=lambda where: needed[where])
    parts = ", ".join(f"{where}: {_gib(size)}" for where, size in needed.items() if size)
    raise MachineError(
        f"to verify this workload takes {_gib(total + _BESIDE_BYTES)} of memory ({parts}; the run itself: "
        f"{_gib(_BESIDE_BYTES)}), and {_gib(available_bytes)} are available; leave out the data, at the same times: "
        f"--set {largest}.verify=false"
    )


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.1f} GiB"
