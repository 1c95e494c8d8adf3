"""Replays of captures in summary.json and in the report: what was sent, what became of it, and how long it took."""

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from testbed.report.flow_groups import percentile
from testbed.report.style import BAD, HEADING, QUIET, WARNING, count, microseconds, plain_table
from testbed.units import format_time
from traffic.results import ReplayFlow, ReplayResult

MOST_FLOWS = 1000
"""So many flows of a replay have an entry each in summary.json."""

_MOST_ROWS = 8
_DECIMALS = 3
_PERCENTILES = (50, 95, 99)


def replay_block(result: ReplayResult) -> dict[str, Any]:
    """Return one replay as JSON values."""
    latencies = result.latencies_ps
    return {
        "name": result.name,
        "file": result.file,
        "map": dict(result.hosts),
        "start_ps": result.start_ps,
        "end_ps": result.end_ps,
        "packets": result.packets,
        "sent": result.sent,
        "delivered": result.delivered,
        "marked": result.marked,
        "out_of_order": result.out_of_order,
        "dropped": sum(result.dropped.values()),
        "dropped_by_reason": dict(result.dropped),
        "wrong_icrc": result.wrong_icrc,
        "left_out": dict(result.others),
        "left_out_total": sum(result.others.values()),
        "file_span_ps": result.file_span_ps,
        "delivery_span_ps": result.delivery_span_ps,
        "stretch": _stretch(result),
        **{f"latency_p{p}_ps": percentile(latencies, p) for p in _PERCENTILES},
        "latency_max_ps": latencies[-1] if latencies else None,
        "nic_wait_max_ps": result.latest_wait_ps,
        "failed": result.failure is not None,
        "failure": result.failure,
        "flows_total": len(result.flows),
        "flows": [_flow(flow) for flow in result.flows[:MOST_FLOWS]],
    }


def _stretch(result: ReplayResult) -> float | None:
    """Return the time that deliveries took over the capture's; None for a capture of no duration."""
    if result.delivery_span_ps is None or not result.file_span_ps:
        return None
    return round(result.delivery_span_ps / result.file_span_ps, _DECIMALS)


def _flow(flow: ReplayFlow) -> dict[str, Any]:
    return {
        "source": flow.source,
        "destination": flow.destination,
        "qp": flow.queue_pair,
        "sent": flow.frames,
        "delivered": flow.delivered,
        "marked": flow.marked,
        "marked_before": flow.marked_before,
        "out_of_order": flow.out_of_order,
        "dropped": sum(flow.dropped.values()),
    }


# --- in the report ---------------------------------------------------------------------------------------------------


def replay_report(result: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield, for each replay of a summary, what became of its packets."""
    for replay in result.get("replays", ()):
        yield Group(_head(replay), *_lines(replay), _table(replay), *_more(replay))


def _head(replay: dict[str, Any]) -> Text:
    hosts = ", ".join(f"{address} as {host}" for address, host in [*replay["map"].items()][:4])
    more = len(replay["map"]) - 4
    text = Text.assemble((f"Replay of {replay['file']}", HEADING), f": {count(replay['packets'], 'RoCEv2 packet')}")
    return text.append(f"; {hosts}{f' and {more} more' if more > 0 else ''}", QUIET)


def _lines(replay: dict[str, Any]) -> Iterator[Text]:
    text = Text(f"  {replay['sent']:,} sent, {replay['delivered']:,} delivered, {replay['marked']:,} marked, ")
    text.append(f"{replay['out_of_order']:,} out of order, ")
    reasons = ", ".join(f"{frames:,} {reason}" for reason, frames in replay["dropped_by_reason"].items())
    text.append(f"{replay['dropped']:,} dropped", WARNING if replay["dropped"] else "")
    yield text.append(f" ({reasons})" if reasons else "")
    if replay["delivery_span_ps"] is not None:
        stretch = "" if replay["stretch"] is None else f", {replay['stretch']:.3f} of it"
        here = f"{format_time(replay['delivery_span_ps'])} here{stretch}"
        yield Text(f"  {format_time(replay['file_span_ps'])} in the capture, {here}")
        latency = " / ".join(microseconds(replay[f"latency_p{p}_ps"]) for p in _PERCENTILES)
        yield Text(f"  latency p50 / p95 / p99 {latency} us")
    if replay["failure"]:
        yield Text(f"  {replay['failure']}", BAD)
    if replay["wrong_icrc"]:
        yield Text(f"  sent with a wrong ICRC, as captured: {replay['wrong_icrc']:,}", WARNING)
    for what, number in replay["left_out"].items():
        yield Text(f"  not sent: {number:,} {what}", QUIET)


def _table(replay: dict[str, Any]) -> RenderableType:
    table = plain_table()
    table.add_column(Text("flow"), no_wrap=True)
    for head in ("QP", "sent", "delivered", "marked", "out of order", "dropped"):
        table.add_column(Text(head), justify="right", no_wrap=True)
    for flow in replay["flows"][:_MOST_ROWS]:
        counts = (flow[key] for key in ("sent", "delivered", "marked", "out_of_order", "dropped"))
        ends = f"{flow['source']} to {flow['destination']}"
        table.add_row(Text(ends), Text(f"{flow['qp']:#x}"), *(Text(f"{number:,}") for number in counts))
    return table


def _more(replay: dict[str, Any]) -> Iterator[Text]:
    more = replay["flows_total"] - _MOST_ROWS
    if more > 0:
        yield Text(f"  {count(more, 'more flow')} in summary.json", QUIET)
