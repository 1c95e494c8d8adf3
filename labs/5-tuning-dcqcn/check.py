"""Lab 5: what marks do, and thresholds that leave PFC nothing to do."""

from testbed.labs.sheet import Sheet
from testbed.units import format_time

LIMIT_PS = 2_150_000_000
EARLY = ("kmin=10KB", "kmax=20KB", "pmax=1.0")


def check(sheet: Sheet) -> None:
    run = sheet.run("untuned.yaml")
    early = sheet.run("untuned.yaml", *(word for each in EARLY for word in ("--set", f"fabric.qos.ecn.3.{each}")))
    sheet.asks("pauses", "Pauses?", run["totals.pauses"])
    sheet.asks("marks", "CE marks?", run["totals.ecn_marked_packets"])
    sheet.asks("duration", "How long in all?", run["duration_ps"], kind="time", within=0.01)
    sheet.asks(
        "fewer_pauses",
        "Fewer pauses with early marks?",
        _yes(early["totals.pauses"] < run["totals.pauses"]),
        kind="text",
    )
    sheet.asks("longer", "Does it take longer then?", _yes(early["duration_ps"] > run["duration_ps"]), kind="text")
    with sheet.part("tuned", "tuned.yaml"):
        mine = sheet.run_own("tuned.yaml")
        same = all(
            mine[f"scenario.{part}"] == run[f"scenario.{part}"]
            for part in ("workload", "fabric.link", "fabric.switch", "fabric.topology")
        )
        sheet.demands("unchanged", "tuned.yaml has the same workload, links and buffer", same)
        sheet.demands("no_pause", "It has no pause", mine["totals.pauses"] == 0, f"{mine['totals.pauses']} pauses")
        sheet.demands("no_drop", "It drops nothing", mine["drops.total"] == 0, f"{mine['drops.total']} drops")
        duration = mine["duration_ps"]
        sheet.demands("fast", "It is done within 2.15 ms", duration <= LIMIT_PS, format_time(duration))


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
