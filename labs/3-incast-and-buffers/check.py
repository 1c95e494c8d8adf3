"""Lab 3: what piles up, what a queue may have, and a switch with enough."""

from testbed.labs.sheet import Sheet
from testbed.units import format_size

MOST_BUFFER = 6 * 2**20


def check(sheet: Sheet) -> None:
    run = sheet.run("incast.yaml")
    plenty = sheet.run("incast.yaml", "--set", "fabric.switch.buffer=64MiB", "--set", "fabric.qos.egress_alpha=8")
    reasons = run["drops.by_reason"]
    sheet.asks("drops", "Frames dropped?", run["drops.total"])
    sheet.asks("reason", "Why?", max(reasons, key=lambda reason: reasons[reason]), kind="text")
    sheet.asks("peak", "The queue's peak?", _peak(run), kind="size", within=0.02)
    flows = len(run["flows"])
    sheet.asks(
        "needed", "What piles up?", _peak(plenty), kind="size", within=0.05,
        mistakes={flows * 2**20: "one link's worth leaves meanwhile", _peak(run): "that is what fitted"},
    )  # fmt: skip
    for name, alpha in (("share", 1), ("share_4", 4)):
        sheet.asks(
            name, f"The share with alpha {alpha}?", alpha / (1 + alpha), within=0.01,
            mistakes={alpha: "alpha is of what is free, not of all"}, hint="q = alpha x (B - q); solve for q / B",
        )  # fmt: skip
    with sheet.part("enough", "enough.yaml drops nothing"):
        mine = sheet.run_own("enough.yaml")
        buffer = _buffer(mine)
        sheet.demands(
            "workload", "enough.yaml has the same workload", mine["scenario.workload"] == run["scenario.workload"]
        )
        sheet.demands("memory", "It has 6 MiB at most", buffer <= MOST_BUFFER, format_size(buffer))
        lossless = mine["scenario.fabric.qos"].get("pfc") is not None
        sheet.demands("lossy", "It is still plain Ethernet, without PFC", not lossless)
        sheet.demands("enough", "enough.yaml drops nothing", mine["drops.total"] == 0, f"{mine['drops.total']} drops")


def _peak(run: object) -> int:
    return int(max(port["peak_queue_bytes"] for port in run["ports"].values()))  # type: ignore[index]


def _buffer(run: object) -> int:
    from testbed.units import parse_size

    return parse_size(str(run["scenario.fabric.switch.buffer"]))  # type: ignore[index]
