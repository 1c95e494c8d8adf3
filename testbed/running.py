"""A run under way: the models of a scenario, on real switches, and the clock that drives them."""

from collections.abc import Callable, Sequence

from testbed.control.control import Control
from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.fabric import ModelFabric
from testbed.engine.faults import WireFaults
from testbed.engine.loop import EventLoop
from testbed.errors import TestbedError
from testbed.fabric.plan import FabricPlan
from testbed.lab import Lab
from testbed.live.host_nic import HostNic
from testbed.live.live import Live
from testbed.measurement.causes.collect import TransitCollector
from testbed.measurement.recorder import DropRecorder
from testbed.scenario.model import Scenario, Work
from traffic.nic import Nic
from traffic.nvlink import nvlink_domains
from traffic.work import Job, start_workload

_EVENTS_A_TURN = 20_000
"""Events between two looks at the processes a run depends on, and at the progress bar."""

_WALL_A_TURN_NS = 100_000_000
"""The same on the live clock: wall time."""


class Running:
    """A run under way: the model with real switches beneath it; with a `rate_factor` on the live clock, `live`."""

    def __init__(self, scenario: Scenario, plan: FabricPlan, lab: Lab, rate_factor: int | None = None) -> None:
        self.scenario = scenario
        self.plan = plan
        self.loop = EventLoop()
        self.recorder = DropRecorder(plan, self.loop)
        qos = scenario.fabric.qos
        self.nics = {
            nic.name: (Nic if rate_factor is None else HostNic)(
                nic,
                self.loop,
                ip_version=plan.ip_version,
                on_drop=self.recorder.on_drop,
                priority_by_traffic_class=priority_by_traffic_class(qos.dscp) if qos is not None else bytes(256),
            )
            for nic in plan.nics
        }
        if scenario.measure.rates:
            for nic in self.nics.values():
                nic.congestion_samples = []
        self.control = Control(scenario, plan, self.loop, any_policy=rate_factor is not None)
        forwarders, endpoints = self.control.forwarders(lab.forwarders), self.control.endpoints(self.nics)
        self.fabric = ModelFabric(
            plan,
            self.loop,
            forwarders,
            endpoints,
            self.recorder.on_drop,
            qos,
            mtu=scenario.transport.mtu,
            seed=scenario.seed,
        )
        self.control.attach(self.fabric, lab.controller, lab.datapath, lab.maintenance)
        self.causes: TransitCollector | None = None
        if scenario.measure.causes and rate_factor is None:
            self.causes = TransitCollector.watching(self.nics.values(), self.fabric)
        self.faults = WireFaults(plan, self.fabric.transmitters, scenario.seed)
        self.faults.add(scenario.faults)
        self.fabric.storm(scenario.faults)
        self.domains = nvlink_domains(scenario.fabric.nvlink, plan.host_by_name, self.loop)
        self.jobs: list[Job] = []
        self.live = (
            None if rate_factor is None else Live(plan, self.loop, rate_factor, self.nics, lab, scenario.transport.mtu)
        )
        self._data_packets = 0
        self._lab = lab

    def start(self) -> None:
        """Start the workload: the first packets go out when the clock runs."""
        self.add(self.scenario.workload)
        self.control.start(self._all_done)

    def start_control(self) -> None:
        """Let the policy, if there is one, look at a fabric that has no workload yet."""
        self.control.start(lambda: False)

    def add(self, workload: Sequence[Work]) -> list[Job]:
        """Start checked `workload` now, beside what runs already; return its jobs."""
        scenario = self.scenario
        jobs = start_workload(
            workload, self.plan, self.nics, self.loop, scenario.seed, scenario.transport, self.domains
        )
        self.jobs += jobs
        self._data_packets += sum(job.data_packets for job in jobs)
        return jobs

    def share_done(self) -> float:
        """Return how much of the workload's data has been sent, retransmissions aside; 0 to 1."""
        if not self._data_packets:  # everything goes by NVLink
            return float(self._all_done())
        counters = [nic.counters for nic in self.nics.values()]
        return sum(each.sent_data_packets - each.retransmitted_packets for each in counters) / self._data_packets

    def finish(self, progress: Callable[["Running"], None]) -> None:
        """Run until every job is done and every frame has arrived, or nothing can move any more (a deadlock): then the
        jobs fail of that. Raises TestbedError when the model stops short for no such reason."""
        while self._advance():
            self._lab.check()
            progress(self)
            if self.fabric.stopped(work_left=any(not job.done for job in self.jobs)):
                break
        waiting = [job for job in self.jobs if not job.done]
        if self.fabric.halted is not None:
            for job in waiting:
                job.give_up(self.fabric.halted)
        elif waiting:
            raise TestbedError(
                "the model came to a stop with work left: " + "; ".join(job.waiting_for() for job in waiting)
            )
        progress(self)

    def _advance(self) -> bool:
        """Go on for a turn; return whether there is more to come."""
        if self.live is not None and self.live.advance(_WALL_A_TURN_NS, self._all_done):
            return True
        return self.loop.run_events(_EVENTS_A_TURN)

    def _all_done(self) -> bool:
        return all(job.done for job in self.jobs)
