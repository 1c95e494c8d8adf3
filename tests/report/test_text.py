"""What a run prints, as golden files at 80 and at 120 columns; plain where there is no terminal."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from testbed.report.style import PIPE_WIDTH, Signs, console_for, count, microseconds, times_alike
from testbed.report.summary import summary
from testbed.report.text import print_json, print_quiet, print_report
from tests.conftest import GoldenCheck
from tests.report import examples, lossless_examples

GOLDEN = Path(__file__).parent
EXAMPLES = {**examples.ALL, **lossless_examples.ALL}
FILES = ("summary.json", "capture.pcapng", "drops.parquet", "ports.parquet", "steps.parquet", "waits.parquet")


def console(width: int, encoding: str = "utf-8", *, terminal: bool = False) -> tuple[Console, io.BytesIO]:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    return Console(file=stream, width=width, force_terminal=terminal, highlight=False, color_system="auto"), raw


def printed(result: dict[str, Any], width: int = 80, encoding: str = "utf-8", *, terminal: bool = False) -> str:
    on, raw = console(width, encoding, terminal=terminal)
    print_report(on, result, Path("runs/01-ring-all-reduce"), FILES)
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", EXAMPLES)
def test_report(name: str, width: int, golden: GoldenCheck) -> None:
    golden(GOLDEN / f"{name}-{width}.txt", printed(summary(EXAMPLES[name]()), width))


def test_report_in_ascii(golden: GoldenCheck) -> None:
    text = printed(summary(examples.lossy()), 80, "ascii")
    golden(GOLDEN / "lossy-ascii.txt", text)
    golden(GOLDEN / "marked-ascii.txt", printed(summary(lossless_examples.marked()), 80, "ascii"))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_line_is_longer_than_the_terminal_or_padded(name: str, width: int) -> None:
    lines = printed(summary(EXAMPLES[name]()), width).splitlines()
    assert max(len(line) for line in lines) <= width
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("name", examples.ALL)
def test_colours_on_a_terminal_only_and_the_words_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    result = summary(examples.ALL[name]())
    coloured, plain = printed(result, terminal=True), printed(result)
    assert "\x1b[" in coloured
    assert "\x1b" not in plain
    visible = Text.from_ansi(coloured).plain
    assert [line.rstrip() for line in visible.splitlines()] == plain.splitlines()


def test_a_failed_check_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    text = printed(summary(examples.lossy()), terminal=True)
    assert "\x1b[1;31m3 of 4 expectations failed" in text
    assert "\x1b[1;31mdrops.total" in text
    assert "\x1b[1;31m" not in printed(summary(examples.clean()), terminal=True)


def test_parts_with_nothing_to_say_are_left_out() -> None:
    text = printed(summary(examples.clean()))
    assert not any(word in text for word in ("Stall of each rank", "dropped", "retransmitted", "flow "))
    assert "All-Reduce" not in printed(summary(replace(examples.flows(), collectives=())))


@pytest.mark.parametrize(("stall_ps", "shown"), [(7_451_234, False), (7_451_235, True)])
def test_stalls_are_shown_when_one_is_more_than_a_hundredth_of_the_time(stall_ps: int, shown: bool) -> None:
    collective = examples.collective(examples.hosts(16), [0] * 15 + [stall_ps], time_ps=745_123_456)
    text = printed(summary(replace(examples.clean(), collectives=(collective,))))
    assert ("Stall of each rank" in text) is shown


def test_a_good_run_has_the_first_sentence_of_the_message_a_bad_one_all() -> None:
    message = "Ranks sum 4.5 MiB. What a failure\nwould mean: a queue overflowed."
    for expect, whole in (({}, False), ({"drops.total": 1}, True)):
        measured = replace(examples.clean(), scenario=examples.scenario(message=message, expect=expect))
        text = printed(summary(measured))
        assert " Ranks sum 4.5 MiB.\n" in text
        assert ("What a failure would mean: a queue overflowed." in text) is whole


def test_letters_that_the_encoding_lacks_do_not_end_the_report() -> None:
    result = summary(
        replace(examples.clean(), scenario=examples.scenario(title="Größe", message="→ [bold]not markup[/bold]"))
    )
    text = printed(result, encoding="ascii")
    assert " Gr??e\n" in text
    assert "? [bold]not markup[/bold]" in text


def test_quiet_says_nothing_of_a_good_run() -> None:
    on, raw = console(80)
    print_quiet(on, summary(examples.clean()))
    assert raw.getvalue() == b""


def test_quiet_says_what_is_wrong() -> None:
    on, raw = console(80)
    print_quiet(on, summary(examples.failed()))
    assert raw.getvalue().decode().splitlines() == [
        "✗ the workload failed: QP 17 of h3 is in error: 8 timeouts without an acknowledgement from h4",
        "✗ expectation drops.total: expected 0, found 9",
        "✗ expectation collectives.0.time_ps: expected 745us within 1%, found nothing",
        "✗ expectation collectives.0.busbw_gbps: expected at least 80, found nothing",
        "✗ invariant open_vswitch: leaf0-eth1: engine (5, 6), Open vSwitch (5, 5) frames (in, out)",
    ]


def test_json_is_nothing_but_the_summary() -> None:
    stream, result = io.StringIO(), summary(examples.lossy())
    print_json(stream, result)
    assert json.loads(stream.getvalue()) == result


def test_a_pipe_has_a_width_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console_for(io.StringIO()).width == PIPE_WIDTH
    monkeypatch.setenv("COLUMNS", "72")
    assert console_for(io.StringIO()).width == 72


@pytest.mark.parametrize(
    ("value", "most", "bar"), [(0, 8, ""), (1, 10**9, "▏"), (8, 8, "████"), (4, 8, "██"), (5, 8, "██▌"), (0, 0, "")]
)
def test_bars(value: int, most: int, bar: str) -> None:
    assert Signs(console(80)[0]).bar(value, most, 4).plain == bar
    assert len(Signs(console(80, "ascii")[0]).bar(value, most, 4).plain) == len(bar)


def test_numbers_in_columns() -> None:
    assert [microseconds(t) for t in (0, 1_500, 999_999_000, 10**9, None)] == [
        "0.000",
        "0.002",
        "999.999",
        "1000.0",
        "n/a",
    ]
    assert times_alike([12_345_678, 0, 999]) == ["12.346us", "0.000us", "0.001us"]
    assert times_alike([3 * 10**12, 10**9]) == ["3.000s", "0.001s"]
    assert times_alike([0]) == ["0.000ns"]
    assert [count(n, "frame") for n in (0, 1, 2_000)] == ["0 frames", "1 frame", "2,000 frames"]


def test_a_policy_that_switches_protection_is_named_where_a_headroom_was_full() -> None:
    """Pause frames alone are blamed only where no policy acted."""
    run = replace(lossless_examples.deadlock(), control={"actions": 2})
    assert "was sent more: a policy switched it to lossy and back, or pause frames" in printed(summary(run), 200)
    assert "its sender did not stop: its pause frames were lost" in printed(summary(lossless_examples.deadlock()), 200)
