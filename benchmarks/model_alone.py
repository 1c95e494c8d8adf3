"""The same model with the switches' decisions computed in Python: what the engine takes without Open vSwitch.

    python -m benchmarks.model_alone scenarios/01-ring-all-reduce.yaml [--set KEY=VALUE ...]

All else is as in a run: NICs, frames with their ICRC, links, queues, the collective and its numbers. Prints JSON:
seconds and processor seconds from the first packet to the last, packet-hops, and the model time at which the work was
done. That is a run's own where flows do not share a link; else it may differ, since of equal paths another is chosen.
"""

import argparse
import json
import time

from benchmarks.product import ROOT, BenchmarkError
from testbed.engine.fabric import ModelFabric
from testbed.engine.frame import Frame
from testbed.engine.loop import EventLoop
from testbed.fabric.build import build_plan
from testbed.fabric.paths import next_hops
from testbed.fabric.plan import FabricPlan
from testbed.scenario.load import load_scenario
from testbed.scenario.model import Scenario
from traffic.nic import Nic
from traffic.work import start_workload

_IP_DESTINATION = slice(14 + 16, 14 + 20)
_SOURCE_PORT_LOW = 14 + 20 + 1


class ComputedForwarder:
    """Forwards IPv4 along shortest paths; of equal ones the UDP source port chooses. Leaves frames as they are."""

    def __init__(self, plan: FabricPlan, switch: str) -> None:
        hops = next_hops(plan)[switch]
        self._ports = {
            bytes(map(int, nic.ipv4.split("."))): [port.number for port in hops[nic.name]] for nic in plan.nics
        }

    def submit(self, in_port: int, frame: Frame) -> None:  # noqa: ARG002 - a forwarder's signature
        """Answer at once."""
        data = frame.data
        ports = self._ports[data[_IP_DESTINATION]]
        frame.answer = ports[data[_SOURCE_PORT_LOW] % len(ports)]

    def answer(self, frame: Frame) -> int:
        """Return what `submit` has found."""
        return frame.answer


def measure(scenario: Scenario) -> dict[str, float]:
    """Run `scenario` in the model alone; return what `main` prints. Raises BenchmarkError when a frame is dropped."""
    plan, loop = build_plan(scenario.fabric), EventLoop()
    nics = {nic.name: Nic(nic, loop, on_drop=_refuse) for nic in plan.nics}
    forwarders = {switch.name: ComputedForwarder(plan, switch.name) for switch in plan.switches}
    fabric = ModelFabric(plan, loop, forwarders, nics, _refuse)
    jobs = start_workload(scenario.workload, plan, nics, loop, scenario.seed, scenario.transport)
    started, used = time.perf_counter(), time.process_time()
    loop.run()
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - used
    if not all(job.done for job in jobs):
        raise BenchmarkError("the model came to a stop with work left")
    duration_ps = max(job.result().end_ps for job in jobs)
    return {"seconds": seconds, "cpu_seconds": cpu_seconds, "hops": fabric.data_hops, "duration_ps": duration_ps}


def _refuse(where: str, reason: str, _frame: Frame) -> None:
    raise BenchmarkError(f"a frame was dropped at {where}: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenario")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    asked = parser.parse_args()
    print(json.dumps(measure(load_scenario(ROOT / asked.scenario, tuple(asked.set)))))


if __name__ == "__main__":
    main()
