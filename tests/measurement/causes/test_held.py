"""An idle wire has the cause that held it at that very time, a pause, no credit, or a window: none has another's."""

from dataclasses import replace
from typing import Any

from testbed.measurement.causes import model
from testbed.measurement.causes.model import Cause, Explanation, Stall, StallPart
from tests.measurement.causes.kit import Explained, flow, flows, star

DCTCP = {"kind": "dctcp", "initial_window": "1MiB"}


def dctcp_behind(**control: Any) -> Explained:
    """Four senders begin with windows far too large for what the switch can take, so it stops them for a while; then
    their windows hold them, and nothing else does."""
    ecn = {3: {"kmin": "20KB", "kmax": "20KB", "pmax": 1.0}}
    return Explained(
        fabric=star(5, qos={"ecn": ecn, **control}, switch={"buffer": "1MiB"}),
        transport={"traffic_class": 106, "congestion": DCTCP},
        workload=flows(*(flow(f"h{n}", "h4", "4MiB") for n in range(4))),
    )


def cost_by_kind(run: Explained, where: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for cause, cost in run.costs().items():
        if cause.where == where:
            found[cause.kind] = found.get(cause.kind, 0) + cost
    return found


def test_a_window_is_no_pause_although_the_port_was_paused_before() -> None:
    run = dctcp_behind(pfc={})
    control = run.fabric.flow_control
    assert control is not None
    for number in range(4):
        nic = f"h{number}-eth0"
        costs, paused_ps = cost_by_kind(run, nic), control.receivers[nic].duration_ps(3)
        assert 0 < costs[model.PAUSED] <= paused_ps
        assert costs[model.WINDOW] > 2 * paused_ps  # and so was not in the pauses


def test_a_window_is_not_without_credit_although_the_link_was_before() -> None:
    run = dctcp_behind(credits={})
    control = run.fabric.credit_control
    assert control is not None
    for number in range(4):
        nic = f"h{number}-eth0"
        costs, waited_ps = cost_by_kind(run, nic), sum(lane.credit_wait_ps for lane in control.statistics(nic))
        assert 0 < costs[model.CREDIT] <= waited_ps
        assert costs[model.WINDOW] > 2 * waited_ps


def test_a_window_has_the_port_that_marked() -> None:
    run = dctcp_behind(pfc={})
    windows = [cause for cause in run.costs() if cause.kind == model.WINDOW]
    assert {(cause.where, cause.origin) for cause in windows} == {(f"h{n}-eth0", "leaf0-eth5") for n in range(4)}
    assert all(f"dctcp of {cause.where[:2]} to h4, QP 17: " in cause.detail for cause in windows)


def paused_for(*parts: StallPart) -> Explanation:
    """h1 was stalled by pauses at leaf0-eth1, which was paused from 10 to 20 and from 50 to 60."""
    causes = tuple(Cause(model.PAUSED, "leaf0-eth1", f"paused by {n}") for n in range(2))
    stall = Stall(None, 0, "h1", sum(part.duration_ps for part in parts), parts)
    return Explanation(causes, (stall,), {}, {"leaf0-eth1": ((10, 20), (50, 60))})


def test_pauses_that_are_named_must_lie_within_those_there_were() -> None:
    assert paused_for(StallPart(0, 10, 10, 20), StallPart(1, 4, 52, 58)).problems() == []
    assert paused_for(StallPart(0, 12, 10, 30)).problems() == [
        "h1: 12 ps of pauses at leaf0-eth1, which was paused for 10 ps meanwhile"
    ]
    assert paused_for(StallPart(0, 10, 10, 20), StallPart(1, 11, 45, 60)).problems() == [
        "h1: 21 ps of pauses at leaf0-eth1, which was paused for 20 ps meanwhile"
    ]
    assert replace(paused_for(StallPart(0, 4, 12, 16)), pauses={}).problems() == [
        "h1: 4 ps of pauses at leaf0-eth1, which was paused for 0 ps meanwhile"
    ]
