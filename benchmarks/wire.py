"""How many RoCEv2 packets a second the wire format writes and reads, on one core, ICRC included.

python benchmarks/wire.py
"""

import platform
import timeit
import zlib
from collections.abc import Callable

from isal import isal_zlib

from traffic.wire.opcodes import Opcode
from traffic.wire.packet import parse
from traffic.wire.template import FrameTemplate, aeth

REPEATS = 5
CALLS = 50_000
MTU = 4096


def seconds_per_call(call: Callable[[], object], calls: int = CALLS) -> float:
    """Return the best of a few runs: what the code costs, not what else the machine was doing."""
    return min(timeit.repeat(call, number=calls, repeat=REPEATS)) / calls


def new_template() -> FrameTemplate:
    return FrameTemplate(
        source_mac="02:00:00:00:00:01",
        destination_mac="02:00:00:00:00:02",
        source_ip="10.0.0.1",
        destination_ip="10.0.0.2",
        source_port=49152,
        destination_qp=0x12,
        traffic_class=2,
    )


def cpu_model() -> str:
    """Return the processor's name where Linux tells it."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    template, payload = new_template(), memoryview(bytes(range(256)) * (MTU // 256))
    write, ack = int(Opcode.RDMA_WRITE_MIDDLE), int(Opcode.ACKNOWLEDGE)
    data_frame, ack_frame = template.emit(write, 0, b"", payload), template.emit(ack, 0, aeth(0x1F, 1))
    rows: list[tuple[str, float]] = [
        (f"emit data, {MTU} B", seconds_per_call(lambda: template.emit(write, 7, b"", payload))),
        ("emit ACK", seconds_per_call(lambda: template.emit(ack, 7, aeth(0x1F, 1)))),
        (f"parse data, {MTU} B", seconds_per_call(lambda: parse(data_frame))),
        ("parse ACK", seconds_per_call(lambda: parse(ack_frame))),
        (f"CRC-32 by isal, {MTU} B", seconds_per_call(lambda: isal_zlib.crc32(payload))),
        (f"CRC-32 by zlib, {MTU} B", seconds_per_call(lambda: zlib.crc32(payload))),
        ("new template (scapy)", seconds_per_call(new_template, calls=200)),
    ]
    print(f"{cpu_model()}, Python {platform.python_version()}")
    for name, seconds in rows:
        print(f"{name:26}{seconds * 1e6:9.2f} us{1 / seconds:14,.0f} a second")


if __name__ == "__main__":
    main()
