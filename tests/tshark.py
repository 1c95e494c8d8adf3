"""Wireshark's reading of a capture, where tshark is installed: malformed frames, expert warnings, RoCEv2 fields."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Fields(NamedTuple):
    """What both the independent check and tshark read from a RoCEv2 frame; None where the frame has no such header."""

    frame: int
    opcode: int
    destination_qp: int
    psn: int
    ack_request: int
    pad: int
    remote_address: int | None
    dma_length: int | None
    syndrome: int | None
    msn: int | None
    immediate: int | None


@dataclass(frozen=True)
class TsharkReport:
    """Problems in words, one a frame and kind, and the fields of every RoCEv2 frame as tshark reads them."""

    problems: list[str]
    fields: list[Fields]


_FIELDS = [
    "frame.number",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.bth.a",
    "infiniband.bth.padcnt",
    "infiniband.reth.va",
    "infiniband.reth.dmalen",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.msn",
    "infiniband.immdt",
]
_PREFERENCES = ["-o", "udp.ignore_ipv6_zero_checksum:TRUE"]
"""RoCEv2 sends 0 over IPv6 too, as RFC 6936 allows where something inside protects the packet: here the ICRC."""
_WARNING = "0x00600000"  # expert severities: note 0x400000, warning 0x600000, error 0x800000


def tshark_problems(path: Path) -> TsharkReport | None:
    """Have tshark read a capture; None where it is not installed. Raises CalledProcessError when it fails.

    It does not check the ICRC. A capture of hundreds of megabytes takes it minutes.
    """
    if shutil.which("tshark") is None:
        return None
    condition = f"_ws.malformed || _ws.expert.severity >= {_WARNING}"
    bad = _run(path, ["-Y", condition], ["frame.number", "_ws.malformed", "_ws.expert.message"])
    rows = _run(path, ["-Y", "infiniband.bth"], _FIELDS)
    return TsharkReport([f"frame {row[0]}: {' '.join(row[1:])}" for row in bad], [_fields(row) for row in rows])


def _fields(row: list[str]) -> Fields:
    frame, opcode, qp, psn, ack_request, pad = (int(value, 0) for value in row[:6])
    optional = [int(value, 0) if value else None for value in row[6:-1]]
    # an immediate value is bytes to Wireshark, and both a header and that header's one field: 00100000,00100000
    immediate = int(row[-1].split(",")[-1], 16) if row[-1] else None
    return Fields(frame, opcode, qp, psn, ack_request, pad, *optional, immediate)


def _run(path: Path, options: list[str], fields: list[str]) -> list[list[str]]:
    command = ["tshark", "-r", str(path), *_PREFERENCES, *options, "-T", "fields"]
    for name in fields:
        command += ["-e", name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]
