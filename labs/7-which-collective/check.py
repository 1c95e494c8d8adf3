"""Lab 7: steps and sizes."""

from math import log2

from testbed.labs.sheet import Sheet

ALGORITHMS = ("ring", "halving-doubling")


def check(sheet: Sheet) -> None:
    ranks = int(sheet.run("fabric.yaml")["collectives.0.ranks"])
    sheet.asks(
        "ring_steps", "Steps of a ring?", 2 * (ranks - 1), mistakes={ranks - 1: "that is one half: reduce-scatter"}
    )
    sheet.asks(
        "halving_doubling_steps",
        "Steps of halving-doubling?",
        2 * log2(ranks),
        mistakes={log2(ranks): "that is one half"},
    )
    for name, size in (("fastest_4k", "4KiB"), ("fastest_4m", "4MiB")):
        times = {algorithm: _time_ps(sheet, algorithm, size) for algorithm in ALGORITHMS}
        sheet.asks(name, f"The fastest for {size}?", min(times, key=lambda algorithm: times[algorithm]), kind="text")
    sheet.asks("ring_4k", "The ring's time for 4 KiB?", _time_ps(sheet, "ring", "4KiB"), kind="time", within=0.02)


def _time_ps(sheet: Sheet, algorithm: str, size: str) -> int:
    options = ("--set", f"workload.0.algorithm={algorithm}", "--set", f"workload.0.size={size}")
    return int(sheet.run("fabric.yaml", *options)["collectives.0.time_ps"])
