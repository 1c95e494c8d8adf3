"""What a run prints: read from its summary alone, so that every number on the screen is in summary.json too.

From top to bottom, and each part only where there is something to say: what ran, a table like nccl-tests' for the
collectives, who stalled, flows, what was dropped where, what was expected and what always holds, where the files are,
and what it cost. The verdict stands where the eye ends: last. Of the scenario's message a good run has the first
sentence; a bad one has it all before the verdict, for it says what a failure means.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from testbed.report import style
from testbed.report.flow_groups import flow_group_tables
from testbed.report.live import live_lines
from testbed.report.lossless import lossless
from testbed.report.replays import replay_report
from testbed.report.style import (
    BAD,
    GOOD,
    HEADING,
    QUIET,
    WARNING,
    Signs,
    count,
    indented,
    microseconds,
    places_with_most,
    plain_table,
    rate,
)
from testbed.report.summary import Summary, as_text
from testbed.report.trace_blocks import trace_report
from testbed.units import format_size, format_time

_WIDE = 100
_MOST_ROWS = 16
"""Ranks or flows that are all shown; of more, only the worst `_WORST_ROWS`."""
_WORST_ROWS = 8
_LONGEST_BAR = 60
_STALL_MATTERS = 100
"""Ranks are shown when one stalled for more than this part of the completion time: 1 %."""


def print_report(console: Console, result: Summary, directory: Path | None = None, files: Sequence[str] = ()) -> None:
    """Print the whole report; `files` are the names of what `directory` holds."""
    signs = Signs(console)
    parts = [
        _head(result),
        *_collectives(result, console.width),
        *_stalls(result, signs, console.width),
        *_flows(result, signs),
        *flow_group_tables(result),
        *trace_report(result, signs),
        *replay_report(result),
        *_most(result),
        *_losses(result, signs),
        *lossless(result, signs),
        *_checks(result, signs),
        *([Group(*live_lines(result))] if "live" in result else []),
        _foot(result, directory, files),
        *_explanation(result),
        _verdict(result, signs),
    ]
    with console.capture() as captured:
        for part in parts:
            console.print()
            console.print(Padding(part, (0, 0, 0, 1), expand=False))
        console.print()
    style.write_tidy(console, captured.get())


def print_quiet(console: Console, result: Summary) -> None:
    """Print nothing for a run that is as it should be, and otherwise what is wrong with it."""
    with console.capture() as captured:
        for line in _problems(result, Signs(console)):
            console.print(line, soft_wrap=True)
    style.write_tidy(console, captured.get())


def print_json(stream: TextIO, result: Summary) -> None:
    """Print the summary as JSON and nothing else."""
    stream.write(as_text(result))


# --- what ran --------------------------------------------------------------------------------------------------------


def _head(result: Summary) -> RenderableType:
    fabric, scenario = result["fabric"], result["scenario"]
    facts = [
        fabric["topology"],
        count(fabric["hosts"], "host"),
        f"{fabric['switches']} switch{'' if fabric['switches'] == 1 else 'es'}",
        f"{scenario['fabric']['link']['rate']} links",
        f"MTU {scenario['transport']['mtu']}",
        f"seed {result['seed']}",
    ]
    lines = [Text(result["title"], HEADING), Text(", ".join(facts), QUIET)]
    first = re.match(r".*?[.!?](?= |$)|.+", _message(result))
    return Group(*lines, *([Text(first[0])] if first else []))


def _message(result: Summary) -> str:
    return " ".join(result["scenario"]["message"].split())


def work_report(found: Summary, width: int) -> RenderableType:
    """Return the tables of the collectives, flows and traces in `found`, and why those that failed did."""
    failures = [item["failure"] for kind in ("collectives", "flows") for item in found[kind] if item["failure"]]
    signs = Signs(Console(width=width))
    parts = [*_collectives(found, width), *_flows(found, signs), *(Text(failure, BAD) for failure in failures)]
    return Group(*parts, *trace_report(found, signs), *replay_report(found))


# --- collectives -----------------------------------------------------------------------------------------------------


def _collectives(result: Summary, width: int) -> Iterator[RenderableType]:
    if not result["collectives"]:
        return
    collectives = result["collectives"]
    labels = [_own_name(collective) or collective["kind"] for collective in collectives]
    named = any(map(_own_name, collectives)) or len(set(labels)) > 1
    wide = width >= _WIDE + (max(map(len, labels)) + 2 if named else 0)
    table = plain_table()
    if named:
        table.add_column(Text("collective"), no_wrap=True)
    for name, unit in _collective_columns(wide):
        table.add_column(Text(f"{name}\n{unit}"), justify="right", no_wrap=True)
    for label, collective in zip(labels, collectives, strict=True):
        table.add_row(*([Text(label)] if named else []), *_collective_row(collective, wide))
    lines = [Text(title, HEADING) for title in dict.fromkeys(map(_collective_title, collectives))]
    yield Group(*lines, table, *_admitted(collectives))


def _collective_title(collective: Summary) -> str:
    """``All-Reduce, ring, 16 ranks, mean of 5 iterations``."""
    title = f"{_kind(collective)}, {collective['algorithm']}, {count(collective['ranks'], 'rank')}"
    if collective["iterations"] > 1:
        title += f", mean of {collective['iterations']} iterations"
    if collective["buckets"] > 1:
        compute = format_time(collective["compute_ps"])
        title += f", {collective['buckets']} buckets during {compute} of compute (exposed time)"
    return title


def _own_name(collective: Summary) -> str:
    """The name that the scenario gave it; empty for that which it has otherwise."""
    name = str(collective["name"])
    return "" if not name or name.startswith(f"{collective['algorithm']} {collective['kind']} (") else name


def _admitted(works: Sequence[Summary]) -> Iterator[RenderableType]:
    """What receiver-driven admission did, in one line."""
    admitted = [work for work in works if "clear_to_sends_sent" in work]
    if not admitted:
        return
    sent = sum(work["clear_to_sends_sent"] for work in admitted)
    most = max(work["clear_to_sends_peak"] for work in admitted)
    wait = sum(work["clear_to_send_wait_ps"] for work in admitted) // max(1, sent)
    text = f"Admission: {sent} clear-to-sends, at most {most} at a time from a receiver"
    yield indented(Text(f"{text}; a message waited {microseconds(wait)} us for its own", QUIET))


def _kind(collective: Summary) -> str:
    return "-".join(word.capitalize() for word in collective["kind"].split("-"))


def _collective_columns(wide: bool) -> Iterator[tuple[str, str]]:
    yield "size", ""
    if wide:
        yield from (("count", "(elements)"), ("type", ""), ("redop", ""))
    yield from (("time", "(us)"), ("ideal", "(us)"), ("algbw", "(Gb/s)"), ("busbw", "(Gb/s)"), ("#wrong", ""))
    yield from (("stall max", "(us)"), ("mean", "(us)"))


def _collective_row(collective: Summary, wide: bool) -> Iterator[Text]:
    yield Text(format_size(collective["size_bytes"]))
    if wide:
        yield Text(str(collective["elements"]))
        yield Text(collective["data_type"])
        yield Text(collective["operation"])
    yield Text(microseconds(collective["time_ps"]), HEADING)
    yield Text(microseconds(collective["ideal_ps"]))
    yield Text(rate(collective["algbw_gbps"]))
    yield Text(rate(collective["busbw_gbps"]), HEADING)
    yield _wrong(collective["verified"], collective["wrong_elements"])
    yield Text(microseconds(collective["stall_max_ps"]))
    yield Text(microseconds(collective["stall_mean_ps"]))


def _wrong(verified: bool | None, wrong: int) -> Text:
    return Text("n/a", QUIET) if verified is None else Text(str(wrong), "" if verified else BAD)


# --- stalls ----------------------------------------------------------------------------------------------------------


def _stalls(result: Summary, signs: Signs, width: int) -> Iterator[RenderableType]:
    for index, collective in enumerate(result["collectives"]):
        if not _stall_matters(collective):
            continue
        title = "Stall of each rank: its wait for data beyond the contention-free wait"
        if len(result["collectives"]) > 1:
            title = f"{title} (collective {index})"
        yield Group(Text(title, HEADING), _stall_table(collective["stall_ps_by_rank"], signs, width))


def _stall_matters(collective: Summary) -> bool:
    time_ps = collective["time_ps"] or collective["end_ps"] - collective["start_ps"]
    return bool(collective["stall_max_ps"] * _STALL_MATTERS > time_ps)


def _stall_table(stalls: Mapping[str, int], signs: Signs, width: int) -> RenderableType:
    worst = sorted(stalls.items(), key=lambda item: -item[1])
    if worst[0][1] == worst[-1][1]:
        return indented(Text(f"every rank: {format_time(worst[0][1])}"))
    shown = worst if len(worst) <= _MOST_ROWS else worst[:_WORST_ROWS]
    table = plain_table(Column(justify="left"), Column(justify="right"), Column(justify="left", no_wrap=True))
    bar_width = min(_LONGEST_BAR, width - 30)
    texts = style.times_alike([stall for _, stall in worst])
    for (rank, stall), text in zip(shown, texts, strict=False):
        table.add_row(Text(rank), Text(text), signs.bar(stall, worst[0][1], bar_width))
    rest = texts[len(shown) :]
    more = Text(f"{signs.more} {count(len(rest), 'more rank')}, none above {rest[0]}", QUIET) if rest else None
    return Group(table, *([indented(more)] if more else []))


# --- flows -----------------------------------------------------------------------------------------------------------


def _flows(result: Summary, signs: Signs) -> Iterator[RenderableType]:
    flows = result["flows"]
    if not flows:
        return
    slowest = sorted(flows, key=lambda flow: -_slowness(flow)) if len(flows) > _MOST_ROWS else flows
    shown = slowest if len(flows) <= _MOST_ROWS else slowest[:_WORST_ROWS]
    table = plain_table(Column(Text("flow\n"), no_wrap=True))
    for name, unit in (("size", ""), ("time", "(us)"), ("ideal", "(us)"), ("goodput", "(Gb/s)"), ("#wrong", "")):
        table.add_column(Text(f"{name}\n{unit}"), justify="right", no_wrap=True)
    for flow in shown:
        table.add_row(
            Text(f"{flow['source']} {signs.to} {flow['destination']}"),
            Text(format_size(flow["size_bytes"])),
            Text(microseconds(flow["time_ps"]), HEADING),
            Text(microseconds(flow["ideal_ps"])),
            Text(rate(flow["goodput_gbps"]), HEADING),
            _wrong(flow["verified"], flow["wrong_bytes"]),
        )
    title = f"{count(len(flows), 'flow')}{', slowest against its ideal first' if len(shown) < len(flows) else ''}"
    rest = Text(f"{signs.more} {len(flows) - len(shown)} more in flows.parquet", QUIET)
    more = [indented(rest)] if len(shown) < len(flows) else []
    yield Group(Text(title, HEADING), table, *more, *_admitted(flows))


def _slowness(flow: Summary) -> float:
    """Completion time over the ideal one; a flow that failed is slower than any."""
    return float("inf") if flow["time_ps"] is None else flow["time_ps"] / flow["ideal_ps"]


# --- what cost most --------------------------------------------------------------------------------------------------


def _most(result: Summary) -> Iterator[RenderableType]:
    """What the stalls are due to, where they matter."""
    stall = result["stall"]
    if not stall or not stall["most"]:
        return
    stalled = any(_stall_matters(collective) for collective in result["collectives"])
    flows_ps = sum(flow["end_ps"] - flow["start_ps"] for flow in result["flows"])
    late = stall["flow_time_lost_ps"] * _STALL_MATTERS > flows_ps
    told = [f"{format_time(stall['gpu_time_lost_ps'])} of GPU time"] if stalled else []
    told += [f"{format_time(stall['flow_time_lost_ps'])} by flows"] if late else []
    if told:
        most = stall["most"]
        text = f"{most['title']}, {most['share']:.0%} of the {' and '.join(told)} that were lost"
        yield Text.assemble(("What cost most: ", HEADING), text, (" (rocelab explain)", QUIET))


# --- losses ----------------------------------------------------------------------------------------------------------


def _losses(result: Summary, signs: Signs) -> Iterator[RenderableType]:
    drops, again = result["drops"], result["retransmitted_packets"]
    if not drops["total"] and not again:
        return
    title = Text(f"{count(drops['total'], 'frame')} dropped", WARNING if drops["total"] else HEADING)
    if again:
        title.append(f", {count(again, 'packet')} retransmitted", HEADING)
    table = plain_table(Column(no_wrap=True), Column(justify="right"), Column(overflow="fold"))
    for reason, frames in drops["by_reason"].items():
        if frames:
            places = {where: counts[reason] for where, counts in drops["by_port"].items() if reason in counts}
            table.add_row(Text(reason), Text(f"{frames:,}"), Text(places_with_most(places, "at", signs)))
    if again:
        senders = {name: counters["retransmitted_packets"] for name, counters in result["nic"].items()}
        table.add_row(Text("retransmitted"), Text(f"{again:,}"), Text(places_with_most(senders, "by", signs)))
    first = [indented(Text(_first_drop(drops["first"], signs), QUIET))] if drops["first"] else []
    yield Group(title, table, *first)


def _first_drop(drop: Summary, signs: Signs) -> str:
    what = drop["kind"]
    if drop["source"] is not None:
        what += f" {drop['source']} {signs.to} {drop['destination']}"
    if drop["psn"] is not None:
        what += f", QP {drop['qp']}, PSN {drop['psn']}"
    return f"the first at {format_time(drop['time_ps'])}: {what}"


# --- checks ----------------------------------------------------------------------------------------------------------


def _checks(result: Summary, signs: Signs) -> Iterator[RenderableType]:
    """Every expectation, and the invariants' names; of an invariant that does not hold, why, too."""
    rows = [(item["ok"], item["name"], item["detail"]) for item in result["expectations"]]
    holding = [item["name"] for item in result["invariants"] if item["ok"]]
    rows += [(False, item["name"], item["detail"]) for item in result["invariants"] if not item["ok"]]
    table = plain_table(Column(), Column(overflow="fold"), Column(overflow="fold"))
    for ok, name, detail in rows:
        table.add_row(signs.check(ok), Text(name, "" if ok else BAD), Text(detail, QUIET if ok else BAD))
    if holding:
        table.add_row(signs.check(True), Text("invariants"), Text(", ".join(holding), QUIET))
    yield Group(Text("Checks", HEADING), table)


def _explanation(result: Summary) -> Iterator[RenderableType]:
    if result["ok"]:
        return
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", result["scenario"]["message"].strip())]
    if any(paragraphs):
        yield Group(Text("The scenario says", HEADING), Padding(Text("\n\n".join(paragraphs)), (0, 0, 0, 2)))


def _verdict(result: Summary, signs: Signs) -> RenderableType:
    """The last line, where the eye ends; before it, why the workload failed, if it did."""
    expectations, invariants = result["expectations"], result["invariants"]
    table = Table.grid(padding=(0, 1, 0, 0))
    if result["failure"]:
        expected, style = ("as expected, ", WARNING) if result["ok"] else ("", BAD)
        table.add_row(signs.check(result["ok"]), Text(f"{expected}the workload failed: {result['failure']}", style))
    if result["ok"]:
        met = f"{count(len(expectations), 'expectation')} met, " if expectations else ""
        table.add_row(signs.check(True), Text(f"{met}{count(len(invariants), 'invariant')} held", GOOD))
        return table
    broken = [_broken(items, noun) for items, noun in ((expectations, "expectation"), (invariants, "invariant"))]
    if any(broken):
        told = " and ".join(text for text in broken if text)
        table.add_row(signs.check(False), Text(f"{told} failed", BAD))
    if result["overrides"]:
        table.add_row(Text(), Text(f"with {', '.join(result['overrides'])}; expectations are the file's", QUIET))
    return table


def _broken(items: Sequence[Summary], noun: str) -> str:
    failed = sum(not item["ok"] for item in items)
    return f"{failed} of {count(len(items), noun)}" if failed else ""


def _problems(result: Summary, signs: Signs) -> Iterator[Text]:
    """What is wrong, in one line each; nothing when all is as it should be."""
    if result["ok"]:
        return
    if result["failure"]:
        yield Text.assemble(signs.check(False), (f" the workload failed: {result['failure']}", BAD))
    for kind in ("expectation", "invariant"):
        for item in result[f"{kind}s"]:
            if not item["ok"]:
                yield Text.assemble(signs.check(False), (f" {kind} {item['name']}: {item['detail']}", BAD))


# --- foot ------------------------------------------------------------------------------------------------------------


def _foot(result: Summary, directory: Path | None, files: Sequence[str]) -> RenderableType:
    wall = result["wall"]
    lines = []
    if directory is not None:
        lines.append(Text.assemble((f"{directory}/", HEADING), (f"  {', '.join(files)}", QUIET)))
    times = (
        f"{format_time(result['duration_ps'])} of model time in {wall['seconds']:.2f} s, "
        f"after {wall['startup_seconds']:.2f} s to start"
    )
    work = (
        f"{wall['packet_hops']:,} packet-hops, {wall['packet_hops_per_second']:,} a second; "
        f"{format_size(wall['peak_memory_bytes'], 0)} of memory"
    )
    return Group(*lines, Text(times, QUIET), Text(work, QUIET))
