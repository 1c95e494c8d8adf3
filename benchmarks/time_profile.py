"""Where the time of the reference goes: engine, Open vSwitch or waiting, and which part of the engine."""

import json
import linecache
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import reference
from benchmarks.figures import Options, Result, Spread, Table
from benchmarks.product import ROOT, Summary, run_product, run_python, set_options

Sampled = dict[str, Any]
"""What `benchmarks.sampled_run` writes."""

FORWARDER = "testbed/outside/ovs_forwarder.py"
CALLS = {"write(": "write into TAP devices", "read(": "read from TAP devices", ".poll(": "wait for Open vSwitch"}
"""A line of the forwarder with such a call is that call's."""

PARTS = (
    (FORWARDER, "match frames with answers"),
    ("testbed/engine/loop.py", "event loop"),
    ("testbed/engine/", "links, queues, switches"),
    ("traffic/wire/", "frames and their CRC"),
    ("traffic/nic/", "NICs and queue pairs"),
    ("traffic/collectives/", "collectives"),
)
OTHER = "everything else"


def benchmark(options: Options) -> Result:
    """Run the reference with and without samples, in turn."""
    sampled: list[Sampled] = []
    plain: list[Summary] = []
    for number in range(options.repeat):
        options.say(f"profile, run {number + 1}")
        plain.append(run_product(reference.SCENARIO, reference.settings(options)))
        sampled.append(_sampled_run(reference.settings(options)))
    hops = int(plain[0]["wall"]["packet_hops"])
    notes = (_overhead(sampled, plain),)
    tables = (_processors(sampled, hops), _parts(sampled, hops))
    return Result("profile", tables, notes, {"parts": [dict(parts_of(run)) for run in sampled]})


def _sampled_run(settings: tuple[str, ...]) -> Sampled:
    with TemporaryDirectory(prefix="rocelab-benchmark-") as directory:
        out = Path(directory) / "samples.json"
        command = ["run", reference.SCENARIO, *set_options(settings), "--quiet", "--out", f"{directory}/run"]
        run_python(["-m", "benchmarks.sampled_run", str(out), *command])
        found: Sampled = json.loads(out.read_text(encoding="utf-8"))
    return found


def part_of(file: str, line: int) -> str:
    """Return the part of the engine that a line belongs to."""
    path = Path(file)
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else file
    if name == FORWARDER:
        text = linecache.getline(file, line)
        for call, part in CALLS.items():
            if call in text:
                return part
    return next((part for prefix, part in PARTS if name.startswith(prefix)), OTHER)


def parts_of(run: Sampled) -> Counter[str]:
    """Return the samples of a run by part."""
    parts: Counter[str] = Counter()
    for file, line, count in run["lines"]:
        parts[part_of(file, line)] += count
    return parts


def _processors(sampled: list[Sampled], hops: int) -> Table:
    def row(name: str, seconds: list[float]) -> tuple[str, ...]:
        shares = Spread.of(value / run["seconds"] for value, run in zip(seconds, sampled, strict=True))
        return name, Spread.of(value / hops * 1e6 for value in seconds).text(".1f"), shares.text(".0%")

    busy = [run["engine"]["user"] + run["engine"]["system"] for run in sampled]
    rows = (
        row("engine, Python", [run["engine"]["user"] for run in sampled]),
        row("engine, kernel", [run["engine"]["system"] for run in sampled]),
        row("engine waits", [max(0.0, run["seconds"] - used) for run, used in zip(sampled, busy, strict=True)]),
        row("Open vSwitch, its own code", [run["switch"]["user"] for run in sampled]),
        row("Open vSwitch, kernel", [run["switch"]["system"] for run in sampled]),
    )
    columns = ("processor time", "us a packet-hop", "share of the run")
    return Table("Engine and Open vSwitch, which run side by side", columns, rows)


def _parts(sampled: list[Sampled], hops: int) -> Table:
    found = [parts_of(run) for run in sampled]
    names = [*CALLS.values(), *(part for _, part in PARTS), OTHER]

    def shares(name: str) -> Spread:
        return Spread.of(parts[name] / parts.total() for parts in found)

    def cost(name: str) -> Spread:
        values = zip(found, sampled, strict=True)
        return Spread.of(parts[name] / parts.total() * run["seconds"] / hops * 1e6 for parts, run in values)

    names.sort(key=lambda name: -shares(name).median)
    rows = tuple((name, cost(name).text(".1f"), shares(name).text(".0%")) for name in names)
    return Table("What the engine does", ("part", "us a packet-hop", "share of the run"), rows)


def _overhead(sampled: list[Sampled], plain: list[Summary]) -> str:
    with_samples = Spread.of(run["seconds"] for run in sampled).text(".2f")
    without = Spread.of(run["wall"]["seconds"] for run in plain).text(".2f")
    return f"First to last packet {with_samples} s with samples, {without} s without."
