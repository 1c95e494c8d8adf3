"""The fabric's picture: a row of hosts, the switches above them tier by tier, and the links, in fractions of the width.

Hosts stand in the order of the plan; a switch stands in the middle of its neighbours below, and what would overlap is
spread evenly over its row.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from testbed.fabric.build import build_plan
from testbed.fabric.plan import FabricPlan
from testbed.scenario.model import FabricOptions


def sketch(fabric: Mapping[str, Any]) -> dict[str, Any]:
    """Return nodes ([name, row, x]; row 0: the hosts, x from 0 to 1) and links (both ports, both nodes, rate in
    bit/s) of the resolved `fabric` section of a summary."""
    plan = build_plan(FabricOptions.model_validate(fabric))
    rows = _rows(plan)
    return {
        "rows": len(rows),
        "nodes": [[name, row, round(x, 5)] for row, names in enumerate(rows) for name, x in names.items()],
        "links": [[link.a.name, link.b.name, link.a.node, link.b.node, link.rate_bps] for link in plan.links],
    }


def _rows(plan: FabricPlan) -> list[dict[str, float]]:
    rows = [_evenly([host.name for host in plan.hosts])]
    for tier in sorted({switch.tier for switch in plan.switches}):
        names = [switch.name for switch in plan.switches if switch.tier == tier]
        rows.append(_above(plan, names, rows[-1]))
    return rows


def _above(plan: FabricPlan, names: Sequence[str], below: Mapping[str, float]) -> dict[str, float]:
    """Place switches over the middle of their neighbours below; evenly where two would be closer than half a place."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for link in plan.links:
        for upper, lower in ((link.a.node, link.b.node), (link.b.node, link.a.node)):
            if upper in found and lower in below:
                found[upper].append(below[lower])
    if all(found.values()):
        middles = {name: sum(at) / len(at) for name, at in found.items()}
        places = sorted(middles.values())
        gaps = [right - left for left, right in pairwise(places)]
        if all(gap > 0.5 / len(names) for gap in gaps):
            return middles
    return _evenly(names)


def _evenly(names: Sequence[str]) -> dict[str, float]:
    return {name: (index + 0.5) / len(names) for index, name in enumerate(names)}
