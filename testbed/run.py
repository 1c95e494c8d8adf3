"""One run: from a checked scenario to a run directory. Everything else is a stage that this file calls in its order.

A run is a function of scenario and seed: it has no other state, and all that it leaves is its directory.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan
from testbed.lab import Lab, fabric_up
from testbed.live.calibrate import Trial, calibrated
from testbed.live.live import packet_ps
from testbed.measured import measurements, own_rules
from testbed.measurement.capture import PortCapture
from testbed.measurement.history import History
from testbed.measurement.records import Measurements
from testbed.outside.kernel_datapath import USER
from testbed.outside.memory import require_memory
from testbed.running import Running
from testbed.scenario.model import Scenario
from traffic.work import memory_needed


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out, apart from what it runs.

    `directory` is where a capture goes; `started` the wall time (time.monotonic) at which the user's command began;
    `progress` is called now and then with the run as it stands. `rate_factor`: on the live clock, wall time over model
    time, or 0 for one that the machine can hold; None: on the virtual clock. `datapath` is Open vSwitch's, ``user`` or
    ``kernel``.
    """

    directory: Path
    started: float
    progress: Callable[[Running], None]
    rate_factor: int | None = None
    datapath: str = USER


def run(scenario: Scenario, options: RunOptions) -> Measurements:
    """Carry out `scenario` and return what was measured. Call inside the sandbox."""
    plan = build_plan(scenario.fabric)
    require_memory(memory_needed(scenario.workload, plan, scenario.seed))
    log = options.directory / "openflow.log" if scenario.measure.openflow_log else None
    kernels = options.rate_factor is not None
    with fabric_up(plan, scenario.controller, openflow_log=log, kernels=kernels, datapath=options.datapath) as lab:
        wanted = options.rate_factor
        factor = None if wanted is None else rate_factor_for(scenario, plan, lab, wanted)
        return _run_on(lab, scenario, plan, options, factor)


@contextmanager
def one_fabric(scenarios: Sequence[Scenario]) -> Iterator[Callable[[Scenario, RunOptions], Measurements]]:
    """Yield what carries out one of `scenarios` after the other, as `run` does, but on a fabric brought up once.

    The scenarios differ in their workloads alone, and the clock is virtual; model time begins afresh with each. A
    controller that may keep something of what it has seen (a policy, a learning switch) would let one workload change
    the next one's result, so then each gets a fabric of its own after all. Call inside the sandbox.
    """
    first = scenarios[0]
    if not own_rules(first.controller):
        yield run
        return
    plan = build_plan(first.fabric)
    require_memory(max(memory_needed(scenario.workload, plan, scenario.seed) for scenario in scenarios))
    with fabric_up(plan, first.controller) as lab:

        def run_next(scenario: Scenario, options: RunOptions) -> Measurements:
            lab.datapath.settle()
            return _run_on(lab, scenario, plan, options)

        yield run_next


def _run_on(
    lab: Lab, scenario: Scenario, plan: FabricPlan, options: RunOptions, rate_factor: int | None = None
) -> Measurements:
    """Carry out `scenario` on a fabric that is up."""
    running = Running(scenario, plan, lab, rate_factor)
    running.start()
    history = History(running.fabric, running.nics, running.loop) if scenario.measure.series else None
    captured = _captured_ports(scenario, plan)
    with PortCapture.of(running.fabric, options.directory / "capture.pcapng", captured):
        first_packet = time.monotonic()
        running.finish(options.progress)
        finished = time.monotonic()
    return measurements(running, history, lab, options.started, first_packet, finished)


def rate_factor_for(scenario: Scenario, plan: FabricPlan, lab: Lab, wanted: int) -> int:
    """Return the live clock's factor; 0 is replaced by what trials of the scenario, without its policy, show."""
    if wanted != 0:
        return wanted
    without_policy = scenario.controller.model_copy(update={"policy": None})

    def trial() -> Trial:
        lab.datapath.settle()
        running = Running(scenario.model_copy(update={"controller": without_policy}), plan, lab)
        running.start()
        nics = running.nics.values()
        return Trial(running.loop, lambda: sum(nic.counters.sent_data_packets for nic in nics))

    factor = calibrated(trial, packet_ps(plan, scenario.transport.mtu), len(plan.nics))
    lab.datapath.settle()
    return factor


def _captured_ports(scenario: Scenario, plan: FabricPlan) -> tuple[str, ...]:
    capture = scenario.measure.capture
    return tuple(port.name for port in plan.ports()) if capture == "all" else capture
