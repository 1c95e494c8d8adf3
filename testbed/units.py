"""Text to units and back: the one place where ``100Gbps``, ``500ns`` and ``4MiB`` become integers.

Inside rocelab a time is an integer number of picoseconds, a rate an integer number of bits per second and a size an
integer number of bytes; every name of such a value says so (``delay_ps``, ``rate_bps``, ``size_bytes``). Integers keep
model results equal, bit for bit, on every machine.
"""

import re
from decimal import Decimal

NANOSECOND = 1_000
MICROSECOND = 1_000_000
MILLISECOND = 1_000_000_000
SECOND = 1_000_000_000_000

_TIME_UNITS = {"ps": 1, "ns": NANOSECOND, "us": MICROSECOND, "ms": MILLISECOND, "s": SECOND}
_RATE_UNITS = {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}
_SIZE_UNITS = {
    "B": 1,
    "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
}  # fmt: skip

_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")


def _parse(text: str, units: dict[str, int], kind: str, example: str) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in units:
        raise ValueError(f"expected a {kind} such as {example} (units: {', '.join(units)}), found {text!r}")
    value = Decimal(match[1]) * units[match[2]]
    if value != int(value):
        smallest = next(iter(units))
        raise ValueError(f"expected a {kind} of whole {smallest}, found {text!r}")
    return int(value)


def parse_time(text: str) -> int:
    """Return picoseconds for a text such as ``500ns``. Raises ValueError with an example of a right value."""
    return _parse(text, _TIME_UNITS, "time", "500ns")


def parse_rate(text: str) -> int:
    """Return bits per second for a text such as ``100Gbps``. Raises ValueError with an example of a right value."""
    return _parse(text, _RATE_UNITS, "rate", "100Gbps")


def parse_size(text: str) -> int:
    """Return bytes for a text such as ``4MiB``. Raises ValueError with an example of a right value."""
    return _parse(text, _SIZE_UNITS, "size", "4MiB")


def _format(value: int, units: dict[str, int], digits: int) -> str:
    name, scale = next((item for item in reversed(units.items()) if abs(value) >= item[1]), next(iter(units.items())))
    text = f"{value / scale:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{name}"


def format_time(time_ps: int, digits: int = 3) -> str:
    """``745123000`` -> ``745.123us``."""
    return _format(time_ps, _TIME_UNITS, digits)


def format_rate(rate_bps: int, digits: int = 3) -> str:
    """``100_000_000_000`` -> ``100Gbps``."""
    return _format(rate_bps, _RATE_UNITS, digits)


def format_size(size_bytes: int, digits: int = 3) -> str:
    """``4194304`` -> ``4MiB``; sizes that are whole in binary units are shown in them."""
    binary = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    return _format(size_bytes, binary, digits)


def serialisation_ps(size_bytes: int, rate_bps: int) -> int:
    """Return the time to put `size_bytes` on a wire of `rate_bps`: size * 8 / rate, rounded up to a picosecond."""
    return -(-size_bytes * 8 * SECOND // rate_bps)
