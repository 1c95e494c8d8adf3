"""When the explainer itself fails: the run goes on to its end, and says that it could not be explained, and why."""

from typing import Any

import pytest

from testbed.measurement.causes.explain import explained
from testbed.measurement.causes.model import Explanation, Unexplained
from testbed.measurement.causes.naming import Naming
from testbed.measurement.causes.walk import Walker
from testbed.measurement.invariants import invariants
from testbed.measurement.pauses import pause_report
from testbed.measurement.records import Invariant
from tests.measurement.causes.kit import Explained, flow, flows, star

WORK: dict[str, Any] = {
    "fabric": star(3),
    "workload": flows(flow("h0", "h2", "256KiB"), flow("h1", "h2", "256KiB")),
}


def broken(*_arguments: object) -> None:
    raise KeyError("h9")


def explain_again(run: Explained) -> Explanation | Unexplained:
    return explained(run.collector, run.fabric, run.drops, pause_report(run.fabric), run.results)


def test_a_mistake_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Explained(**WORK)
    assert explain_again(run) == run.explanation
    monkeypatch.setattr(Naming, "cause_of", broken)
    found = explain_again(run)
    assert isinstance(found, Unexplained)
    assert found.reason.startswith("the explainer failed: KeyError: 'h9' (test_unexplained.py:")


def test_a_mistake_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages arrive as they did, and nothing is collected any more."""
    times = [result.time_ps for result in Explained(**WORK).results]
    monkeypatch.setattr(Walker, "walk", broken)
    run = Explained(**WORK)
    assert [result.time_ps for result in run.results] == times
    assert run.collector.transits == {}
    found = explain_again(run)
    assert isinstance(found, Unexplained)
    assert found.reason.startswith("the explainer failed: KeyError: 'h9' (test_unexplained.py:")


def test_it_is_an_invariant_that_does_not_hold() -> None:
    fabric = Explained(**WORK).fabric
    held = invariants(fabric, {}, (), (), (), (), 0, explanation=Unexplained("the explainer failed: so it goes"))
    assert Invariant("causes", ok=False, detail="the explainer failed: so it goes") in held
