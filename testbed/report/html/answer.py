"""The run in one sentence: how long it took, its share of the ideal, who waited longest, and what cost most."""

from typing import Any

from testbed.units import format_time

Result = dict[str, Any]
_MANY_FLOWS = 16
"""Of more flows than this the sentence has a percentile, too."""


def answer(summary: Result) -> str:
    """Return the sentence for a run's summary."""
    if summary["failure"]:
        return f"The workload did not finish: {summary['failure']}."
    parts = _of_ranks(summary) or _of_flows(summary) or _of_replays(summary)
    if not parts:
        return f"The run took {format_time(summary['duration_ps'])} of model time."
    most = (summary.get("stall") or {}).get("most")
    if most:
        parts.append(f"what cost most was {most['title']}, {most['share']:.0%} of all time lost")
    return "; ".join(parts) + "."


def _of_ranks(summary: Result) -> list[str]:
    """Return what there is to say of collectives and traces, and of the flows and packets beside them."""
    found = [*summary["collectives"], *summary.get("traces", ())]
    finished = [one for one in found if not one["failed"] and one["time_ps"]]
    if not finished:
        return []
    slowest = max(finished, key=lambda one: one["time_ps"])
    which = _called(slowest) if len(found) == 1 else f"slowest of {len(found)} jobs, the {_called(slowest)},"
    parts = [f"The {which} took {_share(slowest)}", *_waits(slowest)]
    return [*parts, *_slowdown(summary), *_lost_packets(summary)]


def _called(item: Result) -> str:
    kind = f"{item['format']} trace" if "format" in item else item["kind"]
    return f"{kind} of {item['ranks']} ranks"


def _waits(item: Result) -> list[str]:
    """Who stalled longest; and, of a trace, whose ranks compute as well, who longest did nothing but wait."""
    waited, stalled = (_most(item.get(key) or {}) for key in ("exposed_ps_by_rank", "stall_ps_by_rank"))
    if waited is None:
        return [] if stalled is None else [f"{stalled[0]} stalled longest, {stalled[1]}"]
    text = f"{waited[0]} waited for others longest, {waited[1]} of it"
    if stalled is None:
        return [text]
    return [f"{text}, and {'' if stalled[0] == waited[0] else f'{stalled[0]} '}stalled longest, {stalled[1]}"]


def _most(by_rank: dict[str, int]) -> tuple[str, str] | None:
    """Return the first rank with the most, and how much that is; None where nobody has any."""
    rank = max(by_rank, key=lambda name: by_rank[name], default=None)
    return None if rank is None or not by_rank[rank] else (rank, format_time(by_rank[rank]))


def _of_flows(summary: Result) -> list[str]:
    flows = [flow for flow in summary["flows"] if flow["time_ps"]]
    if not flows:
        return []
    groups = summary.get("flow_groups", ())
    count = sum(group["flows"] for group in groups)
    if count > len(summary["flows"]):  # of very many, the summary has an entry for the first ones alone
        text = f"The slowest of {count:,} flows took {format_time(max(group['time_max_ps'] or 0 for group in groups))}"
    else:
        slowest = max(flows, key=lambda flow: flow["time_ps"])
        ends = f"{slowest['source']} to {slowest['destination']}"
        text = f"The slowest of {len(flows)} flows, {ends}, took {_share(slowest)}"
    return [text, *_slowdown(summary), *_lost_packets(summary)]


def _slowdown(summary: Result) -> list[str]:
    """Of many flows, what one in a hundred exceeds: of the work where that is worst."""
    many = [group for group in summary.get("flow_groups", ()) if group["flows"] > _MANY_FLOWS and group["slowdown_p99"]]
    if not many:
        return []
    worst = max(many, key=lambda group: group["slowdown_p99"])
    return [
        f"of the {worst['flows']:,} flows of {worst['name']} one in a hundred took at least "
        f"{worst['slowdown_p99']:,.2f} times as long as it would alone"
    ]


def _of_replays(summary: Result) -> list[str]:
    replays = summary.get("replays", ())
    if not replays:
        return []
    longest = max(replays, key=lambda replay: replay["end_ps"] - replay["start_ps"])
    text = f"Of the {longest['sent']:,} packets of {longest['file']} {longest['delivered']:,} arrived"
    if longest["delivery_span_ps"] is not None:
        text += f", within {format_time(longest['delivery_span_ps'])}"
    if longest["stretch"] is not None:
        text += f", {longest['stretch']:.3f} times what they took in the capture"
    parts = [text]
    if longest["latency_p99_ps"] is not None:
        parts.append(f"one in a hundred was under way for at least {format_time(longest['latency_p99_ps'])}")
    return parts


def _lost_packets(summary: Result) -> list[str]:
    replays = summary.get("replays", ())
    lost, sent = (sum(replay[key] for replay in replays) for key in ("dropped", "sent"))
    return [f"{lost:,} of {sent:,} packets of captures {'was' if lost == 1 else 'were'} lost"] if lost else []


def _share(item: Result) -> str:
    text = format_time(item["time_ps"])
    if not item.get("ideal_ps"):
        return text
    times = item["time_ps"] / item["ideal_ps"]
    if times < 2:
        return f"{text}, at {1 / times:.1%} of the speed that it would have alone ({format_time(item['ideal_ps'])})"
    return f"{text}, {times:,.2f} times the {format_time(item['ideal_ps'])} that it would take alone"
