"""The quantities of a scenario as types: text in the YAML (``100Gbps``), integers in the model.

A `Quantity` travels in the type's metadata, so that an error message can say what was expected there. Written back to
text, a quantity is exact: it is in the largest unit in which it is a whole number (``1500ns``, never ``1.5us``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

from testbed.units import parse_rate, parse_size, parse_time


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity. `units` are as a user writes them, smallest first; `counts` says what its integer counts."""

    name: str
    units: tuple[str, ...]
    counts: str
    example: str
    parse: Callable[[str], int]

    def text(self, value: int) -> str:
        """Return `value` exactly, in its largest whole unit; `parse` is the inverse."""
        for unit in reversed(self.units):
            scale = self.parse(f"1{unit}")
            if value and value % scale == 0:
                return f"{value // scale}{unit}"
        return f"{value}{self.units[0]}"


TIME = Quantity("time", ("ps", "ns", "us", "ms", "s"), "picoseconds", "500ns", parse_time)
RATE = Quantity("rate", ("bps", "kbps", "Mbps", "Gbps", "Tbps"), "bit/s", "100Gbps", parse_rate)
SIZE = Quantity("size", ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB"), "bytes", "4MiB", parse_size)


def _reader(quantity: Quantity) -> BeforeValidator:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            return quantity.parse(value)
        raise ValueError(f"expected a {quantity.name} with its unit, such as {quantity.example}, found {value!r}")

    return BeforeValidator(read)


TimePs = Annotated[int, TIME, _reader(TIME), PlainSerializer(TIME.text, return_type=str)]
RateBps = Annotated[int, Field(gt=0), RATE, _reader(RATE), PlainSerializer(RATE.text, return_type=str)]
SizeBytes = Annotated[int, SIZE, _reader(SIZE), PlainSerializer(SIZE.text, return_type=str)]
