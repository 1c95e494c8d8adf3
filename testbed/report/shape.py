"""What the reports on finished runs read of a summary, to tell a summary of another version before it is read.

A shape is a mapping (keys that must be there, with their shapes; ``*`` stands for every key that is), a list of one
shape (every item has it), or None: anything.
"""

from collections.abc import Iterator
from typing import Any

_TOTALS = (
    "packet_seq_err", "local_ack_timeout_err", "ecn_marked_packets", "cnps_sent", "pauses", "pfc_pause_duration_ps",
    "watchdog_storms", "deadlocks", "credit_wait_ps",
)  # fmt: skip
_CHECK = {"name": None, "ok": None, "detail": None}
_COLLECTIVE: Any = {"failed": None, "time_ps": None, "busbw_gbps": None, "stall_max_ps": None, "stall_ps_by_rank": {}}

SUMMARY: Any = {
    "title": None,
    "ok": None,
    "failure": None,
    "collectives": [_COLLECTIVE],
    "flows": [{"failed": None, "end_ps": None, "goodput_gbps": None}],
    "retransmitted_packets": None,
    "drops": {"total": None, "by_port": {"*": {}}},
    "totals": dict.fromkeys(_TOTALS),
    "nic": {"*": {}},
    "ports": {"*": {"peak_queue_bytes": None}},
    "expectations": [_CHECK],
    "invariants": [_CHECK],
}


def missing(value: Any, shape: Any = SUMMARY, path: str = "") -> Iterator[str]:
    """Yield the path of each part of `shape` that `value` has not, or has as something else."""
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield path
            return
        for index, item in enumerate(value):
            yield from missing(item, shape[0], f"{path}[{index}]")
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            yield path
            return
        for key, part in shape.items():
            yield from _missing_key(value, key, part, path)


def _missing_key(value: dict[str, Any], key: str, shape: Any, path: str) -> Iterator[str]:
    for name in value if key == "*" else (key,):
        here = f"{path}.{name}" if path else name
        if name in value:
            yield from missing(value[name], shape, here)
        else:
            yield here
