"""The messages about traffic classes, buffers and flow control; the others are in `wording`."""

from testbed.scenario.quantities import SIZE, TIME

_WHERE = "fabric.qos"


def memory_too_small(
    switch: str, buffer_bytes: int, ports: int, reserved_bytes: int, headroom_bytes: int, lossless: int
) -> str:
    """`headroom_bytes` is that of all ports together, for one lossless priority."""
    reserved, headroom = ports * 8 * reserved_bytes, lossless * headroom_bytes
    return (
        f"expected more than {reserved + headroom}B of packet memory, found {SIZE.text(buffer_bytes)}: {switch} "
        f"reserves {ports} ports x 8 priorities x {SIZE.text(reserved_bytes)} = {reserved}B, and keeps headroom of "
        f"{headroom_bytes}B on all ports x {lossless} lossless = {headroom}B; raise the buffer, or lower "
        f"{_WHERE}.reserved or {_WHERE}.pfc.headroom"
    )


def ends_cross(low: str, low_text: str, high: str, high_text: str) -> str:
    return f"expected {high} of at least {low}, {low_text}, found {high_text}"


def wred_by_time() -> str:
    return "expected no 'wred' with 'by: time', as frames are dropped when they enter a queue; write 'by: bytes'"


def strict_has_weight(priority: int) -> str:
    return f"expected weights of priorities that share, found one of priority {priority}, which is strict"


def pause_too_short(port: str, pause_ps: int, frame_ps: int, refresh: float) -> str:
    return (
        f"expected pauses that last until they are refreshed, found {TIME.text(pause_ps)} at {port}: refreshed after a "
        f"share of {refresh}, what is left must outlast the largest frame on the wire back, {TIME.text(frame_ps)}; "
        "raise the quanta"
    )


def storm_needs_flow_control() -> str:
    return "expected a fabric with flow control for a pause-storm, found none; add 'qos: {pfc: {}}' to the fabric"


def storm_of_a_switch(port: str, example: str) -> str:
    return f"expected the port of a NIC, found {port!r} of a switch; for example {example}"


def storm_of_a_lossy_priority(priority: int, lossless: tuple[int, ...]) -> str:
    known = ", ".join(map(str, sorted(lossless))) or "none"
    return f"expected a lossless priority ({known}), found {priority}; others do not obey pauses"
