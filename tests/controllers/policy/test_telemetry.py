"""Telemetry on its way to the controller: nothing is lost, and idle queues take no room."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controllers.policy.telemetry import FlowTelemetry, QueueTelemetry, Telemetry
from tests.controllers.policies.kit import plan_of, port
from tests.engine.kit import STEADY

PLAN = plan_of()
COUNT = st.integers(0, 10**12)
QUEUES = st.lists(
    st.builds(
        QueueTelemetry, st.integers(0, 7), COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, lossless=st.booleans(),
        kmin_bytes=st.none() | COUNT, pmax=st.none() | st.floats(0, 1),
    ),
    max_size=8, unique_by=lambda queue: queue.priority,
)  # fmt: skip
FLOWS = st.lists(st.builds(FlowTelemetry, st.just("10.0.0.1"), st.just("10.1.0.2"), st.integers(0, 65535), COUNT))


@STEADY
@given(QUEUES, FLOWS)
def test_there_and_back(queues: list[QueueTelemetry], flows: list[FlowTelemetry]) -> None:
    full = replace(port(PLAN, "leaf0-eth1", *queues, sent=0.5, flows=flows), dropped={"wred": 3})
    sent = Telemetry(7, 5, (full, port(PLAN, "leaf1-eth2")))
    assert Telemetry.from_json(json.loads(json.dumps(sent.as_json()))) == sent


def test_an_idle_port_is_short() -> None:
    assert port(PLAN, "leaf0-eth1").as_json()[-2:] == [[], []]


def test_ports_by_name_and_by_switch() -> None:
    seen = Telemetry(1, 1, (port(PLAN, "leaf0-eth1"), port(PLAN, "leaf1-eth1")))
    assert seen.port("leaf1-eth1").switch == "leaf1"
    assert [each.name for each in seen.ports_of("leaf0")] == ["leaf0-eth1"]
