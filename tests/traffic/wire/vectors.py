"""Frames to test against, byte for byte, and helpers that the tests of the wire format share.

The first four were computed with zlib alone and agree with scapy's ICRC; the last is a real frame of a ConnectX-4 Lx,
published in scapy's tests.
"""

from pathlib import Path
from typing import Any

from traffic.wire.template import FrameTemplate

CAPTURE = Path(__file__).parents[2] / "captures" / "soft_roce_rc.pcap"

WRITE_ONLY = bytes.fromhex(
    "0200000000020200000000010800456a0044000040004011263d0a0000010a000002c00012b7003000000a30ffff0000001180ffffff"
    "0000000000001000000022220000000568656c6c6f000000f93c9932"
)
ACK = bytes.fromhex(
    "02000000000202000000000108004502003000004000401126b90a0000010a000002c00012b7001c00001100ffff0000001200000000"
    "1f0000015230d309"
)
NAK = bytes.fromhex(
    "02000000000202000000000108004502003000004000401126b90a0000010a000002c00012b7001c00001100ffff0000001200000007"
    "600000001e6ca8ff"
)
CNP = bytes.fromhex(
    "020000000002020000000001080045c2003c00004000401125ed0a0000010a000002c00012b7002800008100ffff4000001200000000"
    "000000000000000000000000000000007a6fd95d"
)
CONNECTX_CNP = bytes.fromhex(
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000011800000000"
    "0000000000000000000000000000000082fd002a"
)
VECTORS = {"write_only": WRITE_ONLY, "ack": ACK, "nak": NAK, "cnp": CNP, "connectx_cnp": CONNECTX_CNP}

ADDRESSES = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1:0:1", "fd00::2:0:7")}


def template(version: int = 4, **changes: Any) -> FrameTemplate:
    """Return the template that the vectors are frames of, with some arguments changed."""
    source_ip, destination_ip = ADDRESSES[version]
    arguments: dict[str, Any] = {
        "source_mac": "02:00:00:00:00:01",
        "destination_mac": "02:00:00:00:00:02",
        "source_ip": source_ip,
        "destination_ip": destination_ip,
        "source_port": 49152,
        "destination_qp": 0x12,
        "traffic_class": 0x02,
    }
    return FrameTemplate(**arguments | changes)
