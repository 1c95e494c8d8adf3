"""The memory of what is verified: reckoned as it is taken, and refused when the machine has not got it."""

import tracemalloc

import pytest

from testbed.errors import MachineError
from testbed.fabric.build import build_plan
from testbed.scenario.model import FabricOptions, Flows, Work
from tests.traffic.collectives.kit import Bench, ring, star
from traffic.memory import require_memory, verified_bytes

GIB = 2**30


def flows(size: str, *, verify: bool = True) -> Flows:
    return Flows.model_validate({"kind": "flows", "pattern": "ring", "size": size, "verify": verify})


@pytest.mark.parametrize("work", [ring(2**20), ring(2**20, iterations=3), flows("1MiB")])
def test_the_estimate_is_what_a_run_takes(work: Work) -> None:
    Bench(star(2), ring(64)).run()  # what is imported and made once is not the workload's
    tracemalloc.start()
    bench = Bench(star(4, link={"rate": "100Gbps", "delay": "0ps"}), work)
    bench.run()
    for job in bench.jobs:
        job.result()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert verified_bytes(work, bench.plan, "workload.0") == pytest.approx(peak, rel=0.25)


def test_what_is_not_verified_takes_nothing() -> None:
    plan = build_plan(FabricOptions.model_validate(star(3)))
    huge: list[Work] = [ring(2**34, verify=False, chunk="1GiB"), flows("100GB", verify=False)]
    require_memory(huge, plan, available_bytes=0)


def test_too_little_memory_is_said_with_the_sum_and_the_remedy() -> None:
    plan = build_plan(FabricOptions.model_validate(star(3)))
    workload: list[Work] = [flows("1MiB", verify=False), flows("2GiB"), ring(4 * GIB)]
    # 3 flows of 2 GiB, twice each and one compared; 3 ranks with 2 x 4 GiB, the sums of 4 GiB, and half of that beside
    text = (
        r"^to verify this workload takes 44\.2 GiB of memory \(workload\.1: 14\.0 GiB, workload\.2: 30\.0 GiB; "
        r"the run itself: 0\.2 GiB\), and 40\.0 GiB are available; leave out the data, at the same times: "
        r"--set workload\.2\.verify=false$"
    )
    with pytest.raises(MachineError, match=text):
        require_memory(workload, plan, available_bytes=40 * GIB)
    require_memory(workload, plan, available_bytes=45 * GIB)
