"""What Open vSwitch alone forwards, what the model alone does, and how near to them a whole run comes: all in turn."""

import json
from typing import Any

from benchmarks import reference
from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.product import BenchmarkError, Summary, run_product, run_python, same_results, set_options

OUTSTANDING = (8, 32, 128, 512)
"""Frames under way at once. The reference has 32 switch ports with at most 10 each, so the last is cut to 320."""

Pumped = dict[str, Any]
"""One `benchmarks.pump.Pumped` as JSON."""


def benchmark(options: Options) -> Result:
    """Measure Open vSwitch alone, the model alone and the reference, one after the other, `repeat` times."""
    pumped: list[list[Pumped]] = []
    models: list[dict[str, float]] = []
    runs: list[Summary] = []
    settings = reference.settings(options)
    for number in range(options.repeat):
        options.say(f"ovs-limit, run {number + 1}")
        seconds = "0.05" if options.quick else "1"
        outstanding = (str(frames) for frames in OUTSTANDING)
        pumped.append(json.loads(run_python(["-m", "benchmarks.pump", "--seconds", seconds, *outstanding])))
        model = run_python(["-m", "benchmarks.model_alone", reference.SCENARIO, *set_options(settings)])
        models.append(json.loads(model))
        runs.append(run_product(reference.SCENARIO, settings))
    if {int(model["duration_ps"]) for model in models} != {same_results(runs)["duration_ps"]}:
        raise BenchmarkError("the model alone and a whole run should take the same model time, and do not")
    rows = [_row(list(measured)) for measured in zip(*pumped, strict=True)]
    columns = ("frames", "under way", "forwarded a second", "CPU us a frame", "CPU share", "pump's CPU share")
    table = Table("Open vSwitch alone, through its TAP devices", columns, tuple(rows))
    return Result("ovs-limit", (table, _comparison(pumped, models, runs)), (), {"pumped": pumped, "model": models})


def frames_a_second(measured: list[Pumped]) -> Spread:
    """Return the frames forwarded a second in several runs."""
    return Spread.of(item["frames"] / item["seconds"] for item in measured)


def _row(measured: list[Pumped]) -> tuple[str, ...]:
    first = measured[0]
    return (
        f"{first['frame_bytes']} B",
        str(first["outstanding"]),
        frames_a_second(measured).text(),
        Spread.of(_cpu(item, "switch_cpu") / max(item["frames"], 1) * 1e6 for item in measured).text(".1f"),
        Spread.of(_cpu(item, "switch_cpu") / item["seconds"] for item in measured).text(".0%"),
        Spread.of(_cpu(item, "pump_cpu") / item["seconds"] for item in measured).text(".0%"),
    )


def _cpu(item: Pumped, whose: str) -> float:
    return float(item[whose]["user"] + item[whose]["system"])


def _comparison(pumped: list[list[Pumped]], models: list[dict[str, float]], runs: list[Summary]) -> Table:
    frames, hops = runs[0]["ovs"]["frames_in"], runs[0]["wall"]["packet_hops"]
    alone = max((frames_a_second(list(item)) for item in _of_size(pumped, "data")), key=lambda spread: spread.median)

    def row(name: str, forwarded: Spread) -> tuple[str, ...]:
        return name, forwarded.text(), Spread.of(value * hops / frames for value in forwarded.values).text()

    rows = (
        row("Open vSwitch alone, frames of 4154 B, at best", alone),
        row("the model alone, decisions computed in Python", Spread.of(frames / model["seconds"] for model in models)),
        row("the reference", Spread.of(frames / run["wall"]["seconds"] for run in runs)),
    )
    return Table("How near a whole run comes", ("", "frames a second", "packet-hops a second"), rows)


def _of_size(pumped: list[list[Pumped]], size: str) -> list[tuple[Pumped, ...]]:
    return [item for item in zip(*pumped, strict=True) if item[0]["size"] == size]
