"""A scenario run in the model, without Open vSwitch, and explained: what it was that cost most, and how much of all."""

from collections.abc import Callable, Mapping
from typing import Any

from testbed.engine.classes import priority_by_traffic_class
from testbed.engine.fabric import ModelFabric
from testbed.engine.faults import impair
from testbed.engine.loop import EventLoop
from testbed.fabric.build import build_plan
from testbed.measurement.causes import model
from testbed.measurement.causes.collect import TransitCollector
from testbed.measurement.causes.explain import explanation_of
from testbed.measurement.causes.model import Cause, Explanation
from testbed.measurement.pauses import pause_report
from testbed.measurement.recorder import DropRecorder
from testbed.scenario.model import Scenario
from tests.traffic.collectives.kit import PlannedForwarder
from traffic.nic import Nic
from traffic.nvlink import nvlink_domains
from traffic.results import CollectiveResult, FlowResult
from traffic.work import start_workload


class Explained:
    """A scenario, carried out to its end. `results` are those of its jobs, `explanation` what they are due to.

    `forwarder` is what its switches decide with; `prepare` is called with this when the work has begun, and may change
    the fabric and its NICs.
    """

    def __init__(
        self,
        *,
        forwarder: type[PlannedForwarder] = PlannedForwarder,
        prepare: Callable[["Explained"], None] = lambda _run: None,
        **scenario: Any,
    ) -> None:
        self.scenario = wanted = Scenario.model_validate({"title": "a test", **scenario})
        self.plan = plan = build_plan(wanted.fabric)
        self.loop = loop = EventLoop()
        qos = wanted.fabric.qos
        recorder = DropRecorder(plan, loop)
        priorities = bytes(256) if qos is None else priority_by_traffic_class(qos.dscp)
        self.nics = nics = {
            nic.name: Nic(nic, loop, on_drop=recorder.on_drop, priority_by_traffic_class=priorities)
            for nic in plan.nics
        }
        forwarders = {switch.name: forwarder(plan, switch.name) for switch in plan.switches}
        self.fabric = ModelFabric(
            plan, loop, forwarders, nics, recorder.on_drop, qos, mtu=wanted.transport.mtu, seed=wanted.seed
        )
        self.collector = TransitCollector.watching(nics.values(), self.fabric)
        impair(plan, self.fabric.transmitters, wanted.faults, wanted.seed)
        self.fabric.storm(wanted.faults)
        domains = nvlink_domains(wanted.fabric.nvlink, plan.host_by_name, loop)
        jobs = start_workload(wanted.workload, plan, nics, loop, wanted.seed, wanted.transport, domains)
        prepare(self)
        loop.run()
        assert all(job.done for job in jobs), [job.waiting_for() for job in jobs]
        self.drops = tuple(recorder.records)
        self.results: list[CollectiveResult | FlowResult] = [job.result() for job in jobs]
        self.explanation: Explanation = explanation_of(
            self.collector, self.fabric, self.drops, pause_report(self.fabric), self.results
        )
        assert self.explanation.problems() == []
        failed = any(result.failure for result in self.results)
        assert failed or model.FAILURE not in {cause.kind for cause in self.costs()}

    def costs(self) -> Mapping[Cause, int]:
        """Return what every cause cost all ranks and flows together, most first."""
        found: dict[Cause, int] = {}
        for stall in self.explanation.stalls:
            for part in stall.parts:
                cause = self.explanation.causes[part.cause]
                found[cause] = found.get(cause, 0) + part.duration_ps
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def shares(self) -> Mapping[tuple[str, str], float]:
        """Return the share of all that was lost by kind of cause and place, most first."""
        costs = self.costs()
        found: dict[tuple[str, str], int] = {}
        for cause, cost in costs.items():
            found[cause.kind, cause.where] = found.get((cause.kind, cause.where), 0) + cost
        total = sum(costs.values())
        return {key: cost / total for key, cost in sorted(found.items(), key=lambda item: -item[1])}

    def main(self, at_least: float = 0.95) -> Cause:
        """Return the cause that cost most; its kind, at its place, must have `at_least` that share of all."""
        assert self.costs(), "nothing was lost"
        first, share = next(iter(self.shares().items()))
        assert share >= at_least, self.costs()
        return next(cause for cause in self.costs() if (cause.kind, cause.where) == first)


def flow(source: str, destination: str, size: str, start: str = "0us") -> dict[str, str]:
    return {"source": source, "destination": destination, "size": size, "start": start}


def flows(*listed: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"kind": "flows", "flows": list(listed)}]


def star(hosts: int, **options: Any) -> dict[str, Any]:
    """Return the fabric of a single switch with 100 Gb/s links of 500 ns."""
    return {
        "topology": {"kind": "single-switch", "hosts": hosts},
        "link": {"rate": "100Gbps", "delay": "500ns"},
        **options,
    }
