"""Lab 4: the tree of pauses, its victim, and a fabric without one."""

from testbed.labs.sheet import Sheet
from testbed.labs.trials import Trial

MOST_SLOWDOWN = 2.0


def check(sheet: Sheet) -> None:
    run = sheet.run("pauses.yaml")
    sheet.asks("pauses", "How many pauses?", run["totals.pauses"])
    sheet.asks("root", "The root of the tree?", run["pauses.roots"][0]["port"], kind="text")
    victim = _victim(run)
    sheet.asks(
        "victim", "The victim's source?", victim["source"], kind="text",
        hint="it sends to a host that nobody else sends to",
    )  # fmt: skip
    sheet.asks("slowdown", "Its slowdown?", victim["time_ps"] / victim["ideal_ps"], within=0.05)
    sheet.asks("headroom", "The headroom's peak?", _headroom_peak(run), kind="size", within=0.02)
    with sheet.part("no_victim", "no-victim.yaml has no victim"):
        mine = sheet.run_own("no-victim.yaml")
        flow = _victim(mine)
        slowdown = flow["time_ps"] / flow["ideal_ps"] if flow["time_ps"] else float("inf")
        sheet.demands(
            "workload", "no-victim.yaml has the same workload", mine["scenario.workload"] == run["scenario.workload"]
        )
        sheet.demands("lossless", "Nothing is dropped", mine["drops.total"] == 0, f"{mine['drops.total']} drops")
        sheet.demands(
            "no_victim", "The victim takes less than twice its ideal", slowdown < MOST_SLOWDOWN, f"{slowdown:.2f} times"
        )


def _victim(run: Trial) -> dict[str, int]:
    """Return the flow whose destination is nobody else's."""
    flows = run["flows"]
    destinations = [flow["destination"] for flow in flows]
    found: dict[str, int] = next(flow for flow in flows if destinations.count(flow["destination"]) == 1)
    return found


def _headroom_peak(run: Trial) -> int:
    return max(
        group["headroom_peak_bytes"]
        for switch in run["switches"].values()
        for port in switch["ports"].values()
        for group in port["groups"].values()
    )
