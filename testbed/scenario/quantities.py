"""The quantities of a scenario as types: text in the YAML (``100Gbps``), integers in the model."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

from testbed.units import (
    format_rate,
    format_size,
    format_time,
    parse_rate,
    parse_size,
    parse_time,
)


def _reader(parse: Any, kind: str, example: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            return parse(value)
        raise ValueError(f"expected a {kind} with its unit, such as {example}, found {value!r}")

    return BeforeValidator(read)


TimePs = Annotated[
    int, _reader(parse_time, "time", "500ns"), PlainSerializer(lambda v: format_time(v, 6), return_type=str)
]
RateBps = Annotated[
    int, Field(gt=0), _reader(parse_rate, "rate", "100Gbps"), PlainSerializer(lambda v: format_rate(v, 9), return_type=str)
]
SizeBytes = Annotated[
    int, _reader(parse_size, "size", "4MiB"), PlainSerializer(lambda v: format_size(v, 9), return_type=str)
]
