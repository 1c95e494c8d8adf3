"""What a run on the live clock says of itself: its factor, and how far what applications saw can be believed."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from testbed.measurement.live import LiveRecord
from testbed.report.style import BAD, GOOD, QUIET, WARNING

_STYLES = {"ok": GOOD, "degraded": WARNING, "invalid": BAD}
_MEANINGS = {
    "ok": "what applications saw is right to within a packet's time",
    "degraded": "order and shares are right, single delays that applications saw may not be",
    "invalid": "what applications saw is this machine's speed, not the fabric's",
}
_DECIMALS = 3


def live_block(record: LiveRecord) -> dict[str, Any]:
    """Return the block `live` of summary.json."""
    return {**asdict(record), "busy": round(record.busy, _DECIMALS)}


def live_lines(result: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield the lines about the live clock, for a run that was on it."""
    live = result.get("live")
    if live is None:
        return
    verdict = live["verdict"]
    yield Text.assemble(
        f"live clock, factor {live['rate_factor']:,}: ",
        (verdict, _STYLES[verdict]),
        f", {_MEANINGS[verdict]}",
    )
    yield Text(
        f"99 % of {live['events']:,} events at most {_milliseconds(live['late_99_ns'])} late, "
        f"a packet takes {_milliseconds(live['packet_ns'])}; busy {live['busy']:.0%} of the time",
        QUIET,
    )
    if verdict != "ok":
        yield Text(f"--rate-factor {live['safe_rate_factor']} would have been safe here", WARNING)
    kernel = live["kernel_sent_frames"], live["kernel_received_frames"]
    if any(kernel):
        yield Text(f"hosts' kernels sent {kernel[0]:,} frames and received {kernel[1]:,}", QUIET)


def _milliseconds(ns: int) -> str:
    return f"{ns / 1e6:.2f} ms"
