"""What the control loop of a run changes in the model before it starts."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from testbed.control.control import Control
from testbed.engine.loop import EventLoop
from testbed.scenario.model import Scenario
from testbed.scenario.qos import QosOptions
from testbed.units import MILLISECOND
from tests.engine.fabric_kit import Lab, plan_of


def patience_ps(controller: dict[str, Any]) -> int:
    """Return how long a fabric with PFC may stand still before its run is over."""
    topology = {"topology": {"kind": "single-switch", "hosts": 4}, "qos": {"pfc": {}}}
    work = ({"kind": "all-reduce", "size": "4KiB"},)
    scenario = Scenario.model_validate({"title": "t", "fabric": topology, "workload": work, "controller": controller})
    plan = plan_of("single-switch")
    lab = Lab(plan, qos=QosOptions.model_validate({"pfc": {}}))
    process = cast("Any", SimpleNamespace(hello=None))
    Control(scenario, plan, EventLoop()).attach(lab.fabric, process, cast("Any", None), cast("Any", None))
    assert lab.fabric.flow_control is not None
    return lab.fabric.flow_control.monitor.patience_ps


@pytest.mark.parametrize("interval_ms", [1, 7])
def test_a_fabric_is_given_a_hundred_looks_of_its_policy(interval_ms: int) -> None:
    own_ps = patience_ps({})
    assert own_ps < 100 * MILLISECOND
    controller = {"policy": {"kind": "pfc-guard"}, "interval": f"{interval_ms}ms", "latency": "3us"}
    assert patience_ps(controller) == 100 * interval_ms * MILLISECOND + 3_000_000
    assert patience_ps({**controller, "interval": "1us"}) == own_ps
