"""Lab 2: which packet, how it was mended, and a transport that mends it sooner."""

from testbed.labs.sheet import Sheet
from testbed.units import format_time

ACK_TIMEOUT_UNIT_PS = 4_096_000
LIMIT_PS = 3_000_000_000


def check(sheet: Sheet) -> None:
    run = sheet.run("lost.yaml")
    middle = sheet.run("lost.yaml", "--set", "faults.0.nth=20")
    drop = run["drops.first"]
    sheet.asks(
        "psn",
        "The PSN of the lost packet?",
        drop["psn"],
        mistakes={drop["qp"]: "that is the QP", 64: "PSNs count from 0"},
    )
    sheet.asks("port", "The port that lost it?", drop["where"], kind="text")
    sheet.asks(
        "mended_by",
        "What mended it?",
        _mended_by(run),
        kind="text",
        hint="look for local_ack_timeout_err and packet_seq_err",
    )
    exponent = run["scenario.transport.timeout"]
    sheet.asks(
        "timer", "The sender's timer?", ACK_TIMEOUT_UNIT_PS << exponent, kind="time", within=0.01,
        hint=f"4.096 us x 2^{exponent}",
    )  # fmt: skip
    sheet.asks(
        "stall", "The longest stall?", run["collectives.0.stall_max_ps"], kind="time", within=0.01,
        mistakes={run["collectives.0.time_ps"]: "that is the completion time"},
    )  # fmt: skip
    sheet.asks(
        "sent_again",
        "Packets sent again?",
        run["retransmitted_packets"],
        mistakes={1: "go-back-N sends everything from the gap on"},
    )
    sheet.asks(
        "in_the_middle", "And in the middle?", _mended_by(middle), kind="text", hint="a later packet shows the gap"
    )
    with sheet.part("mended", "mended.yaml ends within 3 ms"):
        mine = sheet.run_own("mended.yaml")
        time = mine["collectives.0.time_ps"]
        same = all(
            mine[f"scenario.{part}"] == run[f"scenario.{part}"] for part in ("fabric", "workload", "faults", "seed")
        )
        sheet.demands("unchanged", "mended.yaml changes nothing but the transport", same)
        sheet.demands("lost", "The packet is lost there too", mine["drops.total"] == 1, f"{mine['drops.total']} drops")
        sheet.demands(
            "mended", "mended.yaml ends within 3 ms", time is not None and time <= LIMIT_PS,
            "it does not end" if time is None else f"it takes {format_time(time)}",
        )  # fmt: skip


def _mended_by(run: object) -> str:
    totals = run["totals.local_ack_timeout_err"], run["totals.packet_seq_err"]  # type: ignore[index]
    return "timeout" if totals[0] else "nak"
