"""Replays of captures in summary.json and in the report."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from testbed.report.replays import replay_block, replay_report
from testbed.report.summary import summary
from tests.report import examples
from traffic.results import ReplayResult


def printed(result: ReplayResult) -> str:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    for part in replay_report({"replays": [replay_block(result)]}):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_block() -> None:
    block = replay_block(examples.replay())
    assert (block["packets"], block["delivered"], block["dropped"]) == (24, 23, 1)
    assert block["dropped_by_reason"] == {"fault": 1}
    assert block["stretch"] == 0.5
    # 23 latencies of 1.0 to 3.2 us: the 12th, the 22nd and the last.
    assert [block[f"latency_{what}_ps"] for what in ("p50", "p95", "p99", "max")] == [
        2_100_000, 3_100_000, 3_200_000, 3_200_000,
    ]  # fmt: skip
    assert [flow["dropped"] for flow in block["flows"]] == [1, 0]


def test_nothing_arrived() -> None:
    block = replay_block(replace(examples.replay(), delivery_span_ps=None, latencies_ps=(), delivered=0))
    assert block["stretch"] is block["latency_p50_ps"] is block["latency_max_ps"] is None
    assert "in the capture" not in printed(replace(examples.replay(), delivery_span_ps=None, latencies_ps=()))


def test_a_capture_of_no_duration_has_no_stretch() -> None:
    assert replay_block(replace(examples.replay(), file_span_ps=0))["stretch"] is None


def test_the_report() -> None:
    text = printed(examples.replay())
    assert "Replay of captures/two-writes.pcapng: 24 RoCEv2 packets; 10.0.0.1 as h0, 10.0.0.3 as h6" in text
    assert "24 sent, 23 delivered, 2 marked, 1 out of order, 1 dropped (1 fault)" in text
    assert "10us in the capture, 5us here, 0.500 of it" in text
    assert "not sent: 3 ARP" in text
    assert "h0 to h6  0x11    20         19       2             1        1" in text


def test_a_failed_replay_fails_the_run() -> None:
    def ok(result: ReplayResult) -> bool:
        measured = replace(examples.clean(), replays=(result,), scenario=examples.scenario(expect={}))
        return bool(summary(measured)["ok"])

    assert ok(examples.replay())
    assert not ok(examples.replay(failure="deadlock"))
    assert "deadlock" in printed(examples.replay(failure="deadlock"))


@pytest.mark.parametrize(("flows", "more"), [(8, ""), (9, "1 more flow in summary.json"), (11, "3 more flows in")])
def test_many_flows(flows: int, more: str) -> None:
    (flow, _) = examples.replay().flows
    text = printed(replace(examples.replay(), flows=(flow,) * flows))
    assert text.count("h0 to h6") == min(flows, 8)
    assert more in text
