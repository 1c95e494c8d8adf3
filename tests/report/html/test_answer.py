"""The sentence at the top: of collectives, traces, flows, packets, and of what did not finish."""

from pathlib import Path

import pytest

from testbed.report.html.answer import answer
from tests.report.html.made_run import made_flows_run, made_packet_run, made_run, made_trace_run, summary_of

OF_THE_QUEUE = "what cost most was queue at leaf0-eth1, 100% of all time lost."


def test_a_collective_has_its_time_share_worst_rank_and_what_cost_most(tmp_path: Path) -> None:
    assert answer(summary_of(made_run(tmp_path / "run"))) == (
        "The all-reduce of 4 ranks took 50us, 2.00 times the 25us that it would take alone; h3 stalled longest, 4ns; "
        f"{OF_THE_QUEUE}"
    )


def test_a_trace_has_the_longest_wait_too(tmp_path: Path) -> None:
    summary = summary_of(made_trace_run(tmp_path / "run"))
    start = "The Chakra trace of 4 ranks took 50us, 2.00 times the 25us that it would take alone; "
    assert answer(summary) == (
        f"{start}h3 waited for others longest, 28ns of it, and stalled longest, 4ns; {OF_THE_QUEUE}"
    )
    summary["traces"][0]["stall_ps_by_rank"] = {"h0": 5_000}
    assert answer(summary) == (
        f"{start}h3 waited for others longest, 28ns of it, and h0 stalled longest, 5ns; {OF_THE_QUEUE}"
    )


def test_of_several_jobs_it_is_about_the_slowest(tmp_path: Path) -> None:
    summary, other = (summary_of(made(tmp_path / made.__name__)) for made in (made_run, made_trace_run))
    (trace,) = other["traces"]
    both = {**summary, "traces": [{**trace, "time_ps": trace["time_ps"] + 1000}]}
    assert answer(both).startswith("The slowest of 2 jobs, the Chakra trace of 4 ranks, took 50.001us, ")


def test_many_flows_have_a_percentile(tmp_path: Path) -> None:
    assert answer(summary_of(made_flows_run(tmp_path / "run"))) == (
        "The slowest of 20 flows, h0 to h3, took 4ns, 4.00 times the 1ns that it would take alone; "
        "of the 20 flows of background one in a hundred took at least 4.25 times as long as it would alone."
    )


def test_of_more_flows_than_the_summary_has_the_slowest_is_the_groups(tmp_path: Path) -> None:
    found = answer(summary_of(made_flows_run(tmp_path / "run", flows=1500)))
    assert found.startswith("The slowest of 1,500 flows took 4ns; ")


def test_packets_of_a_capture(tmp_path: Path) -> None:
    assert answer(summary_of(made_packet_run(tmp_path / "run"))) == (
        "Of the 100 packets of captures/a.pcap 97 arrived, within 9us, 1.125 times what they took in the capture; "
        "one in a hundred was under way for at least 3ns."
    )


def test_packets_that_were_lost_beside_a_collective(tmp_path: Path) -> None:
    summary, packets = (summary_of(made(tmp_path / made.__name__)) for made in (made_run, made_packet_run))
    assert "; 3 of 100 packets of captures were lost; " in answer({**summary, "replays": packets["replays"]})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"failure": "QP 17 of h0: no retry left"}, "The workload did not finish: QP 17 of h0: no retry left."),
        ({"collectives": []}, "The run took 50us of model time."),
    ],
)
def test_without_a_result(changes: dict[str, object], told: str, tmp_path: Path) -> None:
    assert answer({**summary_of(made_run(tmp_path / "run")), **changes}) == told
