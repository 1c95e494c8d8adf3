"""The messages about traffic classes, buffers and flow control; the others are in `wording`."""

from testbed.scenario.quantities import SIZE, TIME

_WHERE = "fabric.qos"


def memory_too_small(
    switch: str,
    buffer_bytes: int,
    ports: int,
    reserved_bytes: int,
    headroom_bytes: int,
    lossless: int,
    *,
    has_credits: bool,
) -> str:
    """`headroom_bytes` is that of all ports together, for one lossless priority; lanes' buffers with credits."""
    reserved, headroom = ports * 8 * reserved_bytes, lossless * headroom_bytes
    what, key = ("lane buffers", "credits.vl_buffer") if has_credits else ("headroom", "pfc.headroom")
    return (
        f"expected more than {reserved + headroom}B of packet memory, found {SIZE.text(buffer_bytes)}: {switch} "
        f"reserves {ports} ports x 8 priorities x {SIZE.text(reserved_bytes)} = {reserved}B, and keeps {what} of "
        f"{headroom_bytes}B on all ports x {lossless} lossless = {headroom}B; raise the buffer, or lower "
        f"{_WHERE}.reserved or {_WHERE}.{key}"
    )


def two_flow_controls() -> str:
    return "expected either pfc or credits, found both; leave one of them out"


def lane_too_large(most_bytes: int, found_bytes: int) -> str:
    return f"expected at most {SIZE.text(most_bytes)}, all that can be advertised, found {SIZE.text(found_bytes)}"


def lane_too_small(least_bytes: int, mtu: int, found_bytes: int) -> str:
    return (
        f"expected at least {SIZE.text(least_bytes)}, found {SIZE.text(found_bytes)}: the largest frame with an mtu of "
        f"{mtu} would never have credit"
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


def detects_between_looks(poll_ps: int, detect_ps: int) -> str:
    return (
        f"expected a time of at least poll, {TIME.text(poll_ps)}, found {TIME.text(detect_ps)}; "
        "raise detect, or lower poll"
    )


def storm_needs_flow_control() -> str:
    return "expected a fabric with flow control for a pause-storm, found none; add 'qos: {pfc: {}}' to the fabric"


def storm_of_a_switch(port: str, example: str) -> str:
    return f"expected the port of a NIC, found {port!r} of a switch; for example {example}"


def storm_of_a_lossy_priority(priority: int, lossless: tuple[int, ...]) -> str:
    known = ", ".join(map(str, sorted(lossless))) or "none"
    return f"expected a lossless priority ({known}), found {priority}; others do not obey pauses"
