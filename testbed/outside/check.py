"""One thing that a run needs of the machine, looked at: the row of `rocelab doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """`found` says what is there, or what is wrong; `remedy` is the command that mends it, empty where nothing need be.

    A run works when every `required` check is `ok`; the others say what it would be better with.
    """

    name: str
    ok: bool
    required: bool
    found: str
    remedy: str = ""
