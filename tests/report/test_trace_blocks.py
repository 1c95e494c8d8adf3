"""The block `traces` of a summary, and its text: of a replay that went well, and of one that failed."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from testbed.report.style import Signs
from testbed.report.trace_blocks import trace_block, trace_report
from tests.traffic.trace_replay.kit import replayed
from tests.traffic.traces.make_traces import TRACES
from traffic.results import TraceResult

MANUAL = (Path(__file__).parents[2] / "docs" / "summary.md").read_text("utf-8")


def text_of(result: TraceResult) -> str:
    console = Console(width=110, no_color=True)
    with console.capture() as captured:
        for part in trace_report({"traces": [trace_block(result)]}, Signs(console)):
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def test_every_key_is_in_the_manual() -> None:
    block = trace_block(replayed(TRACES / "data-parallel", 4))
    chapter = MANUAL.partition("## `traces[]`")[2].partition("\n## ")[0]
    assert [key for key in (*block, *block["collectives"][0]) if f"`{key}`" not in chapter.replace("[]`", "`")] == []


def test_a_replay() -> None:
    text = text_of(replayed(TRACES / "moe", 8))
    assert text.startswith("Chakra trace (workload.0): 8 ranks, 88 nodes, 0 messages\n")
    assert "data right" in text
    assert "not understood, replayed without time: 8 STORAGE_NODE" in text
    assert "all-to-all pairwise  1" in text


def test_a_failed_replay() -> None:
    good = replayed(TRACES / "pipeline", 4)
    text = text_of(replace(good, time_ps=None, failure="trace died at 5us of model time"))
    assert "  not finished\n" in text
    assert text.endswith("  trace died at 5us of model time")


def test_nothing_without_traces() -> None:
    assert list(trace_report({}, Signs(Console()))) == []
