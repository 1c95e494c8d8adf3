"""An algorithm run over nothing: what each rank sends and receives in a round, in the order of its program.

Receives return at once, computing takes no time, and branches run one after the other. So the lists are those of any
run, and for a rank without branches in the very order of any run.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple

from traffic.collectives.algorithm import Algorithm
from traffic.collectives.endpoint import Receive


class Sent(NamedTuple):
    """A message that a rank sends: to rank `peer`, `size` bytes."""

    peer: int
    channel: int
    step: int
    piece: int
    size: int


@dataclass(frozen=True)
class Part:
    """What one rank does in a round."""

    sends: tuple[Sent, ...]
    receives: tuple[Receive, ...]


def rehearse(algorithm: Algorithm, rank: int) -> Part:
    """Return what a rank does in a round of `algorithm`."""
    side = _Rehearsal(rank)
    run = algorithm.run(side)
    try:
        run.send(None)
    except StopIteration:
        return Part(tuple(side.sends), tuple(side.receives))
    raise AssertionError(f"{type(algorithm).__name__} waits for something that is no message")


class _Rehearsal:
    """See `traffic.collectives.algorithm.Side`."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.sends: list[Sent] = []
        self.receives: list[Receive] = []

    def data(self, offset: int) -> int:
        return offset

    def input(self, offset: int) -> int:
        return offset

    def scratch(self, offset: int) -> int:
        return offset

    def send(
        self,
        peer: int,
        step: int,
        piece: int,
        *,
        source: int,  # noqa: ARG002 - a side's signature; there is no buffer here
        target: int,  # noqa: ARG002
        size: int,
        channel: int = 0,
    ) -> None:
        self.sends.append(Sent(peer, channel, step, piece, size))

    async def receive(self, peer: int, step: int, piece: int, channel: int = 0) -> None:
        self.receives.append((peer, channel, step, piece))

    def add(self, target: int, source: int, size: int) -> None:
        """There is nothing to add."""

    def copy(self, target: int, source: int, size: int) -> None:
        """There is nothing to copy."""

    async def compute(self, duration_ps: int) -> None:
        """It takes no time."""

    async def together(self, *branches: Coroutine[Any, Any, None]) -> None:
        for branch in branches:
            await branch
