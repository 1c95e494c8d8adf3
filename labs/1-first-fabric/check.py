"""Lab 1: what the table says."""

from testbed.labs.sheet import Sheet


def check(sheet: Sheet) -> None:
    run = sheet.run("fabric.yaml")
    faster = sheet.run("fabric.yaml", "--set", "fabric.link.rate=200Gbps")
    slower = sheet.run("fabric.yaml", "--set", "fabric.link.rate=50Gbps")
    longer = sheet.run("fabric.yaml", "--set", "fabric.link.delay=5us")
    ranks, size = run["collectives.0.ranks"], run["collectives.0.size_bytes"]
    time, busbw = run["collectives.0.time_ps"], run["collectives.0.busbw_gbps"]
    sheet.asks(
        "switches", "How many switches?", run["fabric.switches"], mistakes={run["fabric.hosts"]: "those are hosts"}
    )
    sheet.asks(
        "links", "How many links?", run["fabric.links"],
        mistakes={run["fabric.links"] - run["fabric.hosts"]: "the hosts' cables are links too"},
    )  # fmt: skip
    sheet.asks(
        "time", "How long does it take?", time, kind="time", within=0.01,
        mistakes={run["collectives.0.ideal_ps"]: "that is the ideal", run["duration_ps"]: "that is the whole run"},
    )  # fmt: skip
    sheet.asks(
        "sent", "How much does each rank send?", 2 * (ranks - 1) * size // ranks, kind="size", within=0.01,
        mistakes={size: "it goes around the ring twice, less one part each time", 2 * size: "nearly: 2 (n - 1) / n"},
    )  # fmt: skip
    sheet.asks(
        "busbw", "Its busbw?", busbw, within=0.01,
        mistakes={run["collectives.0.algbw_gbps"]: "that is algbw", 100: "that is the link's rate"},
    )  # fmt: skip
    sheet.asks(
        "time_200", "And with 200 Gb/s?", faster["collectives.0.time_ps"], kind="time", within=0.02,
        mistakes={time // 2: "not quite twice as fast: delays and latencies stay"},
    )  # fmt: skip
    costs_more = "rate" if slower["collectives.0.time_ps"] > longer["collectives.0.time_ps"] else "delay"
    sheet.asks("costs_more", "What costs more?", costs_more, kind="text", hint="run both and compare")
