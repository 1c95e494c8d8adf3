"""Rows of packets are gone back over at once: what is found is what single steps find."""

from typing import Any

import pytest

from testbed.measurement.causes.walk import _Way
from tests.measurement.causes.kit import Explained

STAR = {"topology": {"kind": "single-switch", "hosts": 6}}
LEAF_SPINE = {"topology": {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts_per_leaf": 3}}
LOSSLESS = {**LEAF_SPINE, "switch": {"buffer": "1MiB"}, "qos": {"pfc": {}}}


def flows_to_h0(size: str) -> dict[str, Any]:
    return {"kind": "flows", "flows": [{"source": f"h{n}", "destination": "h0", "size": size} for n in (1, 2, 4)]}


CASES: dict[str, dict[str, Any]] = {
    "ring": {"fabric": LEAF_SPINE, "workload": [{"kind": "all-reduce", "size": "600KiB"}]},
    "beside flows": {
        "fabric": STAR,
        "workload": [{"kind": "all-reduce", "size": "300KiB", "chunk": "16KiB"}, flows_to_h0("200KiB")],
        "transport": {"qps_per_connection": 2},
    },
    "paused": {"fabric": LOSSLESS, "workload": [{"kind": "all-to-all", "size": "600KiB"}, flows_to_h0("400KiB")]},
    "rates": {
        "fabric": {**LOSSLESS, "qos": {"pfc": {}, "ecn": {3: {"kmin": "20KB", "kmax": "80KB", "pmax": 0.5}}}},
        "transport": {"congestion": {"kind": "dcqcn"}},
        "workload": [{"kind": "all-to-all", "size": "600KiB"}, flows_to_h0("400KiB")],
    },
    "losses": {
        "fabric": STAR,
        "workload": [{"kind": "all-reduce", "size": "600KiB", "chunk": "32KiB"}],
        "faults": [{"kind": "loss", "port": "h1-eth0", "probability": 0.02}],
    },
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_found_is_what_single_steps_find(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = Explained(**CASES[case])
    monkeypatch.setattr(_Way, "_first_of_row", lambda _way, record, _source: record)
    step_by_step = Explained(**CASES[case])
    assert at_once.collector.transits == step_by_step.collector.transits
    assert at_once.explanation == step_by_step.explanation
    assert any(transit.stretches for transit in at_once.collector.transits.values())
