"""The options ``--clock`` and ``--rate-factor``."""

from typing import Any

import click

AUTO = 0
"""The factor that stands for "one that the machine can hold"."""


class RateFactor(click.ParamType[int]):
    """A whole number of 1 or more, or ``auto``."""

    name = "factor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if value == "auto":
            return AUTO
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"expected a whole number of 1 or more, or 'auto', found {value!r}; for example 5000", param, ctx)
        return int(value)


def factor_for(clock: str, rate_factor: int | None) -> int | None:
    """Return the factor of the live clock (`AUTO`: to be measured), None for the virtual clock."""
    if clock == "live":
        return AUTO if rate_factor is None else rate_factor
    if rate_factor is not None:
        raise click.UsageError("--rate-factor is of the live clock; add --clock live")
    return None
